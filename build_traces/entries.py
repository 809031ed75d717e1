"""Entries in TOML files, such as `[[exercise]]`: read with their lines, and their paths of facts checked by name."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_traces.errors import EntryError, unknown_name
from build_traces.facts import STEP
from build_traces.kernel_fields import KERNEL_FIELDS
from build_traces.ladder import Ladder
from build_traces.sweep_vocabulary import CALL_FIELDS, SWEEP_FACTS
from build_traces.vocabulary import STAGE_FACTS

ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
TOML_LINE = re.compile(r"\(at line (\d+)")
LONG_STRING = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'', re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """What stands under one `[[name]]`, and the lines of it and of the `[[name.inner]]` in it."""

    file: Path
    line: int
    values: dict[str, Any]
    inner: dict[str, tuple[int, ...]]


def read_entries(path: Path, name: str) -> list[Entry]:
    """The entries of a file that holds nothing else. Raises EntryError."""
    text = path.read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = TOML_LINE.search(str(error))
        raise EntryError(path, int(line[1]) if line else 1, f"not valid TOML: {error}", hint="correct it") from error
    values = data.pop(name, [])
    if data or not isinstance(values, list) or not all(isinstance(entry, dict) for entry in values):
        message = f"there is {', '.join(data) or name} beside the entries"
        raise EntryError(path, 1, message, hint=f"write each {name} as [[{name}]]")
    places = _places(text, name)
    if len(places) != len(values):
        places = [(1, {})] * len(values)  # written in a form that is not looked for
    return [Entry(path, line, entry, inner) for entry, (line, inner) in zip(values, places, strict=True)]


def _places(text: str, name: str) -> list[tuple[int, dict[str, tuple[int, ...]]]]:
    """Line of each `[[name]]`, and by name those of the `[[name.inner]]` behind it."""
    header = re.compile(rf"^[ \t]*\[\[[ \t]*{name}[ \t]*(?:\.[ \t]*(?P<inner>\w+)[ \t]*)?\]\]", re.MULTILINE)
    text = LONG_STRING.sub(lambda match: "\n" * match[0].count("\n"), text)
    found: list[tuple[int, dict[str, tuple[int, ...]]]] = []
    for match in header.finditer(text):
        line = 1 + text.count("\n", 0, match.start("inner") if match["inner"] else match.end())
        if match["inner"] is None:
            found.append((line, {}))
        elif found:
            lines = found[-1][1]
            lines[match["inner"]] = (*lines.get(match["inner"], ()), line)
    return found


def check_names(paths: Iterable[str], ladder: Ladder) -> None:
    """Whether the names in these paths exist, which can be told without a recording. Raises FactError."""
    for path in paths:
        _check_name(path, ladder)


def _check_name(path: str, ladder: Ladder) -> None:
    stage, _, rest = path.partition(".")
    if stage == "recording" or not rest:
        return  # the facts say what is wrong
    if stage in ladder.sweep_names:
        _check_sweep_name(stage, rest)
        return
    if stage not in ladder.names:
        unknown_name("stage", stage, [*ladder.names, *ladder.sweep_names, "recording"])
    if STEP.fullmatch(rest.partition(".")[0]):
        rest = rest.partition(".")[2]
    name, _, key = rest.partition(".")
    if name not in STAGE_FACTS:
        unknown_name("fact", name, list(STAGE_FACTS), prefix=f"{stage}.")
    field = key.partition(".")[2].partition(".")[0]
    if name == "kernel" and field not in KERNEL_FIELDS:
        unknown_name("kernel field", field, list(KERNEL_FIELDS))


def _check_sweep_name(sweep: str, rest: str) -> None:
    """The names of a sweep's calls are the recording's."""
    name, _, key = rest.partition(".")
    if name not in SWEEP_FACTS:
        unknown_name("fact", name, list(SWEEP_FACTS), prefix=f"{sweep}.")
    field = key.partition(".")[2].partition(".")[0]
    if name == "call" and field not in CALL_FIELDS:
        unknown_name("field of a call", field, list(CALL_FIELDS))
