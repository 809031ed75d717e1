"""The recorder of sweeps, with a stand-in worker: what it writes, what it leaves alone, and what it says."""

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from build_traces import freshness, plan, record, record_sweeps, recording, sweep_record, verify
from build_traces.errors import RecordingError
from build_traces.freshness import State
from build_traces.ladder import load
from build_traces.processes import Limits
from build_traces.sweeps import Sweep

from .conftest import FOLDER, Bench, Heard

Tree = Callable[[Path], dict[str, bytes]]


def test_a_sweep_is_recorded_whole(bench: Bench, heard: Heard) -> None:
    outcome = record.record(bench.sweep_request("batch"), heard)
    assert (outcome.recorded, outcome.failed) == (("batch",), ())
    assert {path.name for path in (bench.folder / "batch").iterdir()} == {"sweep.json"}
    made = recording.open_recording(bench.folder).sweep("batch")
    assert (made.sweep, made.protocol, made.commit) == ("batch", 1, "0123456789abcdef")
    assert made.command == "python -m build_traces record --stages batch"
    assert len(made.processes) == 3
    # The stand-in's process n takes 1000 + n, 500 + n and 1 + n ms for the first time of its three calls.
    assert [[call.call_ms[0] for call in process.calls] for process in made.processes] == [
        [1001.0, 501.0, 2.0],
        [1002.0, 502.0, 3.0],
        [1003.0, 503.0, 4.0],
    ]
    assert [process.seconds for process in made.processes] == [5.0, 6.0, 7.0]
    # The last of the trace's three steps is as the others: a kernel each, told in all of them.
    assert {len(call.kernels) for process in made.processes for call in process.calls} == {3}
    assert heard.lines[0] == f"planned {FOLDER} 1 6"  # 3 ceilings, 3 processes
    assert heard.lines.count("process done") == 6
    assert heard.lines[-1] == "swept batch 2 1507 1504 1510"


def test_the_processes_of_a_sweep_run_one_after_the_other_with_empty_caches(bench: Bench, heard: Heard) -> None:
    record.record(bench.sweep_request("batch"), heard)
    lines = bench.processes("sweep")
    assert len({line.split()[2] for line in lines}) == 3 and all(line.endswith(" 0") for line in lines)
    running = [line for line in heard.lines if line.startswith("running batch")]
    assert running == [f"running batch · process {n} of 3" for n in (1, 2, 3)]


def test_a_warm_sweep_finds_what_one_process_before_it_has_compiled(bench: Bench, heard: Heard) -> None:
    record.record(bench.sweep_request("batch", more={"caches": '"warm"'}), heard)
    made = recording.open_recording(bench.folder).sweep("batch")
    assert [[call.cache_hits for call in process.calls] for process in made.processes] == [[1, 1, 0]] * 3
    assert len(bench.processes("fill-caches")) == 1, "which is not measured"
    assert len(made.processes) == 3


def test_the_lines_that_begin_a_compile_are_kept_from_torchs_log(bench: Bench, heard: Heard) -> None:
    record.record(bench.sweep_request("batch", more={"log": "true"}), heard)
    made = recording.open_recording(bench.folder).sweep("batch")
    assert made.artefacts == ("compile_starts.jsonl.gz",)
    packed = (bench.folder / "batch" / made.artefacts[0]).read_bytes()
    assert packed[4:8] == b"\0\0\0\0", "gzip's time stamp is zero, so that equal logs are equal files"
    lines = gzip.decompress(packed).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"dynamo_start": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0},
        {"dynamo_start": {}, "frame_id": 0, "frame_compile_id": 1, "attempt": 0},
    ]
    assert len(made.processes) == 3, "the process that logs is slower, and not among them"


def test_a_log_without_a_compile_fails_the_sweep(bench: Bench, heard: Heard) -> None:
    outcome = record.record(bench.sweep_request("quiet", more={"log": "true"}), heard)
    assert "names no compile" in str(outcome.failed[0]) and outcome.recorded == ()


