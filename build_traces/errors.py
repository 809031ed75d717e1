"""One error class for each person who meets one: an author, an operator, the owner of a trace."""

import difflib
from pathlib import Path
from typing import NoReturn


class BuildTracesError(Exception):
    """What went wrong, where, and what to do next; the command line prints it and exits 1."""

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message, where, hint)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  next: {self.hint}" if self.hint else text


class TraceError(BuildTracesError):
    """For the owner of a trace: what in which file cannot be read."""

    def __init__(self, path: Path | str, message: str, *, hint: str = "") -> None:
        super().__init__(message, where=str(path), hint=hint)


class RecordingError(BuildTracesError):
    """For the operator of a recording: which stage, why, and where its log is."""

    def __init__(self, stage: str, message: str, *, log: Path | None = None, hint: str = "") -> None:
        self.stage = stage
        self.log = log
        if log is not None:
            message = f"{message}\n  log: {log}"
        super().__init__(message, where=f"stage {stage}" if stage else "", hint=hint)


class NotRecordedError(RecordingError):
    """A stage of the ladder that this recording does not have yet: a draft may be written about it."""


class LadderError(BuildTracesError):
    """For the author of a stage: what in snippets/ladder.toml or a snippet is wrong."""


class FactError(BuildTracesError):
    """A path that names no fact, or a fact that this recording cannot give."""


class EntryError(BuildTracesError):
    """For the author of a claim or an exercise: file and line of the entry, and what in it is wrong."""

    def __init__(self, path: Path | str, line: int, message: str, *, hint: str = "") -> None:
        super().__init__(message, where=f"{path}:{line}", hint=hint)


class PageError(BuildTracesError):
    """For the author of a page: file and line of what cannot be rendered."""

    def __init__(self, path: Path | str, line: int, message: str, *, hint: str = "") -> None:
        self.path = path
        self.line = line
        super().__init__(message, where=f"{path}:{line}", hint=hint)


def unknown_name(what: str, name: str, known: list[str], prefix: str = "") -> NoReturn:
    """Raises FactError that names the nearest names there are."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = "did you mean " + ", ".join(prefix + n for n in near) + "?" if near else f"there are {', '.join(known)}"
    raise FactError(f"there is no {what} {prefix + name!r}", hint=hint)
