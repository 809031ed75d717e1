"""Whether what is recorded still says what its snippet does: fresh, stale or missing, and why."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from build_traces import recording
from build_traces.errors import BuildTracesError
from build_traces.ladder import Ladder, Recorded, Stage, digest
from build_traces.sweep_record import SWEEP_PROTOCOL, SweepRecord


class State(Enum):
    """Whether a stage or sweep has a recording, and whether it still says what the snippet does."""

    FRESH = "fresh"
    STALE = "stale"
    MISSING = "missing"


@dataclass(frozen=True)
class Status:
    """The state of one stage or sweep, and why."""

    stage: Recorded
    state: State
    why: str


def file_of(recorded: Recorded) -> str:
    """The file in its folder that says what was measured."""
    return recording.STAGE_FILE if isinstance(recorded, Stage) else recording.SWEEP_FILE


def status(recorded: Recorded, folder: Path, machine: str) -> Status:
    """Whether the recording of a stage or sweep in `folder` still says what its snippet does on `machine`."""
    path = folder / recorded.name / file_of(recorded)
    if not path.is_file():
        return Status(recorded, State.MISSING, "not recorded yet")
    try:
        record, protocol = _read(recorded, path)
    except BuildTracesError as error:
        return Status(recorded, State.STALE, error.message)
    if record.protocol != protocol:
        return Status(recorded, State.STALE, f"recorded by protocol {record.protocol}, now {protocol}")
    if record.sha256 != digest(recorded):
        snippets = " or ".join(map(str, recorded.snippets))
        return Status(recorded, State.STALE, f"{snippets} or a snippet that it imports has changed")
    if record.machine != machine:
        return Status(recorded, State.STALE, f"recorded on {record.machine}, now {machine}")
    return Status(recorded, State.FRESH, f"recorded {record.recorded}")


def statuses(ladder: Ladder, folder: Path, machine: str) -> list[Status]:
    """The state of every stage and sweep of the ladder."""
    return [status(one, folder, machine) for one in ladder.recorded]


def _read(recorded: Recorded, path: Path) -> tuple[recording.StageRecord | SweepRecord, int]:
    """The record, and the protocol that it must be of."""
    if isinstance(recorded, Stage):
        return recording.read_stage(path, recorded.name), recording.PROTOCOL
    return recording.read_sweep(path, recorded.name), SWEEP_PROTOCOL
