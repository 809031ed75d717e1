"""The ladder: which stages and sweeps there are, in which order, and the hash that says whether one is stale."""

import ast
import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_traces.errors import LadderError
from build_traces.kernel_folder import kernel_files, kernel_folder
from build_traces.sweeps import Sweep, read_sweep

LADDER_FILE = "ladder.toml"
STAGE_KEYS = {"name", "title", "against", "cold", "chapter", "rung", "kernel"}


@dataclass(frozen=True)
class Stage:
    """One snippet and one entry in ladder.toml.

    `chapter` is the one that measures it, 0 for none; a stage that is no `rung` shows something
    by the way and is left out of the ladder's table. `kernel` is the folder of this repository that
    the snippet loads a kernel from, if it does.
    """

    name: str
    title: str
    against: str
    cold: bool
    snippet: Path
    chapter: int = 0
    rung: bool = True
    kernel: Path | None = None

    @property
    def snippets(self) -> tuple[Path, ...]:
        """The files that a recording of this stage begins from."""
        return (self.snippet,)

    @property
    def settings(self) -> str:
        """What a recording depends on besides files."""
        return f"cold={self.cold}\n"


Recorded = Stage | Sweep
"""What is recorded by itself, and is fresh or stale."""


@dataclass(frozen=True)
class Ladder:
    """The stages in the order in which a reader climbs them, and the sweeps."""

    snippets: Path
    stages: tuple[Stage, ...]
    sweeps: tuple[Sweep, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """Stages, then sweeps."""
        return (*self.stages, *self.sweeps)

    @property
    def sweep_names(self) -> tuple[str, ...]:
        return tuple(sweep.name for sweep in self.sweeps)

    @property
    def rungs(self) -> tuple[Stage, ...]:
        return tuple(stage for stage in self.stages if stage.rung)

    def stage(self, name: str) -> Stage:
        """Raises LadderError that lists the stages there are."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise LadderError(
            f"there is no stage {name!r}",
            where=str(self.snippets / LADDER_FILE),
            hint=f"the stages are {', '.join(self.names)}"
            + (f"; the sweeps are {', '.join(self.sweep_names)}" if self.sweeps else ""),
        )

    def sweep(self, name: str) -> Sweep:
        """Raises LadderError that lists the sweeps there are."""
        for sweep in self.sweeps:
            if sweep.name == name:
                return sweep
        raise LadderError(
            f"there is no sweep {name!r}",
            where=str(self.snippets / LADDER_FILE),
            hint=f"the sweeps are {', '.join(self.sweep_names) or 'none'}",
        )

    def select(self, names: list[str]) -> tuple[Recorded, ...]:
        """The named stages and sweeps in the ladder's order, all of them for an empty list."""
        chosen = {name if name in self.sweep_names else self.stage(name).name for name in names}
        return tuple(one for one in self.recorded if not names or one.name in chosen)


def load(snippets: Path) -> Ladder:
    """Read snippets/ladder.toml. Raises LadderError, which names the entry that is wrong."""
    path = snippets / LADDER_FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(
            f"cannot be read: {error.strerror}", where=str(path), hint="run from the root of the repository"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise LadderError(f"not valid TOML: {error}", where=str(path)) from error
    entries = data.get("stage", [])
    if not entries:
        raise LadderError("lists no stage", where=str(path), hint='add one as [[stage]] with name = "…"')
    stages = tuple(_stage(entry, snippets, path) for entry in entries)
    sweeps = tuple(read_sweep(entry, snippets, path) for entry in data.get("sweep", []))
    names = [stage.name for stage in stages]
    everything = [*names, *(sweep.name for sweep in sweeps)]
    for name in everything:
        if everything.count(name) > 1:
            raise LadderError(f"stage {name!r} is listed twice", where=str(path))
    for stage in stages:
        if stage.against not in names:
            raise LadderError(
                f"stage {stage.name!r} is set against {stage.against!r}, which is no stage", where=str(path)
            )
    return Ladder(snippets, stages, sweeps)


def _stage(entry: dict[str, Any], snippets: Path, path: Path) -> Stage:
    name = entry.get("name", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise LadderError(f"a stage is named {name!r}, which is no Python module name", where=str(path))
    unknown = set(entry) - STAGE_KEYS
    if unknown:
        raise LadderError(
            f"stage {name!r} has unknown keys {sorted(unknown)}",
            where=str(path),
            hint=f"the keys are {', '.join(sorted(STAGE_KEYS))}",
        )
    for key, kind in (("chapter", int), ("cold", bool), ("rung", bool), ("kernel", str)):
        if key in entry and type(entry[key]) is not kind:
            message = f"stage {name!r} has {key} = {entry[key]!r}, which is no {kind.__name__}"
            raise LadderError(message, where=str(path))
    snippet = snippets / f"{name}.py"
    if not snippet.is_file():
        raise LadderError(f"stage {name!r} has no snippet", where=str(path), hint=f"write {snippet}")
    return Stage(
        name=name,
        title=str(entry.get("title", name)),
        against=str(entry.get("against", name)),
        cold=entry.get("cold", False),
        snippet=snippet,
        chapter=entry.get("chapter", 0),
        rung=entry.get("rung", True),
        kernel=kernel_folder(f"stage {name!r}", entry["kernel"], snippets, path) if "kernel" in entry else None,
    )


def sources(recorded: Recorded) -> tuple[Path, ...]:
    """What runs: the snippets, every sibling that they import, directly or not, by name, and a kernel's files."""
    return (*_siblings(recorded), *kernel_files(recorded.kernel))


def _siblings(recorded: Recorded) -> tuple[Path, ...]:
    found: dict[str, Path] = {}
    waiting = list(recorded.snippets)
    while waiting:
        path = waiting.pop()
        if path.name in found:
            continue
        found[path.name] = path
        waiting.extend(sibling for module in _imports(path) if (sibling := path.with_name(f"{module}.py")).is_file())
    return tuple(found[name] for name in sorted(found))


def _imports(path: Path) -> set[str]:
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        raise LadderError(f"not valid Python: {error.msg}", where=f"{path}:{error.lineno}") from error
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    return modules


def digest(recorded: Recorded) -> str:
    """sha256 over what a recording depends on: the sources, and whether a stage is cold, or a sweep's settings."""
    sha = hashlib.sha256(recorded.settings.encode())
    for path in sources(recorded):
        content = path.read_bytes()
        name = _name(recorded.kernel, path)
        sha.update(f"{name} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()


def _name(kernel: Path | None, path: Path) -> str:
    """A kernel's files by their path in it, because two of its folders may have files of one name."""
    if kernel is not None and path.is_relative_to(kernel):
        return path.relative_to(kernel).as_posix()
    return path.name