@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        ("raises", "process 1 of 3 ended with exit code 1: ValueError: the snippet is wrong"),
        ("hangs", "process 1 of 3 did not end within 2 s"),
        ("killed", "process 2 of 3 was killed by SIGKILL"),
        ("silent", "process 1 of 3 ended without a whole answer"),
        ("no_kernel", "its call 64 holds no kernel"),
    ],
)
def test_a_failed_sweep_leaves_its_old_recording_as_it_was(
    bench: Bench, heard: Heard, tree: Tree, sweep: str, says: str
) -> None:
    record.record(bench.sweep_request("good_one"), heard)
    (bench.folder / "good_one").rename(bench.folder / sweep)
    before = tree(bench.folder / sweep)
    outcome = record.record(bench.sweep_request(sweep, "good_one", limits=Limits(2)), heard)
    assert outcome.recorded == ("good_one",), "the other sweeps are recorded all the same"
    (error,) = outcome.failed
    assert error.stage == sweep and says in str(error)
    assert tree(bench.folder / sweep) == before
    assert not [p for p in bench.folder.iterdir() if p.name.startswith(".")], "nothing half-made is left"


def test_stages_and_sweeps_are_recorded_by_one_command(bench: Bench, heard: Heard) -> None:
    request = bench.sweep_request("batch")
    outcome = record.record(replace(request, stages=request.ladder.recorded), heard)
    assert outcome.recorded == ("good", "batch")
    assert record.record(replace(request, stages=request.ladder.recorded), heard).recorded == ()


@pytest.mark.parametrize("changed", ["shapes.py", "ways.py", "shared.py"])
def test_a_sweep_is_stale_when_what_it_runs_changes(bench: Bench, heard: Heard, changed: str) -> None:
    request = bench.sweep_request("batch")
    record.record(request, heard)
    on = recording.open_recording(bench.folder).environment.machine

    batch = request.ladder.sweep("batch")

    def state(sweep: Sweep = batch, on: str = on) -> State:
        return freshness.status(sweep, bench.folder, on).state

    assert state() is State.FRESH
    assert state(on="another machine") is State.STALE
    assert state(replace(batch, caches="warm")) is State.STALE
    assert state(replace(batch, setup="ways.other")) is State.STALE
    assert state(replace(batch, title="Other", chapter=3, seconds=99)) is State.FRESH
    (bench.root / "snippets" / changed).write_text("import shared\nX = 1\n", encoding="utf-8")
    assert state() is State.STALE


