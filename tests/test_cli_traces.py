"""The commands inspect, diff and export: exit codes, what a person reads, and what a machine does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_traces import TWO_STEPS, kernel, launch, op, step, text

from build_traces import cli_traces

ROOT = Path(__file__).parents[1]
H200 = ROOT / "docs" / "recordings" / "nvidia-h200_torch-2.11.0"
TRACES = ROOT / "tests" / "traces"


def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build_traces", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def rows(printed: str, title: str) -> list[list[str]]:
    """The rows below a title that starts so, without the head, each split where two spaces are."""
    section = printed[printed.index(f"\n{title}") + 1 :].partition("\n\n")[0]
    return [re.split(r"\s{2,}", line.strip()) for line in section.splitlines()[2:]]


@pytest.fixture
def two_steps(tmp_path: Path) -> Path:
    path = tmp_path / "two.json"
    path.write_bytes(text(*TWO_STEPS))
    return path


def test_inspect_shows_steps_kernels_launches_idle_time_and_the_rest(two_steps: Path) -> None:
    done = run("inspect", two_steps)
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout
    assert out.splitlines()[:2] == [
        "two.json",
        "18 events: 6 ops, 5 calls, 4 kernels, 1 memcpy; 1 CPU thread",
    ]
    assert rows(out, "Steps") == [
        ["1", "0.0", "100.0", "32.0", "68.0", "1 kernel, 1 memcpy by 2 launches"],
        ["2", "100.0", "100.0", "50.0", "50.0", "2 kernels by 2 launches"],
    ]
    assert rows(out, "GPU work of step 1: 32.0 µs")[0] == [
        "1", "30.0", "93.8", "A", "unknown", "2 × 1 × 1 · 128 × 1 × 1", "aten::addmm",
    ]  # fmt: skip
    assert rows(out, "Launches of step 2") == [["2", "2", "6.0", "cudaLaunchKernel"]]
    assert rows(out, "The GPU idles 59.0 % of the steps' time, 118.0 µs")[:2] == [
        ["58.0", "49.2", "2", "end of the step"],
        ["30.0", "25.4", "1", "aten::addmm", "launched late"],
    ]
    assert rows(out, "The biggest gaps")[0] == ["1", "0.0", "30.0", "W", "A", "aten::addmm", "launched late"]
    assert rows(out, "Ops that launch nothing") == [["1", "3.0", "aten::t"]]
    assert rows(out, "Memcpys that block") == [
        ["1", "21.0", "0.000", "Memcpy DtoH (Device -> Pageable)", "aten::_local_scalar_dense", "cudaStreamSynchronize"]
    ]
    assert rows(out, "GPU work whose launch is not in the file") == [["1", "15.0", "-20.0", "W"]]


def test_inspect_of_a_real_trace_decodes_names_and_says_what_the_file_says() -> None:
    out = run("inspect", H200 / "mlp_eager" / "trace.json.gz").stdout
    assert "GPU 0: NVIDIA H200, 150 GB, 132 multiprocessors, compute capability 9.0" in out
    assert "CUDA runtime 13.0; CUDA driver 13.0; CUPTI 130001; recorded with shapes" in out
    assert "vectorized_elementwise GeluCUDAKernelImpl" in out
    assert "nvjet_sm90" in out and "  nvjet  " in out


def test_inspect_says_that_a_file_without_steps_is_one_step() -> None:
    out = run("inspect", TRACES / "alexnet.json.gz").stdout
    assert "there is no ProfilerStep in this file: the whole of it counts as one step" in out
    assert "GPU work of the file" in out


def test_inspect_says_what_ran_in_no_step_and_what_ended_before_it_began(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(text(step(1, 0, 10), launch(1, 20, 1), kernel("A", 1, 30, 5), kernel("B", 9, 40, -2)))
    out = run("inspect", path).stdout
    assert "Launched in no step: 1 kernel" in out
    assert "1 event ended before the begin, and counts as no time" in out


def test_inspect_names_steps_that_do_not_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "every_other.json"
    kinds = [
        row
        for n in range(16)
        for row in (step(n, 100 * n, 100), launch(n, 100 * n, 1), kernel("AB"[n % 2], n, 100 * n + 5, 5))
    ]
    path.write_bytes(text(*kinds))
    assert "GPU work of steps 0, 2, 4, 6, 8 and 3 more" in run("inspect", path).stdout


def test_inspect_says_that_nothing_ran_on_a_gpu() -> None:
    assert "nothing ran on a GPU in this trace" in run("inspect", TRACES / "cpu_only.json.gz").stdout


def test_inspect_shows_each_gpu_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_bytes(text(step(1, 0, 100), launch(1, 0, 1), launch(2, 1, 1), kernel("A", 1, 0, 50),
                          kernel("A", 2, 0, 20, 1)))  # fmt: skip
    assert rows(run("inspect", path).stdout, "Steps") == [
        ["1", "0.0", "100.0", "0", "50.0", "50.0", "2 kernels by 2 launches"],
        ["1", "20.0", "80.0"],
    ]


def test_inspect_of_more_gpus_than_there_can_be_is_not_endless(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_bytes(text(step(1, 0, 100), *(kernel("A", n, 0, 50, n) for n in range(1_000))))
    out = run("inspect", path).stdout
    assert "… and 984 more GPUs" in out
    assert len(out.splitlines()) < 120


def test_inspect_json_is_one_line_of_ascii(two_steps: Path) -> None:
    done = run("inspect", two_steps, "--json")
    assert done.stdout.count("\n") == 1
    assert done.stdout.isascii()
    said = json.loads(done.stdout)
    assert (said["schema"], said["whole_file"], len(said["steps"])) == (1, False, 2)


def test_inspect_of_many_steps_rows_and_ops_is_not_endless(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    events = []
    for n in range(300):
        events += [step(n, 100 * n, 100), op(f"op{n}", 100 * n, 5), launch(n, 100 * n + 10, 1)]
        events += [kernel(f"k{n}", n, 100 * n + 20, 5)]
    path.write_bytes(text(*events))
    out = run("inspect", path).stdout
    assert "… and 290 more steps" in out
    assert "297 more kinds of step ran other work" in out
    assert len(out.splitlines()) < 100


@pytest.mark.parametrize("name", ["\x1b[2J\x1b]0;x\x07", "\x9b31m", "\u202e", "[red]x[/red]", "x" * 1_000_000])
def test_hostile_names_reach_no_terminal(tmp_path: Path, name: str) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(text(step(1, 0, 50), op(name, 0, 9), launch(1, 1, 1) | {"name": name}, kernel(name, 1, 5, 9),
                          kernel(name, 9, 20, 5), deviceProperties=[{"name": name}]))  # fmt: skip
    for arguments in (["inspect", path], ["inspect", path, "--json"], ["diff", path, path]):
        done = run(*arguments)
        assert done.returncode == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.stdout)
    assert len(run("inspect", path).stdout) < 50_000


@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--json"], ["diff", TRACES / "cpu_only.json.gz"]])
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not valid JSON"),
        (b"hello", "not valid JSON"),
        (b"\x1f\x8b\x08\x00", "gzip data is damaged or cut short"),
        ('{"traceEvents": []}'.encode("utf-16"), "it is UTF-16 text"),
        (b'{"traceEvents": []}', "the trace holds no events"),
        (b'{"traceEvents": [{"ph": "X", "name": "\x1b[2J", "cat": "kernel", "ts": "inf", "dur": 1}]}', "not finite"),
    ],
)
def test_a_file_that_is_no_trace_is_one_error_and_exit_1(
    tmp_path: Path, command: list[str | Path], raw: bytes, said: str
) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(raw)
    done = run(*command, path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and said in done.stderr and "next: " in done.stderr
    assert "Traceback" not in done.stderr and "\x1b" not in done.stderr


def test_a_file_over_the_limit_is_refused(two_steps: Path) -> None:
    done = run("inspect", two_steps, "--max-gb", "0.001")
    assert done.returncode == 0
    large = two_steps.with_name("large.json")
    large.write_bytes(b" " * 2_000_000 + two_steps.read_bytes())
    done = run("inspect", large, "--max-gb", "0.001")
    assert done.returncode == 1 and "larger than 0.001 GB" in done.stderr


def test_a_large_file_has_a_progress_bar_and_a_small_one_has_none(
    two_steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cli_traces._reading(two_steps) as progress:
        assert progress is None
    monkeypatch.setattr(cli_traces, "PROGRESS_BYTES", 100)
    with cli_traces._reading(two_steps) as progress:
        assert progress is not None
        progress(50)
    with cli_traces._reading(two_steps.with_name("missing")) as progress:
        assert progress is None


def test_diff_of_two_stages_shows_what_compiling_changed() -> None:
    done = run("diff", H200 / "mlp_eager" / "trace.json.gz", H200 / "mlp_compiled" / "trace.json.gz")
    assert done.returncode == 0
    assert re.search(r"^gone .*GeluCUDAKernelImpl", done.stdout, re.MULTILINE)
    assert re.search(r"^new .*triton_poi_fused", done.stdout, re.MULTILINE)


def test_export_writes_a_file_that_diff_reads(tmp_path: Path) -> None:
    path = tmp_path / "mine.json.gz"
    done = run("export", "--file", path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{path}: ")
    assert path.stat().st_size < 200_000
    again = run("diff", H200, path, "--json")
    assert again.returncode == 0
    found = json.loads(again.stdout)
    assert {row["change"] for step in found["steps"] for row in step["work"]} == {"same"}


def test_export_without_a_recording_says_how_to_make_one(tmp_path: Path) -> None:
    done = run("export", "--out", tmp_path)
    assert done.returncode == 1 and "python -m build_traces record" in done.stderr


def test_export_asks_which_of_several_recordings(repository, tmp_path: Path) -> None:
    other = repository.recording.with_name("another")
    other.mkdir()
    (other / "environment.json").write_bytes((repository.recording / "environment.json").read_bytes())
    done = run("export", cwd=repository.root)
    assert done.returncode == 1 and "name one of another, nvidia-h200_torch-2.11.0" in done.stderr
    done = run("export", "nvidia-h200_torch-2.11.0", cwd=repository.root)
    assert done.returncode == 0
    assert (repository.root / "nvidia-h200_torch-2.11.0.json.gz").is_file()


def test_export_to_a_place_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    done = run("export", "--file", tmp_path / "no" / "such" / "folder.json")
    assert done.returncode == 1 and "cannot be written: No such file" in done.stderr


def test_inspect_of_an_export_says_what_to_use() -> None:
    done = run("inspect", H200 / "environment.json")
    assert done.returncode == 1 and "not a profiler trace" in done.stderr
