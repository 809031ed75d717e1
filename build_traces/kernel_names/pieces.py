"""Cutting a name into pieces and giving each its meaning: what the families share.

Names are hostile text: they are cut, never evaluated, and every scan is linear.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from build_traces.kernel_names.values import FAMILIES, KernelName, Part

SHORT_MAX_CHARS = 60
SUMMARY_MAX_PARTS = 14

_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Known:
    """A documented meaning; `{0}`, `{1}` are the numbers in the piece, `{text}` is all of it."""

    meaning: str
    source: str

    def part(self, text: str) -> Part:
        """The piece with this meaning."""
        meaning = self.meaning.format(*_NUMBER.findall(text), text=text)
        return Part(text, meaning, self.source)


Meanings = Mapping[str, Known | Mapping[str, Known]]
"""What a named group means: one meaning, or a table of the texts it may have."""


def said(source: str, **meanings: str) -> dict[str, Known]:
    """Meanings that one source gives."""
    return {key: Known(meaning, source) for key, meaning in meanings.items()}


def part_of(text: str, known: Known | None) -> Part:
    """A piece with its meaning, or without one."""
    return known.part(text) if known else Part(text, None, None)


def parts_of(match: re.Match[str], meanings: Meanings) -> list[Part]:
    """The named groups in the order of the name, the groups `rest…` cut at each underscore."""
    found = {key: text for key, text in match.groupdict().items() if text}
    parts: list[Part] = []
    for key in sorted(found, key=match.start):
        known = meanings.get(key, {})
        for text in found[key][1:].split("_") if key.startswith("rest") else [found[key]]:
            parts.append(part_of(text, known if isinstance(known, Known) else known.get(text)))
    return parts


def shortened(text: str) -> str:
    """At most 60 printable characters; the middle goes, as both ends tell kernels apart."""
    head, tail = SHORT_MAX_CHARS * 2 // 3, SHORT_MAX_CHARS // 3 - 1
    cut = text if len(text) <= SHORT_MAX_CHARS else f"{text[:head]}…{text[-tail:]}"
    return "".join(char if char.isprintable() else "?" for char in cut)


def made(name: str, family: str, parts: list[Part], *, short: str) -> KernelName:
    """A decoded name of this family, its summary made of the pieces that have a meaning."""
    meanings = [part.meaning for part in parts if part.meaning] or ["no piece is documented"]
    if len(meanings) > SUMMARY_MAX_PARTS:
        meanings[SUMMARY_MAX_PARTS - 1 :] = ["…"]
    text = "; ".join([meanings[0][0].upper() + meanings[0][1:], *meanings[1:]])
    maker = FAMILIES[family].maker
    return KernelName(name, family, maker, shortened(short), f"{text}.", tuple(parts))


@dataclass(frozen=True)
class Function:
    """A C++ kernel in a name: its path, its template arguments, and where these end."""

    path: str
    args: tuple[str, ...]
    args_start: int
    args_end: int


_PATH = re.compile(r"(?:void )?((?:(?:\(anonymous namespace\)|[A-Za-z_]\w*)::)*[A-Za-z_]\w*)")
_BRACKET = re.compile(r"[<({\[,\]})>]")
_DEPTH = {"<": 1, "(": 1, "{": 1, "[": 1, ",": 0, "]": -1, "}": -1, ")": -1, ">": -1}


def function_in(name: str) -> Function | None:
    """The C++ function a name starts with; arguments that do not close end with the name."""
    match = _PATH.match(name)
    if not match:
        return None
    path, end = match[1], match.end()
    if not name.startswith("<", end):
        return Function(path, (), end, end)
    args, depth, start = list[str](), 0, end + 1
    for bracket in _BRACKET.finditer(name, end):
        depth += _DEPTH[bracket[0]]
        if depth <= 0 or (depth == 1 and bracket[0] == ","):
            args.append(name[start : bracket.start()].strip())
            start = bracket.end()
        if depth <= 0:
            return Function(path, tuple(args), end, start)
    return Function(path, (*args, name[start:].strip()), end, len(name))
