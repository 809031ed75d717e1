"""Claims: sentences with a check over facts, read from docs/claims/*.toml and judged on a recording.

An entry is `[[claim]]` with the keys of `Written`. The article's claims are in article.toml, those of a chapter
in a file of its name.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal, get_args

import msgspec

from build_traces import expressions
from build_traces.entries import ID, Entry, check_names, read_entries
from build_traces.errors import BuildTracesError, EntryError, NotRecordedError, unknown_name
from build_traces.facts import Fact, Facts

ARTICLE_FILE = "article.toml"
TABLE = "claim"
DECIDED_BY = ("check", "undecided", "pending")

Expected = Literal["holds", "does not hold"]
Scope = Literal["portable", "GPU generation", "version", "unknown"]


class Verdict(Enum):
    """What a recording says of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_MEASURED = "not yet measured"
    UNDECIDED = "not decided here"


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry as its author wrote it: who says what, what decides it, and how far it reaches.

    One of `check`, `undecided` (what could decide it) and `pending` (what is not recorded yet) is there.
    With a `page` under docs/, every build of that page ends unless the claim does what is expected.
    """

    id: str
    says: str
    where: str = ""
    check: str = ""
    undecided: str = ""
    pending: str = ""
    measured: str = ""
    why: str = ""
    scope: Scope = "unknown"
    scope_why: str = ""
    page: str = ""
    expect: Expected = "holds"


class Claim(Written, frozen=True, kw_only=True):
    """An entry, and where it stands."""

    file: Path
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def decided_by(self) -> str:
        """`check`, `undecided` or `pending`."""
        return next(key for key in DECIDED_BY if getattr(self, key))

    def refusal(self, error: BuildTracesError) -> EntryError:
        """What is wrong with a part of this claim, told with its place."""
        at = f"{error.where}: " if error.where else ""
        return EntryError(self.file, self.line, f"claim {self.id!r}: {at}{error.message}", hint=error.hint)


@dataclass(frozen=True)
class Claims:
    """All claims, in the order of their files and in each as written."""

    all: tuple[Claim, ...]

    def get(self, claim_id: str) -> Claim:
        """Raises FactError, which names the nearest ids."""
        by_id = {claim.id: claim for claim in self.all}
        if claim_id not in by_id:
            unknown_name("claim", claim_id, list(by_id) or ["none"])
        return by_id[claim_id]

    @property
    def article(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.all if claim.file.name == ARTICLE_FILE)

    def of_page(self, page: str) -> tuple[Claim, ...]:
        """Those that a page under docs/ stands on."""
        return tuple(claim for claim in self.all if claim.page == page)


@dataclass(frozen=True)
class Judgement:
    """The verdict of one recording; `reason` where there is no measurement, `missing` a stage it lacks."""

    verdict: Verdict
    facts: tuple[Fact, ...] = ()
    reason: str = ""
    missing: str = ""


def judge(claim: Claim, facts: Facts, *, strict: bool) -> Judgement:
    """The verdict of the recording that these are the facts of.

    Raises EntryError for a check that names no facts, and if `strict` also for one that this recording cannot
    answer, such as of a kernel it does not have; else such a claim is not measured there.
    """
    if claim.undecided:
        return Judgement(Verdict.UNDECIDED, reason=claim.undecided)
    if claim.pending:
        return Judgement(Verdict.NOT_MEASURED, reason=claim.pending)
    try:
        check_names(expressions.paths(claim.check), facts.ladder)
    except BuildTracesError as error:
        raise claim.refusal(error) from error
    try:
        result = expressions.check(claim.check, facts)
    except NotRecordedError as error:
        return Judgement(Verdict.NOT_MEASURED, reason=f"Stage {error.stage} is not recorded yet.", missing=error.stage)
    except BuildTracesError as error:
        if strict:
            raise claim.refusal(error) from error
        return Judgement(Verdict.NOT_MEASURED, reason=str(error).partition("\n")[0])
    return Judgement(Verdict.HOLDS if result.value else Verdict.FAILS, result.facts)


# Reading


def load(folder: Path, docs: Path) -> Claims:
    """Read every TOML file of a folder. Raises EntryError with file and line of the entry that is wrong."""
    found: dict[str, Claim] = {}
    for path in sorted(folder.glob("*.toml")):
        for claim in map(_claim, read_entries(path, TABLE)):
            _check_entry(claim, docs)
            if claim.id in found:
                message = f"claim {claim.id!r} is also in {found[claim.id].place}"
                raise EntryError(path, claim.line, message, hint="give each claim an id of its own")
            found[claim.id] = claim
    return Claims(tuple(found.values()))


def _claim(entry: Entry) -> Claim:
    try:
        written = msgspec.convert(entry.values, type=Written)
    except msgspec.ValidationError as error:
        name = f"claim {entry.values['id']!r}: " if "id" in entry.values else ""
        hint = f"the keys are {', '.join(Written.__struct_fields__)}; the scopes {', '.join(get_args(Scope))}"
        raise EntryError(entry.file, entry.line, f"{name}{error}", hint=hint) from error
    return Claim(**msgspec.structs.asdict(written), file=entry.file, line=entry.line)


def _check_entry(claim: Claim, docs: Path) -> None:
    """Raises EntryError for what is wrong in an entry by itself."""

    def refuse(message: str, hint: str) -> None:
        raise EntryError(claim.file, claim.line, f"claim {claim.id!r}: {message}", hint=hint)

    if not ID.fullmatch(claim.id):
        refuse("its id has other characters than letters, digits and single dashes", "write it like bias-in-epilogue")
    if not claim.says.strip():
        refuse("it says nothing", 'write says = "…", a sentence')
    given = [key for key in DECIDED_BY if getattr(claim, key).strip()]
    if len(given) != 1:
        what = f"it has {' and '.join(given)}" if given else "nothing decides it"
        refuse(what, f"give it one of {', '.join(DECIDED_BY)}")
    if claim.scope != "unknown" and not claim.scope_why.strip():
        refuse(f"its scope is {claim.scope!r}, and nothing says why", 'write scope_why = "…", or scope = "unknown"')
    if claim.page and not (docs / claim.page).is_file():
        refuse(f"there is no page {docs / claim.page}", 'write it relative to docs, as in page = "chapters/x.md"')
    if claim.page and claim.undecided:
        refuse("a page stands on it, and nothing here decides it", "leave out page")
    if claim.expect != "holds" and not claim.check:
        refuse("it expects a verdict and has no check", "leave out expect")
    if claim.check:
        try:
            paths = expressions.paths(claim.check)
        except BuildTracesError as error:
            raise claim.refusal(error) from error
        if not paths:
            refuse("there is no fact in its check", expressions.IN_BRACES)
