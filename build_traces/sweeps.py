"""A sweep, the second kind of stage: one set-up, called with one shape after the other in a fresh process.

In snippets/ladder.toml a `[[sweep]]` names the snippet that yields the calls and the set-up that they are made in.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from build_traces.errors import LadderError
from build_traces.kernel_folder import kernel_folder

SWEEP_KEYS = {"name", "title", "snippet", "setup", "caches", "log", "chapter", "seconds", "kernel"}
NEEDED = ("name", "snippet", "setup")
TYPES: dict[str, type] = {
    "title": str,
    "snippet": str,
    "setup": str,
    "log": bool,
    "chapter": int,
    "seconds": int,
    "kernel": str,
}
GUESSED_SECONDS = 10
"""Of one process, where neither a recording nor the ladder says how long it takes."""

Caches = Literal["empty", "warm"]


@dataclass(frozen=True)
class Sweep:
    """One entry `[[sweep]]` of ladder.toml.

    `setup` is `module.function` in the folder of snippets. With `caches = "warm"` each process finds the compile
    caches that a process before it has filled. `log` asks for one more process, which keeps torch's own log of
    compiles. `seconds` is about how long one process takes, for those who plan a recording. `kernel` is the folder
    of this repository that the set-up loads a kernel from, if it does.
    """

    name: str
    title: str
    snippet: Path
    setup: str
    caches: Caches = "empty"
    log: bool = False
    chapter: int = 0
    seconds: int = GUESSED_SECONDS
    kernel: Path | None = None

    @property
    def setup_module(self) -> str:
        """The module of the set-up, which is a sibling of the snippet."""
        return self.setup.partition(".")[0]

    @property
    def snippets(self) -> tuple[Path, ...]:
        """The files that a recording of this sweep begins from."""
        return self.snippet, self.snippet.with_name(f"{self.setup_module}.py")

    @property
    def settings(self) -> str:
        """What a recording depends on besides files."""
        return f"sweep={self.name}\nsetup={self.setup}\ncaches={self.caches}\nlog={self.log}\n"


def read_sweep(entry: dict[str, Any], snippets: Path, path: Path) -> Sweep:
    """A sweep from its entry. Raises LadderError, which names it and says what is wrong."""
    name = entry.get("name", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise LadderError(f"a sweep is named {name!r}, which is no name of a fact's path", where=str(path))

    def refuse(message: str, hint: str = "") -> None:
        raise LadderError(f"sweep {name!r} {message}", where=str(path), hint=hint)

    if unknown := set(entry) - SWEEP_KEYS:
        refuse(f"has unknown keys {sorted(unknown)}", f"the keys are {', '.join(sorted(SWEEP_KEYS))}")
    if missing := [key for key in NEEDED if key not in entry]:
        refuse(f"has no {' and no '.join(missing)}", f"each sweep has {', '.join(NEEDED)}")
    for key, kind in TYPES.items():
        if key in entry and type(entry[key]) is not kind:
            refuse(f"has {key} = {entry[key]!r}, which is no {kind.__name__}")
    if entry.get("caches", "empty") not in get_args(Caches):
        refuse(f"has caches = {entry['caches']!r}", f"there are {', '.join(get_args(Caches))}")
    module, _, function = entry["setup"].partition(".")
    if not (module.isidentifier() and function.isidentifier()):
        refuse(f"has the set-up {entry['setup']!r}", 'write setup = "setups.compiled", a module and its function')
    sweep = Sweep(
        name=name,
        title=entry.get("title", name),
        snippet=snippets / f"{entry['snippet']}.py",
        setup=entry["setup"],
        caches=cast(Caches, entry.get("caches", "empty")),
        log=entry.get("log", False),
        chapter=entry.get("chapter", 0),
        seconds=entry.get("seconds", GUESSED_SECONDS),
        kernel=kernel_folder(f"sweep {name!r}", entry["kernel"], snippets, path) if "kernel" in entry else None,
    )
    for file in sweep.snippets:
        if not file.is_file():
            refuse(f"has no {file.name}", f"write {file}")
    return sweep