def test_a_new_protocol_makes_every_sweep_stale_and_no_stage(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = bench.sweep_request("batch")
    record.record(replace(request, stages=request.ladder.recorded), heard)
    monkeypatch.setattr(freshness, "SWEEP_PROTOCOL", 2)
    on = recording.open_recording(bench.folder).environment.machine
    states = {s.stage.name: (s.state, s.why) for s in freshness.statuses(request.ladder, bench.folder, on)}
    assert states["good"][0] is State.FRESH
    assert states["batch"] == (State.STALE, "recorded by protocol 1, now 2")


def test_an_edit_while_a_sweep_is_recorded_is_noticed(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = bench.sweep_request("batch")
    run = record_sweeps._run

    def edit_and_run(*arguments: object) -> bytes:
        (bench.root / "snippets" / "ways.py").write_text("compiled = 1\n", encoding="utf-8")
        return run(*arguments)

    monkeypatch.setattr(record_sweeps, "_run", edit_and_run)
    (error,) = record.record(request, heard).failed
    assert "changed while it was recorded" in error.message and not (bench.folder / "batch").exists()


def test_processes_of_a_wave_are_no_more_than_there_are_cores(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    request = bench.sweep_request("a", "b", "c", "d")
    with record._workplace(request) as workplace:
        plans = [record_sweeps.plan(sweep, 3, workplace) for sweep in request.ladder.sweeps]
    assert [[one.sweep.name for one in wave] for wave in record_sweeps.waves(plans)] == [["a", "b"], ["c", "d"]]
    assert [len(wave) for wave in record_sweeps.waves(plans[:1])] == [1]
    assert list(record_sweeps.waves([])) == []


def test_a_plan_says_how_long_a_recording_takes_and_records_nothing(bench: Bench, heard: Heard) -> None:
    request = bench.sweep_request("batch", "other", more={"seconds": "9", "log": "true"})
    # 3 + 1 processes each of 9 + 1 s, and one wave of 8 processes that import for 8 s
    assert plan.lines(request)[-1] == "together about 88 s, of which 8 s imports on 16 cores"
    assert not bench.out.exists()
    record.record(replace(request, stages=(request.ladder.sweep("batch"),)), heard)
    assert [line.split()[0] for line in plan.lines(request)[:-1]] == ["other"], "batch is fresh"
    # As recorded: the processes took 5, 6 and 7 s.
    assert "4 processes of about 6 s" in plan.lines(replace(request, everything=True))[0]


# Verify


def run(bench: Bench, request: record.Request) -> list[verify.Drift]:
    return verify.verify(request.ladder, request.stages, bench.out, 1, Limits(30), Heard())["batch"]


@pytest.fixture
def recorded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> record.Request:
    """A recorded sweep, and a verify that runs the stand-in worker."""
    request = bench.sweep_request("batch")
    record.record(request, Heard())
    original = record.Request

    def with_stand_in(**settings: object) -> record.Request:
        return original(**(settings | {"worker": request.worker, "logs": request.logs}))

    monkeypatch.setattr(verify, "Request", with_stand_in)
    return request


def test_a_sweep_that_does_as_recorded_has_no_drift(bench: Bench, recorded: record.Request) -> None:
    assert run(bench, recorded) == []


def test_another_reason_is_a_drift_that_shows_both(
    bench: Bench, recorded: record.Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_REASON", "0/0: other strides")
    (drift,) = run(bench, recorded)
    assert drift.what == "graphs compiled"
    assert "-32: 0/1  0/0: expected 64, actual 32" in str(drift) and "+32: 0/1  0/0: other strides" in str(drift)


def test_another_kernel_is_a_drift(bench: Bench, recorded: record.Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_KERNEL", "another_kernel")
    (drift,) = run(bench, recorded)
    assert drift.what == "kernels" and "+64: another_kernel" in str(drift)


# Recorded are 21 to 23 µs; the band is 3 µs or 15 %: 3.3 µs around them. Process 1 takes one more than the variable.
@pytest.mark.parametrize(("us", "drifts"), [("16.8", False), ("16.6", True), ("25.2", False), ("25.4", True)])
def test_gpu_times_have_a_band(
    bench: Bench, recorded: record.Request, monkeypatch: pytest.MonkeyPatch, us: str, drifts: bool
) -> None:
    monkeypatch.setenv("STAND_IN_US", us)
    whats = [drift.what for drift in run(bench, recorded)]
    assert whats == ([f"GPU time of call {call}" for call in ("64", "32", "48")] if drifts else [])


# Damage


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda process: msgspec.structs.replace(process, calls=()), "holds no call"),
        (lambda process: msgspec.structs.replace(process, calls=process.calls[::-1]), "made other calls"),
        (lambda process: msgspec.structs.replace(process, calls=process.calls[:1] * 2), "one name"),
    ],
)
def test_a_damaged_sweep_says_what_is_wrong(
    bench: Bench, heard: Heard, change: Callable[[sweep_record.SweepProcess], sweep_record.SweepProcess], says: str
) -> None:
    record.record(bench.sweep_request("batch"), heard)
    made = recording.open_recording(bench.folder).sweep("batch")
    every = "other" not in says
    processes = tuple(change(p) if every or n == 0 else p for n, p in enumerate(made.processes))
    path = bench.folder / "batch" / "sweep.json"
    path.write_bytes(recording.encode(msgspec.structs.replace(made, processes=processes)))
    with pytest.raises(RecordingError, match=says):
        recording.open_recording(bench.folder).sweep("batch")
    on = recording.open_recording(bench.folder).environment.machine
    assert freshness.status(load(bench.root / "snippets").sweep("batch"), bench.folder, on).state is State.STALE
