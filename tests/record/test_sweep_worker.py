"""A sweep's share of the worker, on the CPU: real Dynamo and its real metrics, with stand-ins for what only a GPU has.

Graphs are counted on a module of one addition, compiled by the backend that hands the graph back as it is. What must
come out follows from torch's documented rules: the first shape is compiled as it is, the first change makes that
dimension dynamic, and sizes 0 and 1 are always compiled for themselves.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import torch
from torch._dynamo.utils import CompilationMetrics

from build_traces import record_sweeps, sweep_worker, trace, worker
from build_traces.jobs import Job, Role
from build_traces.ladder import load
from build_traces.processes import environ, write_job
from build_traces.sweep_record import SweepProcess
from build_traces.sweep_worker import without_folders

from .test_worker import Event

ROOT = Path(__file__).parents[2]
SIZES = (4, 3, 5, 1, 4)
SWEEP = f"""
from functools import partial
import torch
MADE = []

def sweep(setup):
    forward = setup(lambda x: x + 1)
    for place, size in enumerate({SIZES}):
        def step(x):
            MADE.append(len(x))
            return forward(x)
        yield f"{{place}}-{{size}}", partial(step, torch.zeros(size))
"""
WAYS = """
import torch

def eager(f):
    return f

def compiled(f):
    return torch.compile(f, backend="eager")

def static(f):
    return torch.compile(f, backend="eager", dynamic=False)

def never(f):
    raise ValueError("this set-up is wrong")
