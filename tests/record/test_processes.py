"""A fresh process has compile caches of its own, whatever compiles."""

from pathlib import Path

from build_traces.jobs import Job, Role
from build_traces.processes import environ


def test_every_compiler_that_a_stage_uses_has_an_empty_cache_of_the_process(tmp_path: Path, monkeypatch) -> None:
    compilers = ("TORCHINDUCTOR", "TRITON", "QUACK", "CUTE_DSL")
    for compiler in compilers:
        monkeypatch.setenv(f"{compiler}_CACHE_DIR", "/shared")
    made = environ(Job(Role.MEASURE, str(tmp_path)))
    caches = {Path(made[f"{compiler}_CACHE_DIR"]) for compiler in compilers}
    assert len(caches) == len(compilers)
    assert all(cache.is_relative_to(tmp_path) and not cache.exists() for cache in caches)


def test_a_process_that_counts_bytes_takes_the_caches_of_the_one_that_compiled(tmp_path: Path) -> None:
    made = environ(Job(Role.COUNT_BYTES, str(tmp_path / "second")), caches=tmp_path / "first")
    assert made["QUACK_CACHE_DIR"] == str(tmp_path / "first/quack")
    assert made["TRITON_CACHE_DIR"] == str(tmp_path / "first/triton")
