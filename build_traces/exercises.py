"""Exercises: questions that the reader answers first and the recording decides, read from docs/exercises/*.toml.

An entry is `[[exercise]]` with the keys of `Written`, in a file of its chapter's name. No answer is written down:
it is an expression over facts, so another GPU may have another right answer.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, get_args

import msgspec

from build_traces import expressions
from build_traces.entries import ID, Entry, read_entries
from build_traces.errors import BuildTracesError, EntryError, unknown_name

TABLE = "exercise"
CHAPTERS = "chapters"
"""The folder under docs/ whose pages show the exercises."""
BROKEN_PART = re.compile(r"\$\.(option|item)\[(\d+)\]")
SHOWS = re.compile(r"[\w-]+(?: \| \S.*)?")
HASH_DIGITS = 12

Kind = Literal["count", "number", "choice", "order"]

NEEDED: dict[Kind, tuple[str, ...]] = {
    "count": ("answer",),
    "number": ("answer", "within"),
    "choice": ("option",),
    "order": ("item",),
}
POSSIBLE: dict[Kind, tuple[str, ...]] = {"count": (), "number": ("unit",), "choice": ("several",), "order": ("unit",)}
BY_KIND = ("answer", "unit", "within", "several", "option", "item")
"""The keys that an exercise has or has not by its kind."""
FEWEST = {"choice": 2, "order": 3}
"""With two things to put in order, the order shown would say which one is right."""
TEXTS = ("asks", "explain", "teaches")


class UnansweredError(EntryError):
    """A sound exercise that a recording has no answer to, such as one of a kernel that it does not have."""


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer to a `choice`: right when `when` is true of the recording; `why` explains it, right or wrong."""

    text: str
    when: str
    why: str


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to put in order, by ascending `at`."""

    text: str
    at: str


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry as its author wrote it.

    `within` is the factor up to which a guessed number is right; `unit` that of the answer, or of each `at`.
    `shows` is a block, as `kernels | mlp_eager`, that stands by the explanation. `teaches` says what the exercise is
    for; it stands on the page of all predictions.
    """

    id: str
    kind: Kind
    asks: str
    explain: str
    teaches: str
    answer: str = ""
    unit: str = ""
    within: float = 0.0
    several: bool = False
    option: tuple[Option, ...] = ()
    item: tuple[Item, ...] = ()
    shows: str = ""
    a100: str = ""


class Exercise(Written, frozen=True, kw_only=True):
    """An entry, and where it and its parts stand."""

    file: Path
    line: int
    part_lines: tuple[int, ...]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def chapter(self) -> str:
        """The name, without folder and ending, of the page that shows it."""
        return self.file.stem

    @property
    def page(self) -> str:
        """The page that shows it, from docs/."""
        return page_of(self.chapter)

    @property
    def parts(self) -> tuple[Option | Item, ...]:
        """Options or items."""
        return self.option or self.item

    @property
    def hash(self) -> str:
        """What a reader's answer is kept under: it changes with the question, not with how its lines are broken."""
        texts = (self.asks, self.kind, *(part.text for part in self.parts))
        folded = json.dumps([" ".join(text.split()) for text in texts], ensure_ascii=False)
        return hashlib.sha256(folded.encode()).hexdigest()[:HASH_DIGITS]

    def refusal(self, error: BuildTracesError, part: int | None = None) -> EntryError:
        """What is wrong with the exercise or one of its parts, told with its place."""
        return EntryError(self.file, self._line(part), self._told(error.message), hint=error.hint)

    def refuse(self, message: str, hint: str, part: int | None = None) -> NoReturn:
        raise EntryError(self.file, self._line(part), self._told(message), hint=hint)

    def unanswered(self, message: str, hint: str, part: int | None = None) -> UnansweredError:
        """That the recording has no answer, told with the place."""
        return UnansweredError(self.file, self._line(part), self._told(message), hint=hint)

    def _line(self, part: int | None) -> int:
        return self.line if part is None else self.part_lines[part]

    def _told(self, message: str) -> str:
        return f"exercise {self.id!r}: {message}"


def page_of(chapter: str) -> str:
    """The page of a chapter, from docs/."""
    return f"{CHAPTERS}/{chapter}.md"


@dataclass(frozen=True)
class Exercises:
    """All exercises, in the order of their files and in each as written."""

    all: tuple[Exercise, ...]

    def get(self, exercise_id: str) -> Exercise:
        """Raises FactError, which names the nearest ids."""
        by_id = {exercise.id: exercise for exercise in self.all}
        if exercise_id not in by_id:
            unknown_name("exercise", exercise_id, list(by_id) or ["none"])
        return by_id[exercise_id]

    def of_page(self, page: str) -> tuple[Exercise, ...]:
        """Those that a page under docs/ has to show."""
        return tuple(exercise for exercise in self.all if exercise.page == page)

    @property
    def chapters(self) -> dict[str, tuple[Exercise, ...]]:
        """By chapter."""
        return {name: self.of_page(page_of(name)) for name in dict.fromkeys(e.chapter for e in self.all)}


