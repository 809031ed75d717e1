"""The recording that pages are rendered from: opened once, each stage read once, stale stages refused."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from build_traces import freshness, ladder, recording
from build_traces.errors import NotRecordedError, RecordingError
from build_traces.facts import Facts
from build_traces.freshness import State
from build_traces.ladder import Recorded, Stage
from build_traces.recording import (
    ENVIRONMENT_FILE,
    PROFILE_FILE,
    STAGE_FILE,
    SWEEP_FILE,
    TRACE_FILE,
    Recording,
)
from build_traces.stage_view import StageView
from build_traces.sweep_view import SweepView
from build_traces.sweeps import Sweep

Fingerprint = tuple[tuple[str, int, int], ...]
Entries = TypeVar("Entries")


@dataclass(frozen=True)
class _Checked:
    """A fresh stage or sweep, and the files that made it so."""

    files: tuple[Path, ...]
    fingerprint: Fingerprint
    view: StageView | SweepView


class FreshFacts(Facts):
    """The facts of what is fresh; what is stale raises RecordingError, and what is missing NotRecordedError."""

    def __init__(self, opened: Recording, stages: ladder.Ladder) -> None:
        super().__init__(opened, stages)
        self._checked: dict[str, _Checked] = {}
        self._asked: set[str] = set()

    def begin(self) -> None:
        """A conversion begins: whether files changed is asked once more, of what it uses."""
        self._asked.clear()

    def view(self, stage: str) -> StageView:
        """As Facts.view. Raises RecordingError unless the stage, and what it is set against, are fresh."""
        if stage not in self.ladder.names:
            return super().view(stage)
        view = self._fresh(self.ladder.stage(stage))
        assert isinstance(view, StageView)
        return view

    def sweep(self, name: str) -> SweepView:
        """As Facts.sweep. Raises RecordingError unless the sweep is fresh."""
        if name not in self.ladder.sweep_names:
            return super().sweep(name)
        view = self._fresh(self.ladder.sweep(name))
        assert isinstance(view, SweepView)
        return view

    def _fresh(self, recorded: Recorded) -> StageView | SweepView:
        name = recorded.name
        if name in self._asked:
            return self._checked[name].view
        checked = self._checked.get(name)
        if checked is None or checked.fingerprint != fingerprint(checked.files):
            check = self._check_sweep(recorded) if isinstance(recorded, Sweep) else self._check(recorded)
            self._checked[name] = checked = check
        self._asked.add(name)
        return checked.view

    def _check_sweep(self, sweep: Sweep) -> _Checked:
        self._refuse_unless_fresh(sweep)
        files = (self.recording.path(sweep.name, SWEEP_FILE), *ladder.sources(sweep))
        return _Checked(files, fingerprint(files), SweepView(self.recording, sweep))

    def _check(self, stage: Stage) -> _Checked:
        against = self.ladder.stage(stage.against)
        for needed in (stage, against):
            self._refuse_unless_fresh(needed)
        files = (
            *(self.recording.path(stage.name, name) for name in (STAGE_FILE, TRACE_FILE, PROFILE_FILE)),
            self.recording.path(against.name, STAGE_FILE),
            *ladder.sources(stage),
            *ladder.sources(against),
        )
        return _Checked(files, fingerprint(files), StageView(self.recording, stage, self.ladder))

    def _refuse_unless_fresh(self, stage: Recorded) -> None:
        status = freshness.status(stage, self.recording.folder, self.recording.environment.machine)
        if status.state is not State.FRESH:
            kind = NotRecordedError if status.state is State.MISSING else RecordingError
            raise kind(
                stage.name,
                f"its recording is {status.state.value}: {status.why}",
                hint=f"on a GPU machine: {recording.record_command(stage.name)}",
            )


_opened: dict[tuple[Path, Path], tuple[Fingerprint, FreshFacts]] = {}


def open_facts(folder: Path, snippets: Path) -> FreshFacts:
    """The facts of a recording, the ones opened before if environment.json and ladder.toml are the same.

    Raises RecordingError and LadderError.
    """
    key = (folder.resolve(), snippets.resolve())
    now = fingerprint([key[0] / ENVIRONMENT_FILE, key[1] / ladder.LADDER_FILE])
    if key not in _opened or _opened[key][0] != now:
        _opened[key] = (now, FreshFacts(recording.open_recording(folder), ladder.load(snippets)))
    facts = _opened[key][1]
    facts.begin()
    return facts


_loaded: dict[tuple[Any, Path, Path], tuple[Fingerprint, Any]] = {}


def load_entries(load: Callable[[Path, Path], Entries], folder: Path, docs: Path) -> Entries:
    """What `load` makes of a folder's TOML files, the one made before if they are the same.

    Builders make an extension for each page: what it kept for itself would be read once a page. Raises as `load` does.
    """
    key = (load, folder.resolve(), docs.resolve())
    now = fingerprint(sorted(folder.glob("*.toml")))
    if key not in _loaded or _loaded[key][0] != now:
        _loaded[key] = (now, load(folder, docs))
    loaded: Entries = _loaded[key][1]
    return loaded


def folder_of(name: str, recordings: Path) -> Path:
    """The folder of the recording with this name. Raises RecordingError for no name and an unknown one."""
    there = sorted(path.parent.name for path in recordings.glob(f"*/{ENVIRONMENT_FILE}"))
    hint = f"name one of {', '.join(there)}" if there else "on a GPU machine: python -m build_traces record"
    if not name:
        raise RecordingError("", "no recording is named, by the option `recording` or by RECORDING", hint=hint)
    if name not in there:
        raise RecordingError("", f"there is no recording {name!r} in {recordings}", hint=hint)
    return recordings / name


def fingerprint(files: Iterable[Path]) -> Fingerprint:
    """Name, time and size of each file; a missing file has neither."""
    return tuple(_stat(path) for path in files)


def _stat(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return (str(path), 0, 0)
    return (str(path), stat.st_mtime_ns, stat.st_size)
