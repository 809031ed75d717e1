"""`/// claim | ID`: a sentence with its verdict and what was measured, on each recording.

With the option `expect: does not hold` where the text relies on that. On the first recording another verdict than
the expected one ends the build.
"""

import re
from typing import ClassVar
from xml.etree.ElementTree import Element

from build_traces.claims import Claim, Verdict
from build_traces.errors import BuildTracesError, FactError
from build_traces.expressions import one_line
from build_traces.facts import Fact, Facts
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, missing, wrapping
from build_traces.markdown.judging import ClaimBook, Judged
from build_traces.markdown.sentence import sentence
from build_traces.markdown.value import fact_element, given
from build_traces.stage_view import StageView

AUDIT_PAGE = "claims.md"
BRACED = re.compile(r"\{([^{}]*)\}")
WRAP_AFTER = re.compile(r"(?<=[.(])(?=\w)")
EXPECTED = (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)


class ClaimFigure(TraceBlock):
    """One claim; the argument is its id."""

    NAME = "claim"
    ARGUMENT = None  # checked here
    OF_STAGES = False
    OPTIONS: ClassVar[dict[str, list[object]]] = {"expect": [Verdict.HOLDS.value, str]}

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The sentence, the verdicts, and why."""
        book: ClaimBook = self.config["book"]
        if not self.argument:
            raise FactError("block 'claim' needs the id of a claim", hint="write /// claim | A4")
        claim = book.claims.get(self.argument)
        book.hold(claim, self._expected(), conversion)
        figure = figure_of(
            self.NAME,
            None,
            said(claim, conversion, book.first_facts(), "p"),
            verdicts(claim, conversion, book.on_each(claim)),
            caption=_caption(claim, conversion),
        )
        figure.set("data-claim", claim.id)
        if claim.why:
            append(figure, text_of(claim, "why", conversion, book.first_facts(), "p"))
        if claim.check:
            append(figure, how_checked(claim))
        return figure

    def _expected(self) -> Verdict:
        written = str(self.options["expect"])
        if written not in [verdict.value for verdict in EXPECTED]:
            hint = f"there are {', '.join(verdict.value for verdict in EXPECTED)}"
            raise FactError(f"a claim cannot be expected to be {written!r}", hint=hint)
        return Verdict(written)


def _caption(claim: Claim, conversion: Conversion) -> tuple[Element | str, ...]:
    if not claim.where:
        return ("Claim",)
    page = conversion.options.docs / AUDIT_PAGE
    if not page.is_file():
        return (f"Claim {claim.id}, by {claim.where}",)
    link = conversion.link(page, f"Claim {claim.id}")
    if link.tag == "a":
        link.set("href", f"{link.get('href')}#{anchor(claim)}")
    return (link, f", by {claim.where}")


# What the audit shows too


def anchor(claim: Claim) -> str:
    """The id of a claim's row in the audit."""
    return claim.id.lower()


def text_of(claim: Claim, key: str, conversion: Conversion, facts: Facts, tag: str) -> Element:
    """One of the claim's texts. Raises EntryError for what is wrong in it."""
    try:
        return sentence(tag, getattr(claim, key), conversion, facts, class_=f"claim-{key.replace('_', '-')}")
    except BuildTracesError as error:
        raise claim.refusal(error) from error


def said(claim: Claim, conversion: Conversion, facts: Facts, tag: str) -> Element:
    """The sentence that is claimed."""
    return text_of(claim, "says", conversion, facts, tag)


def verdicts(claim: Claim, conversion: Conversion, judged: list[Judged]) -> Element:
    """A list with an entry a recording: the verdict as a word, and what was measured there."""
    made = element("ul", class_="verdicts", **given(data_check=one_line(claim.check)))
    if not claim.check:  # nothing that a recording could change
        verdict, why = judged[0].judgement.verdict, text_of(claim, claim.decided_by, conversion, judged[0].facts, "p")
        append(made, element("li", badge(verdict), " ", why))
    for position, one in enumerate(judged):
        on = element("span", f"on {one.label}", class_="on")
        measured = _measured(claim, conversion, one, strict=position == 0)
        if claim.check:
            append(made, element("li", badge(one.judgement.verdict), " ", on, " ", *measured))
        elif measured:
            append(made, element("li", on, " ", *measured))
    return made


def badge(verdict: Verdict) -> Element:
    """The verdict: a word, which CSS gives an icon and a color."""
    return element("strong", verdict.value, class_=f"verdict verdict--{verdict.name.lower().replace('_', '-')}")


def _measured(claim: Claim, conversion: Conversion, judged: Judged, *, strict: bool) -> list[Element]:
    """A paragraph of what was measured, or of why nothing was; empty where there is nothing to say."""
    judgement = judged.judgement
    if claim.check and judgement.reason:
        return [element("p", judgement.reason)]
    if not claim.measured:
        return [_facts(judgement.facts)] if judgement.facts else []
    try:
        return [sentence("p", claim.measured, conversion, judged.facts)]
    except BuildTracesError as error:
        if strict:
            raise claim.refusal(error) from error
        return [element("p", missing(error.message), " ", error.message)]


def _facts(facts: tuple[Fact, ...]) -> Element:
    """`mlp_eager.kernel_count = 5`, of each fact in the check."""
    made = element("p")
    for position, fact in enumerate(facts):
        append(made, ", " if position else "")
        append(made, wrapping(fact.path))
        append(made, " = ")
        append(made, fact_element(fact))
        append(made, f" {fact.unit}" if fact.unit else "")
    return made


def how_checked(claim: Claim) -> Element:
    """The check, folded away: a line a condition, without the braces around its facts."""
    code = element("code")
    for position, condition in enumerate(_conditions(claim.check)):
        if position:
            append(code, element("br"))
            append(code, "and ")
        for number, piece in enumerate(WRAP_AFTER.split(BRACED.sub(r"\1", condition))):
            if number:
                append(code, element("wbr"))
            append(code, piece)
    return element("details", element("summary", "the check"), code)


def _conditions(check: str) -> list[str]:
    """What `and` joins in a check, parentheses left whole."""
    found = [""]
    for part in one_line(check).split(" and "):
        whole = found[-1].count("(") == found[-1].count(")")
        found[-1:] = [found[-1], part] if whole and found[-1] else [f"{found[-1]} and {part}" if found[-1] else part]
    return found
