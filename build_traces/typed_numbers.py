"""Find measurements that somebody typed into a text of the guide, where a fact or an expression should stand.

What no recording changes is listed in docs/allowed-numbers.toml, each with its reason; an entry that allows nothing
is a problem too. A claim may state a number that its own check compares with: the build decides whether it holds.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import NamedTuple

from build_traces.entries import read_entries
from build_traces.errors import PageError
from build_traces.number_grammar import Found, find, values
from build_traces.prose import prose

PAGES = ("docs/index.md", "docs/claims.md", "docs/chapters/*.md", "docs/stages/*.md")
CLAIMS = "docs/claims/*.toml"
EXERCISES = "docs/exercises/*.toml"
ARTICLE = "docs/claims/article.toml"
ALLOWED = "docs/allowed-numbers.toml"
EVERY_PAGE = "*"


# Claims


class Passage(NamedTuple):
    """A text as it is read, the line of its file on which it begins, and the check that stands by it."""

    line: int
    read: str
    check: str = ""


CLAIM_TEXTS = ("says", "where", "measured", "why", "scope_why", "undecided", "pending")
QUOTED = ("says", "where")
"""What the article said stands in these; it is cited, not measured."""


def claim_passages(toml: str, *, quoted: bool) -> Iterator[Passage]:
    """The texts of a file of claims, without those that quote the article."""
    starts = [match.end() for match in re.finditer(r"^[ \t]*\[\[[ \t]*claim[ \t]*\]\]", toml, re.MULTILINE)]
    for claim, start in zip(tomllib.loads(toml).get("claim", []), starts, strict=True):
        for key in CLAIM_TEXTS:
            if key in claim and not (quoted and key in QUOTED):
                place = re.compile(rf"^[ \t]*{key}[ \t]*=", re.MULTILINE).search(toml, start)
                line = toml.count("\n", 0, place.start() if place else start) + 1
                yield Passage(line, prose(str(claim[key])), str(claim.get("check", "")) if key == "says" else "")


EXERCISE_TEXTS = ("asks", "explain", "teaches")
PART_TEXTS = ("text", "why")


def exercise_passages(path: Path) -> Iterator[Passage]:
    """The texts of a file of exercises, without what it cites of the article's A100."""
    for entry in read_entries(path, "exercise"):
        yield from (Passage(entry.line, prose(entry.values[key])) for key in EXERCISE_TEXTS if key in entry.values)
        for name, lines in entry.inner.items():
            for line, part in zip(lines, entry.values[name], strict=True):
                yield from (Passage(line, prose(part[key])) for key in PART_TEXTS if key in part)


def is_checked(found: Found, check: str) -> bool:
    """Whether every number of a claim's sentence is one that its check compares with: the build checks it then."""
    numbers = values(found.text)
    constants = [value for text in re.split(r"\{[^{}]*\}", check) for value in _constants(text)]
    return bool(numbers) and all(
        any(isclose(form, constant) for form in _forms(number, found.kind.name) for constant in constants)
        for number in numbers
    )


def _constants(text: str) -> Iterator[float]:
    for over, under in re.findall(r"(\d+(?:\.\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?", text):
        yield float(over)
        if under and float(under):
            yield float(over) / float(under)


def _forms(number: float, kind: str) -> tuple[float, ...]:
    """What a check may compare with: of 2 % also 0.02, 1.02 and 0.98, of a half also 50 and 1.5."""
    forms: tuple[float, ...] = (number, 1 / number) if number else (number,)
    if kind == "share":
        forms += (100 * number, *(form for part in (number, number / 100) for form in (part, 1 + part, 1 - part)))
    return forms


# The list of what is allowed


@dataclass
class Allowed:
    """An entry of the list: on which page which words, with a number in them, are no measurement of ours."""

    line: int
    page: str
    text: str
    reason: str
    used: bool = field(default=False, init=False)

    def spans(self, page: str, read: str) -> Iterator[tuple[int, int]]:
        """Where a page has these words."""
        if self.page in (EVERY_PAGE, page):
            words = r"\s+".join(map(re.escape, self.text.split()))
            yield from (match.span() for match in re.finditer(rf"(?<!\w){words}(?!\w)", read))

    def allows(self, page: str, read: str, found: Found) -> bool:
        """Whether the number found is inside these words."""
        return any(start <= found.start and found.end <= end for start, end in self.spans(page, read))


def load_allowed(path: Path) -> list[Allowed]:
    """Read the list. Raises EntryError, and PageError for an entry without page, text and reason."""
    return [_entry(path, entry.line, entry.values) for entry in read_entries(path, "allowed")]


def _entry(path: Path, line: int, entry: dict[str, object]) -> Allowed:
    if sorted(entry) != ["page", "reason", "text"] or not all(str(value).strip() for value in entry.values()):
        raise PageError(path, line, "an allowed number has page, text and reason", hint='the page may be "*"')
    return Allowed(line, str(entry["page"]), str(entry["text"]), str(entry["reason"]))


# All pages, claims and exercises


def check(root: Path) -> list[PageError]:
    """Every typed measurement of the texts under `root`, and every entry of the list that allows none."""
    allowed = load_allowed(root / ALLOWED)
    problems = [
        problem
        for page, passages in _texts(root)
        for passage in passages
        for problem in _problems(page, passage, allowed)
    ]
    unused = "it allows nothing: no such words with a measurement in them are there"
    return problems + [
        PageError(ALLOWED, entry.line, f"{entry.text!r} on {entry.page}: {unused}", hint="remove the entry")
        for entry in allowed
        if not entry.used
    ]


def _texts(root: Path) -> Iterator[tuple[str, list[Passage]]]:
    for pattern in (*PAGES, CLAIMS):
        for path in sorted(root.glob(pattern)):
            name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            claims = path.suffix == ".toml"
            passages = claim_passages(text, quoted=name == ARTICLE) if claims else [Passage(1, prose(text))]
            yield name, list(passages)
    for path in sorted(root.glob(EXERCISES)):
        yield path.relative_to(root).as_posix(), list(exercise_passages(path))


def _problems(page: str, passage: Passage, allowed: list[Allowed]) -> Iterator[PageError]:
    for found in find(passage.read):
        entries = [entry for entry in allowed if entry.allows(page, passage.read, found)]
        for entry in entries:
            entry.used = True
        if not entries and not is_checked(found, passage.check):
            line = passage.line + passage.read.count("\n", 0, found.start)
            yield PageError(
                page,
                line,
                f"a typed {found.kind.name}: {found.text!r}",
                hint=f"write a fact or an expression, such as {found.kind.instead}; what no recording changes goes "
                f"into {ALLOWED}, with its reason",
            )
