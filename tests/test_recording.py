"""A recording on disk: its name, its states and why, and what is said of damaged files."""

from pathlib import Path

import msgspec
import pytest

from build_traces import recording
from build_traces.errors import RecordingError
from build_traces.freshness import State, status
from build_traces.ladder import load
from build_traces.recording import Spread, encode, recording_name, short_commit, spread, step_time_us


@pytest.mark.parametrize(
    ("gpu", "torch", "name"),
    [
        ("NVIDIA H200", "2.11.0+cu130", "nvidia-h200_torch-2.11.0"),
        ("NVIDIA A100-SXM4-80GB", "2.9.1", "nvidia-a100-sxm4-80gb_torch-2.9.1"),
        (" AMD Radeon (TM) ", "2.8.0+rocm6.4", "amd-radeon-tm_torch-2.8.0"),
    ],
)
def test_a_recordings_name_is_fit_for_a_folder_and_a_url(gpu: str, torch: str, name: str) -> None:
    assert recording_name(gpu, torch) == name


def test_a_spread_is_the_median_and_the_extremes() -> None:
    assert spread([3.0, 1.0, 10.0, 2.0]) == Spread(median=2.5, low=1.0, high=10.0)
    assert spread([7.0]) == Spread(7.0, 7.0, 7.0)


@pytest.mark.parametrize(
    ("commit", "short"),
    [("0123456789abcdef", "0123456789"), ("0123456789abcdef-dirty", "0123456789-dirty"), ("short", "short")],
)
def test_a_short_commit_keeps_its_mark(commit: str, short: str) -> None:
    assert short_commit(commit) == short


def test_a_cold_step_is_the_first_and_a_warm_one_the_median(repository) -> None:
    process = msgspec.structs.replace(repository.record("mlp_eager").processes[0], time_us=(900.0, 1.0, 2.0))
    assert step_time_us(process, cold=True) == 900.0
    assert step_time_us(process, cold=False) == 2.0


def test_why_a_stage_is_not_fresh(repository) -> None:
    stage = load(Path("snippets")).stage("mlp_eager")
    machine = repository.facts().recording.environment.machine

    def state(on: str = machine) -> tuple[State, str]:
        found = status(stage, repository.recording, on)
        return found.state, found.why

    assert state() == (State.FRESH, "recorded 2026-12-01")
    assert state("another machine")[0] is State.STALE
    assert "now another machine" in state("another machine")[1]
    repository.write_stage(msgspec.structs.replace(repository.record("mlp_eager"), protocol=0))
    assert state() == (State.STALE, f"recorded by protocol 0, now {recording.PROTOCOL}")
    (repository.recording / "mlp_eager" / "stage.json").write_text("{")
    assert state()[0] is State.STALE and "damaged" in state()[1]
    (repository.recording / "mlp_eager" / "stage.json").unlink()
    assert state() == (State.MISSING, "not recorded yet")


def test_a_recording_that_is_not_there_or_damaged_says_what_to_do(repository) -> None:
    with pytest.raises(RecordingError, match="there is no recording in nowhere") as absent:
        recording.open_recording(Path("nowhere"))
    assert "python -m build_traces record" in absent.value.hint
    (repository.recording / "environment.json").write_text('{"gpu": 3}')
    with pytest.raises(RecordingError, match=r"environment\.json is damaged") as damaged:
        recording.open_recording(repository.recording)
    assert "git checkout" in damaged.value.hint


def test_a_stage_that_is_not_there_says_what_to_do(repository) -> None:
    opened = repository.facts().recording
    with pytest.raises(RecordingError, match="stage gone: not recorded") as error:
        opened.stage("gone")
    assert "python -m build_traces record --stages gone" in error.value.hint


def test_short_lists_of_numbers_stand_on_one_line() -> None:
    class Value(msgspec.Struct):
        numbers: tuple[float | None, ...]
        names: tuple[str, ...]

    text = encode(Value((1.5, None, -2e-7), ("a", "b"))).decode()
    assert '"numbers": [1.5, null, -2e-7]' in text
    assert '"names": [\n' in text
    assert msgspec.json.decode(text, type=Value) == Value((1.5, None, -2e-7), ("a", "b"))
