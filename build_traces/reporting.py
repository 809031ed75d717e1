"""How far a recording is and how it ended: told as it goes on, and kept for its end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from build_traces.errors import BuildTracesError, RecordingError
from build_traces.processes import Workplace
from build_traces.recording import Spread


class Reporter(Protocol):
    """Who is told how far the recording is; the command line shows it as a progress bar."""

    def planned(self, recording: str, stages: int, processes: int) -> None: ...
    def running(self, what: str) -> None: ...
    def process_done(self) -> None: ...
    def stage_done(self, stage: str, time_us: Spread) -> None: ...
    def sweep_done(self, sweep: str, graphs: int, first_calls_ms: Spread) -> None: ...
    def stage_failed(self, error: RecordingError) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """Which stages and sweeps were recorded into which folder, and why the others were not."""

    folder: Path
    recorded: tuple[str, ...]
    failed: tuple[RecordingError, ...]


@dataclass
class Tally:
    """What was recorded so far and what failed; a failure does not keep the others from being recorded."""

    workplace: Workplace
    reporter: Reporter
    recorded: list[str] = field(default_factory=list)
    failed: list[RecordingError] = field(default_factory=list)

    def attempt(self, name: str, do: Callable[[], None]) -> None:
        """Record one, and tell why if that fails."""
        try:
            do()
        except (BuildTracesError, OSError) as error:
            failure = _failure(name, error)
            self.failed.append(self.workplace.keep_log(failure))
            self.reporter.stage_failed(failure)
        else:
            self.recorded.append(name)


def _failure(name: str, error: Exception) -> RecordingError:
    if isinstance(error, RecordingError):
        return error
    if isinstance(error, OSError):
        return RecordingError(name, f"a temporary file cannot be written: {error}", hint="free disk space")
    return RecordingError(name, str(error))
