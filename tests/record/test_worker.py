"""The worker, on the CPU: real torch and a real profiler, with stand-ins for what only a GPU has.

The snippet is two lines of arithmetic, so that error, shape and operations are known beforehand.
"""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import torch

from build_traces import trace, worker
from build_traces.jobs import ANSWER_FILE, GO, READY_FILE, Job, Role, Timing

ROOT = Path(__file__).parents[2]
SNIPPET = """
import torch
from measure import show
FLOPS = 12
COUNT = 0

def stage():
    x = torch.tensor([3.0, 4.0])
    def step():
        global COUNT
        COUNT += 1
        return x + torch.tensor([0.0, 0.05])
    return step

def reference():
    return torch.tensor([3.0, 4.0], dtype=torch.float64)
"""


class Event:
    """A CUDA event that reads the wall clock."""

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, other: "Event") -> float:
        return (other.at - self.at) * 1e3


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Role], Job]:
    """Jobs for the stage `tiny`, with the project's own measure.py beside it and CUDA stood in for."""
    snippets, folder = tmp_path / "snippets", tmp_path / "job"
    snippets.mkdir()
    folder.mkdir()
    (snippets / "tiny.py").write_text(SNIPPET, encoding="utf-8")
    (snippets / "measure.py").write_bytes((ROOT / "snippets" / "measure.py").read_bytes())
    for name in ("tiny", "measure"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *size, **options: empty(16, dtype=options["dtype"]))
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 4096)
    yield lambda role: Job(role=role, folder=str(folder), snippets=str(snippets), stage="tiny")
    for name in ("tiny", "measure"):
        sys.modules.pop(name, None)


def test_a_stage_is_measured_and_its_trace_has_three_labelled_steps(job: Callable[[Role], Job]) -> None:
    measured = worker.measure_stage(job(Role.MEASURE))
    # The output is off by (0, 0.05) from a reference of length 5.
    assert measured.error == pytest.approx(0.01, rel=1e-5)
    assert (measured.flops, measured.output_shape, measured.peak_bytes) == (12, (2,), 4096)
    assert len(measured.time_us) == 100 and min(measured.time_us) > 0
    assert measured.back_to_back_us is not None and measured.back_to_back_us > 0
    # First call, 20 to warm up, 1 for peak memory, 1 + 2 + 3 profiled, 20 to warm up, 100 timed, 100 in a loop
    assert sys.modules["tiny"].COUNT == 1 + 20 + 1 + 6 + 20 + 100 + 100
    seen = trace.read(job(Role.MEASURE).path("trace.json"))
    assert len(seen.steps) == 3
    labels = [op for op in seen.ops if op.name == "tiny"]
    assert [label.step for label in labels] == [step.number for step in seen.steps]
    assert "aten::add" in job(Role.MEASURE).path("profile.txt").read_text()


def test_a_snippet_about_profiling_is_profiled_by_its_own_loop(job: Callable[[Role], Job]) -> None:
    tiny = Path(job(Role.MEASURE).snippets) / "tiny.py"
    own = """
from measure import profile_steps as recorders_own
def profile_steps(step, label):
    return recorders_own(step, label, wait=0, warmup=1, active=2)
"""
    tiny.write_text(SNIPPET + own, encoding="utf-8")
    worker.measure_stage(job(Role.MEASURE))
    assert len(trace.read(job(Role.MEASURE).path("trace.json")).steps) == 2


def test_a_cold_stage_is_timed_from_its_very_first_step(job: Callable[[Role], Job]) -> None:
    measured = worker.time_cold(job(Role.TIME_COLD))
    assert len(measured.time_us) == 5
    assert measured.first_call_ms == pytest.approx(measured.time_us[0] / 1e3, rel=1e-3)
    assert measured.back_to_back_us is None
    assert sys.modules["tiny"].COUNT == 5 + 1 + 1, "five timed, one for the error, one for peak memory"


def test_a_cold_stage_is_profiled_from_its_very_first_step(job: Callable[[Role], Job]) -> None:
    worker.profile_cold(job(Role.PROFILE_COLD))
    assert sys.modules["tiny"].COUNT == 3
    assert [step.number for step in trace.read(job(Role.MEASURE).path("trace.json")).steps] == [0, 1, 2]


@pytest.mark.parametrize(("cold", "steps"), [(False, 20 + 6), (True, 3)])
def test_a_snippet_run_alone_prints_the_profilers_table(
    job: Callable[[Role], Job], capsys: pytest.CaptureFixture[str], cold: bool, steps: int
) -> None:
    measure, tiny = worker._import("measure", job(Role.MEASURE)), worker._import("tiny", job(Role.MEASURE))
    measure.show(tiny.stage, "tiny", cold=cold)
    table = capsys.readouterr().out
    assert "aten::add" in table and "tiny" in table and "Self CPU time total" in table
    assert steps == tiny.COUNT


