"""Claims as pages need them: judged on every recording, and held against what a page says of them."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from build_traces import claims
from build_traces.claims import Claim, Claims, Judgement, Verdict, judge
from build_traces.errors import BuildTracesError, FactError
from build_traces.facts import Facts
from build_traces.markdown.conversion import Conversion, Options
from build_traces.markdown.source import folder_of, load_entries, open_facts
from build_traces.markdown.value import shown
from build_traces.recording import ENVIRONMENT_FILE


@dataclass(frozen=True)
class Judged:
    """A judgement, and the recording that gave it."""

    facts: Facts
    judgement: Judgement

    @property
    def label(self) -> str:
        """`NVIDIA H200, torch 2.11.0`."""
        environment = self.facts.recording.environment
        return f"{environment.gpu}, torch {environment.torch.partition('+')[0]}"


class ClaimBook:
    """The claims, and what the recordings say of them: the first one decides whether a page may be built."""

    def __init__(self, options: Options, folder: Path, first: str) -> None:
        self.options = options
        self.folder = folder
        self.first = first

    @property
    def claims(self) -> Claims:
        """Raises EntryError."""
        return load_entries(claims.load, self.folder, self.options.docs)

    def first_facts(self) -> Facts:
        """Raises RecordingError and LadderError."""
        return open_facts(folder_of(self.first, self.options.recordings), self.options.snippets)

    def on_first(self, claim: Claim) -> Judged:
        """Raises EntryError."""
        facts = self.first_facts()
        return Judged(facts, judge(claim, facts, strict=True))

    def on_each(self, claim: Claim) -> list[Judged]:
        """The first recording, then the others by name. Raises EntryError."""
        paths = sorted(self.options.recordings.glob(f"*/{ENVIRONMENT_FILE}"))
        others = [open_facts(path.parent, self.options.snippets) for path in paths if path.parent.name != self.first]
        return [self.on_first(claim), *(Judged(facts, judge(claim, facts, strict=False)) for facts in others)]

    def hold(self, claim: Claim, expected: Verdict, conversion: Conversion) -> None:
        """Raises FactError if the first recording's verdict is not the one that the page says."""
        judged = self.on_first(claim)
        judgement = judged.judgement
        if judgement.verdict is expected:
            return
        if judgement.verdict is Verdict.NOT_MEASURED and conversion.page.draft:
            conversion.unrecorded |= {judgement.missing} - {""}
            return
        found = ", ".join(f"{fact.path} = {shown(fact.value)} {fact.unit}".rstrip() for fact in judgement.facts)
        because = f": {found}" if found else f": {judgement.reason}"
        raise FactError(
            f"claim {claim.id!r} ({claim.place}) {_said(judgement.verdict)} on {judged.facts.recording.name}, "
            f"and this page says that it {_said(expected)}{because}",
            hint=HINTS[judgement.verdict],
        )


def _said(verdict: Verdict) -> str:
    return verdict.value if verdict in (Verdict.HOLDS, Verdict.FAILS) else f"is {verdict.value}"


HINTS = {
    Verdict.HOLDS: "change what the page says of it, or leave out expect: does not hold",
    Verdict.FAILS: "change what the page says of it, and then expect: does not hold; or correct the check",
    Verdict.NOT_MEASURED: "record the stage, or put draft: true into the front matter of the page",
    Verdict.UNDECIDED: "leave it out of the page, or write expect: not decided here",
}


class HoldClaims(Treeprocessor):
    """Ends the build of a page if a claim that names it is not as it expects, whether it is shown or not."""

    def __init__(self, md: Markdown, conversion: Conversion, book: ClaimBook) -> None:
        super().__init__(md)
        self.conversion = conversion
        self.book = book

    def run(self, root: Element) -> None:
        """Called by Python-Markdown. Raises EntryError, and PageError that tells all claims that fail."""
        if self.conversion.page.is_page:
            page = Path(self.conversion.page.label).relative_to(self.book.options.docs)
            claims = self.book.claims.of_page(page.as_posix())
            with self.conversion.at(0):
                self._hold(claims)

    def _hold(self, claims: tuple[Claim, ...]) -> None:
        errors: list[BuildTracesError] = []
        for claim in claims:
            try:
                self.book.hold(claim, Verdict(claim.expect), self.conversion)
            except BuildTracesError as error:
                errors.append(error)
        if errors:
            told = [f"{error.where}: {error.message}" if error.where else error.message for error in errors]
            raise FactError("\n  and ".join(told), hint="; ".join(dict.fromkeys(error.hint for error in errors)))
