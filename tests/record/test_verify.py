"""verify finds what changed since a recording, and nothing where nothing did."""

import shutil
from pathlib import Path

import msgspec
import pytest

from build_traces import processes, record, recording, verify
from build_traces.errors import RecordingError
from build_traces.ladder import Ladder
from build_traces.processes import Limits

from .conftest import WORKER, Bench, Heard


@pytest.fixture
def recorded(bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> Ladder:
    """Two stages recorded by the stand-in, which verify will run again."""
    request = bench.request("good", "other")
    record.record(request, heard)
    original = record.Request
    monkeypatch.setattr(verify, "Request", lambda **settings: original(**settings, worker=WORKER))
    return request.ladder


def run(bench: Bench, ladder: Ladder) -> dict[str, list[verify.Drift]]:
    return verify.verify(ladder, ladder.stages, bench.out, 1, Limits(30), Heard())


def test_nothing_changed_is_no_drift(bench: Bench, recorded: Ladder) -> None:
    assert run(bench, recorded) == {"good": [], "other": []}


def test_a_stage_that_was_never_recorded_is_a_drift_of_its_own(bench: Bench, recorded: Ladder) -> None:
    shutil.rmtree(bench.folder / "other")
    drifts = run(bench, recorded)
    assert drifts["good"] == []
    assert [str(drift) for drift in drifts["other"]] == ["the stage: recorded none, now it runs"]


def test_another_kernel_is_a_drift_that_names_both(
    bench: Bench, recorded: Ladder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_KERNEL", "another_kernel")
    (drift,) = run(bench, recorded)["good"]
    assert drift.what == "GPU work of a step"
    text = str(drift)
    assert "-kernel nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT" in text
    assert "+kernel another_kernel" in text


def test_a_draw_that_any_recorded_process_made_is_no_drift(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch, recorded: Ladder
) -> None:
    """Process 1 of the recording is given another kernel; a run that draws that one is as recorded."""
    path = bench.folder / "good" / "stage.json"
    made = recording.read_stage(path, "good")
    first = made.processes[0]
    work = tuple(msgspec.structs.replace(w, name="another_kernel") if w.kind == "kernel" else w for w in first.work)
    drawn = (msgspec.structs.replace(first, work=work), *made.processes[1:])
    path.write_bytes(recording.encode(msgspec.structs.replace(made, processes=drawn)))
    monkeypatch.setenv("STAND_IN_KERNEL", "another_kernel")
    drifts = run(bench, recorded)
    assert drifts["good"] == [] and len(drifts["other"]) == 1


@pytest.mark.parametrize(
    ("us", "drifts"),
    # Recorded 21, 22, 23 µs (20 + the process's number); the band is 3.3 µs (15 % of 22) below 21 and above 23.
    # A run of one process takes us + 1.
    [("25", False), ("25.2", False), ("25.5", True), ("17", False), ("16.5", True)],
)
def test_times_drift_when_they_leave_the_band(
    bench: Bench, recorded: Ladder, monkeypatch: pytest.MonkeyPatch, us: str, drifts: bool
) -> None:
    monkeypatch.setenv("STAND_IN_US", us)
    found = run(bench, recorded)["good"]
    assert [d.what for d in found] == (["time of a step"] if drifts else [])


def test_a_stage_that_cannot_be_run_ends_verify(bench: Bench, recorded: Ladder) -> None:
    ladder = bench.ladder("good", "raises")
    with pytest.raises(RecordingError, match="the snippet is wrong"):
        verify.verify(ladder, ladder.stages, bench.out, 1, Limits(30), Heard())


def test_a_machine_without_a_recording_has_nothing_to_verify(bench: Bench, recorded: Ladder, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"no recording stand-in-gpu_torch-2\.11\.0"):
        verify.verify(recorded, recorded.stages, tmp_path / "elsewhere", 1, Limits(30), Heard())


def test_verify_leaves_the_recording_alone(bench: Bench, recorded: Ladder, tree) -> None:
    before = tree(bench.folder)
    run(bench, recorded)
    assert tree(bench.folder) == before
    assert processes.WORKER != WORKER