def test_bytes_are_counted_over_one_step_between_start_and_stop(
    job: Callable[[Role], Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    monkeypatch.setattr(torch.cuda.profiler, "start", lambda: counts.append(sys.modules["tiny"].COUNT))
    monkeypatch.setattr(torch.cuda.profiler, "stop", lambda: counts.append(sys.modules["tiny"].COUNT))
    worker.count_bytes(job(Role.COUNT_BYTES))
    assert counts == [20, 21], "20 steps to warm up, one counted"


@pytest.mark.parametrize(
    ("output", "reference", "error"),
    [
        ([3.0, 4.0], [3.0, 4.0], 0.0),
        ([0.0, 0.0], [3.0, 4.0], 1.0),
        ([6.0, 8.0], [3.0, 4.0], 1.0),
        ([3.0, 4.5], [3.0, 4.0], 0.1),
    ],
)
def test_the_error_is_the_length_of_the_difference_over_that_of_the_reference(
    output: list[float], reference: list[float], error: float
) -> None:
    got = worker.relative_error(torch.tensor(output), torch.tensor(reference, dtype=torch.float64))
    assert got == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_an_output_that_is_not_finite_is_no_result(bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        worker.relative_error(torch.tensor([3.0, bad]), torch.tensor([3.0, 4.0], dtype=torch.float64))


def test_an_output_of_another_shape_is_no_result() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 1\), the reference \(2,\)"):
        worker.relative_error(torch.ones(2, 1), torch.ones(2, dtype=torch.float64))


def test_the_ceilings_are_bytes_and_operations_over_time(
    job: Callable[[Role], Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a copy that takes 1 ms, a GEMM that takes 2 ms, and 1.5 ms where it follows itself."""

    class Measure:
        times = iter([1000.0, 2000.0])

        @staticmethod
        def warm_up(step: object) -> None: ...

        @classmethod
        def time_steps(cls, step: object) -> list[float]:
            us = next(cls.times)
            return [us / 2, us, us * 2]

        @staticmethod
        def time_back_to_back(step: object) -> float:
            return 1500.0

    monkeypatch.setattr(worker, "_import", lambda name, job: Measure)
    monkeypatch.setattr(worker, "_copy", lambda: None)
    monkeypatch.setattr(worker, "_gemm", lambda: None)
    sample = worker.ceilings(job(Role.CEILINGS))
    assert sample.copy_bytes_per_s == pytest.approx(2 * 2 * 2**30 / 1e-3)  # 2 GiB read and 2 GiB written
    assert sample.gemm_flops_per_s == pytest.approx(2 * 8192**3 / 2e-3)
    assert sample.gemm_back_to_back_flops_per_s == pytest.approx(2 * 8192**3 / 1.5e-3)


def test_a_worker_waits_for_go(job: Callable[[Role], Job], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Told nothing, it has imported, says it is ready, and does no work."""
    path = tmp_path / "job.json"
    path.write_bytes(msgspec.json.encode(job(Role.MEASURE)))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    worker.main(path)
    assert job(Role.MEASURE).path(READY_FILE).exists()
    assert not job(Role.MEASURE).path(ANSWER_FILE).exists()
    assert sys.modules["tiny"].COUNT == 0


def test_a_worker_answers_in_its_folder_and_leaves_without_ceremony(
    job: Callable[[Role], Job], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(msgspec.json.encode(job(Role.TIME_COLD)))
    left = []
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GO}\n"))
    monkeypatch.setattr(os, "_exit", left.append)
    worker.main(path)
    answer = msgspec.json.decode(job(Role.TIME_COLD).path(ANSWER_FILE).read_bytes(), type=Timing)
    assert answer.flops == 12 and left == [0]


def test_a_compiled_stage_imports_the_compiler_before_its_turn(tmp_path: Path) -> None:
    """In a process of its own: what is imported already would prove nothing."""
    (tmp_path / "eager.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "compiled.py").write_text("import torch\nf = lambda m: torch.compile(m)\n", encoding="utf-8")
    code = """
import json, sys
from build_traces import worker
from build_traces.jobs import Job, Role
seen = {}
for stage in ("eager", "compiled"):
    worker._import_ahead(Job(role=Role.MEASURE, folder="", snippets=sys.argv[1], stage=stage))
    seen[stage] = "torch._inductor.compile_fx" in sys.modules
print(json.dumps(seen))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"eager": False, "compiled": True}
