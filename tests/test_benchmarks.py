"""benchmarks: a repeated trace is the real one many times over, and the table is made of what was measured."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import measure, plain
from benchmarks.repeat_trace import repeat
from build_traces.inspection import inspect

ROOT = Path(__file__).parents[1]
SOURCES = [
    ROOT / "tests" / "traces" / "h200_probe" / "mlp_eager.json.gz",
    ROOT / "tests" / "traces" / "amd_mi250.json.gz",
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_a_repeated_trace_has_as_many_events_as_asked_for_and_each_id_once(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    repeat(source, 5_000, path)
    events = json.loads(path.read_bytes())["traceEvents"]
    assert len(events) == 5_000
    calls = Counter(e["args"]["correlation"] for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver"))
    assert calls
    assert max(calls.values()) == 1
    steps = [e["name"] for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    assert len(set(steps)) == len(steps)
    assert len({e["args"]["stream"] for e in events if e.get("cat") == "kernel"}) > 10


def test_a_repeated_trace_says_the_same_of_each_copy(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    repeat(SOURCES[0], 20_000, path)
    found, once = inspect(path), inspect(SOURCES[0])
    assert len(found.steps) > 200
    assert {work.name for work in found.kinds[0].work} == {work.name for work in once.kinds[0].work}
    assert found.kinds[0].gpu_us.median == pytest.approx(once.kinds[0].gpu_us.median, abs=0.01)
    assert len(plain.inspect(path)["steps"]) == len(found.steps)


def test_each_contestant_reports_seconds_memory_and_what_it_saw(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    repeat(SOURCES[0], 2_000, path)
    for contestant in ("inspect", "json.load", "json.load and loops"):
        done = measure.run(contestant, path, 1, 60)
        assert done.seconds is not None
        assert done.seconds > 0
        assert done.peak_bytes > 1_000_000
        assert done.said.split()[1] in ("steps", "events")


def test_a_contestant_that_is_not_done_in_time_has_no_seconds(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    repeat(SOURCES[0], 1_000, path)
    assert measure.run("inspect", path, 1, 0.001) == measure.Run(None, 0, "not done in 0 s")