# Reading


def load(folder: Path, docs: Path) -> Exercises:
    """Read every TOML file of a folder. Raises EntryError with file and line of what is wrong."""
    found: dict[str, Exercise] = {}
    for path in sorted(folder.glob("*.toml")):
        if not (docs / page_of(path.stem)).is_file():
            message = f"there is no chapter {docs / page_of(path.stem)} to show these exercises"
            raise EntryError(path, 1, message, hint="give the file the name of its chapter's page")
        for entry in read_entries(path, TABLE):
            exercise = _exercise(entry)
            if exercise.id in found:
                exercise.refuse(f"its id is also in {found[exercise.id].place}", "give each exercise an id of its own")
            found[exercise.id] = exercise
    return Exercises(tuple(found.values()))


def _exercise(entry: Entry) -> Exercise:
    try:
        written = msgspec.convert(entry.values, type=Written)
    except msgspec.ValidationError as error:
        name = f"exercise {entry.values['id']!r}: " if "id" in entry.values else ""
        hint = f"the keys are {', '.join(Written.__struct_fields__)}; the kinds {', '.join(get_args(Kind))}"
        raise EntryError(entry.file, _broken_line(entry, str(error)), f"{name}{error}", hint=hint) from error
    lines = entry.inner.get("option", ()) if written.option else entry.inner.get("item", ())
    parts = len(written.option or written.item)
    exercise = Exercise(
        **{name: getattr(written, name) for name in written.__struct_fields__},
        file=entry.file,
        line=entry.line,
        part_lines=lines if len(lines) == parts else (entry.line,) * parts,
    )
    _check(exercise, frozenset(entry.values))
    return exercise


def _broken_line(entry: Entry, message: str) -> int:
    """The line of the option or item that the message is about; else that of the entry."""
    match = BROKEN_PART.search(message)
    lines = entry.inner.get(match[1], ()) if match else ()
    return lines[int(match[2])] if match and int(match[2]) < len(lines) else entry.line


def _check(exercise: Exercise, given: frozenset[str]) -> None:
    """Raises EntryError for what is wrong in an entry by itself."""
    if not ID.fullmatch(exercise.id):
        exercise.refuse("its id has other characters than letters, digits and single dashes", "write it like eager-mlp")
    for key in TEXTS:
        if not getattr(exercise, key).strip():
            exercise.refuse(f"{key!r} is empty", f'write {key} = "…"')
    _check_keys(exercise, given)
    if exercise.kind == "number" and not exercise.within > 1:
        exercise.refuse(f"within is {exercise.within}, and a factor is above 1", "write within = 1.5")
    if exercise.shows and not SHOWS.fullmatch(exercise.shows):
        exercise.refuse(f"{exercise.shows!r} is no block", 'write shows = "kernels | mlp_eager"')
    fewest = FEWEST.get(exercise.kind, 0)
    if len(exercise.parts) < fewest:
        message = f"it has {len(exercise.parts)} [[exercise.{NEEDED[exercise.kind][0]}]], fewer than {fewest}"
        exercise.refuse(message, "write the others")
    for position, part in enumerate(exercise.parts):
        _check_part(exercise, position, part)
    if exercise.answer:
        _check_expression(exercise, exercise.answer, None)


def _check_keys(exercise: Exercise, given: frozenset[str]) -> None:
    needed, possible = NEEDED[exercise.kind], POSSIBLE[exercise.kind]
    missing = [key for key in needed if not getattr(exercise, key)]
    if missing:
        exercise.refuse(f"a {exercise.kind} needs {missing[0]!r}", f"it has {', '.join((*needed, *possible))}")
    foreign = [key for key in BY_KIND if key in given and key not in (*needed, *possible)]
    if foreign:
        exercise.refuse(f"a {exercise.kind} has no {foreign[0]!r}", f"it has {', '.join((*needed, *possible))}")


def _check_part(exercise: Exercise, position: int, part: Option | Item) -> None:
    for key in part.__struct_fields__:
        if not getattr(part, key).strip():
            exercise.refuse(f"{key!r} is empty", f'write {key} = "…"', position)
    _check_expression(exercise, part.when if isinstance(part, Option) else part.at, position)


def _check_expression(exercise: Exercise, written: str, part: int | None) -> None:
    try:
        paths = expressions.paths(written)
    except BuildTracesError as error:
        raise exercise.refusal(error, part) from error
    if not paths:
        exercise.refuse(f"there is no fact in {written!r}", expressions.IN_BRACES, part)