"""


def write_snippets(folder: Path) -> Path:
    folder.mkdir()
    (folder / "toy.py").write_text(SWEEP, encoding="utf-8")
    (folder / "ways.py").write_text(WAYS, encoding="utf-8")
    (folder / "measure.py").write_bytes((ROOT / "snippets" / "measure.py").read_bytes())
    return folder


def new_job(folder: Path, snippets: Path, setup: str, role: Role = Role.SWEEP) -> Job:
    folder.mkdir(exist_ok=True)
    return Job(role, str(folder), str(snippets), stage="toy_sweep", snippet="toy", setup=f"ways.{setup}")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Job]:
    snippets = write_snippets(tmp_path / "snippets")
    for name in ("toy", "ways", "measure"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    empty = torch.empty
    monkeypatch.setattr(
        torch, "empty", lambda *size, **on: empty(16) if on.get("device") == "cuda" else empty(*size, **on)
    )
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    torch._dynamo.reset()
    torch._dynamo.utils.clear_compilation_metrics()
    yield lambda setup: new_job(tmp_path / "job", snippets, setup)
    torch._dynamo.reset()
    for name in ("toy", "ways", "measure"):
        sys.modules.pop(name, None)


def test_each_call_is_made_as_often_as_its_times_and_its_trace_need(job: Callable[[str], Job]) -> None:
    seen = worker.measure_sweep(job("eager"))
    assert [call.name for call in seen.calls] == ["0-4", "1-3", "2-5", "3-1", "4-4"]
    assert all(len(call.call_ms) == 10 and len(call.gpu_us) == 20 for call in seen.calls)
    assert all(call.graphs == () and call.cache_hits == 0 for call in seen.calls)
    # 10 by the wall clock, 20 by events, one to warm the profiler up and one that it shows
    made = sys.modules["toy"].MADE
    assert made == [size for size in SIZES for _ in range(10 + 20 + 2)]
    for number in range(1, len(SIZES) + 1):
        (step,) = trace.read(job("eager").path(f"trace-{number}.json")).steps
        assert step.number == 1


def test_graphs_are_counted_at_the_call_that_compiled_them(job: Callable[[str], Job]) -> None:
    seen = worker.measure_sweep(job("compiled"))
    assert [len(call.compiled) for call in seen.calls] == [1, 1, 0, 1, 0]
    assert [[graph.compile_id for graph in call.graphs] for call in seen.calls] == [["0/0"], ["0/1"], [], ["0/2"], []]
    first, second, _, one, _ = seen.calls
    assert first.graphs[0].reason == "" and first.graphs[0].guards > 0
    assert "size mismatch at index 0. expected 4, actual 3" in second.graphs[0].reason
    assert "2 <= " in one.graphs[0].reason
    assert all(g.dynamo_ms > 0 for call in seen.calls for g in call.graphs)


def test_a_sweep_that_is_longer_than_torchs_own_memory_is_counted_whole(job: Callable[[str], Job]) -> None:
    """Dynamic off, seventy sizes, and a limit that lets each have its graph: torch keeps the metrics of 64."""
    asked = job("static")
    Path(asked.snippets, "toy.py").write_text(SWEEP.replace(str(SIZES), str(tuple(range(2, 72)))), encoding="utf-8")
    with torch._dynamo.config.patch(recompile_limit=100):
        seen = worker.measure_sweep(asked)
    assert [len(call.compiled) for call in seen.calls] == [1] * 70


def test_past_the_limit_a_compile_is_begun_once_and_given_up(job: Callable[[str], Job]) -> None:
    with torch._dynamo.config.patch(recompile_limit=2):
        seen = worker.measure_sweep(job("static"))
    assert [len(call.compiled) for call in seen.calls] == [1, 1, 0, 0, 0]
    assert [[bool(graph.failed) for graph in call.graphs] for call in seen.calls[:3]] == [[False], [False], [True]]
    assert "expected 3, actual 5" in seen.calls[2].graphs[0].reason


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("0/0: tensor 'x' size mismatch at index 0. expected 64, actual 32",) * 2,
        (
            "0/1: 2 <= x.size()[0]  # F.linear(x)  # /opt/v/lib/python3.12/site-packages/torch/nn/linear.py:134 in f",
            "0/1: 2 <= x.size()[0]  # F.linear(x)  # linear.py:134 in f",
        ),
        ("# a / b  # nn/modules/linear.py:134 in forward",) * 2,
    ],
)
def test_a_reason_is_kept_as_torch_gives_it_without_this_machines_folders(reason: str, told: str) -> None:
    assert without_folders(reason) == told


def test_two_routes_count_the_same_graphs(tmp_path: Path) -> None:
    """torch's metrics in one process, and in another the compiles that its structured log begins: counted by hand."""
    snippets = write_snippets(tmp_path / "snippets")
    by_metrics, by_log = (
        new_job(tmp_path / role.value, snippets, "compiled", role) for role in (Role.SWEEP, Role.LOG_COMPILES)
    )
    code = """
import sys, torch
sys.path.insert(0, sys.argv[2])
import json, msgspec, pathlib
from build_traces import worker
from build_traces.jobs import Job
torch.cuda.synchronize = lambda: None
empty = torch.empty
torch.empty = lambda *size, **on: empty(16) if on.get("device") == "cuda" else empty(*size, **on)
from tests.record.test_worker import Event
torch.cuda.Event = Event
job = msgspec.json.decode(pathlib.Path(sys.argv[1]).read_bytes(), type=Job)
answer = worker.ROLES[job.role](job)
if answer is not None:
    job.path("answer.json").write_bytes(msgspec.json.encode(answer))
"""
    for asked in (by_metrics, by_log):
        command = [sys.executable, "-c", code, str(write_job(asked)), str(ROOT)]
        done = subprocess.run(
            command, cwd=ROOT, env=environ(asked), capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr[-2000:]
    answered = msgspec.json.decode(by_metrics.path("answer.json").read_bytes(), type=SweepProcess)
    (tmp_path / "snippets" / "ladder.toml").write_text(
        '[[stage]]\nname = "toy"\n[[sweep]]\nname = "toy_sweep"\nsnippet = "toy"\nsetup = "ways.compiled"\n'
    )
    kept = record_sweeps.compile_starts(load(snippets).sweep("toy_sweep"), by_log).decode()
    starts = [json.loads(line) for line in kept.splitlines()]
    assert [(start["frame_id"], start["frame_compile_id"]) for start in starts] == [(0, 0), (0, 1), (0, 2)]
    assert sum(len(call.compiled) for call in answered.calls) == 3
    assert str(tmp_path) not in kept and str(os.getpid()) not in kept
    # The same by hand, from the log as torch wrote it, by its own words and none of our code.
    (log,) = by_log.path("torch-trace").glob("*.log")
    assert log.read_text().count('{"dynamo_start"') == 3


@pytest.mark.parametrize(
    ("guards", "failed", "counts"), [(56, None, True), (None, "Unsupported", True), (None, None, False)]
)
def test_what_runs_on_a_graphs_account_is_no_graph(guards: int | None, failed: str | None, counts: bool) -> None:
    """As torch 2.11 keeps them on a GPU: the first run of Triton kernels has an entry of the graph's compile id."""
    entry = CompilationMetrics(compile_id="0/0", guard_count=guards, fail_type=failed)
    assert sweep_worker._is_frame(entry) is counts


def test_a_set_up_that_is_wrong_is_no_sweep(job: Callable[[str], Job]) -> None:
    with pytest.raises(ValueError, match="this set-up is wrong"):
        worker.measure_sweep(job("never"))
