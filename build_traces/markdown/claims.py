"""`/// claims`: the audit, every claim of the article with its verdict on each recording."""

from collections import Counter
from xml.etree.ElementTree import Element

from build_traces.claims import Claim, Verdict
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.claim import anchor, how_checked, said, text_of, verdicts
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, table
from build_traces.markdown.judging import ClaimBook, Judged
from build_traces.stage_view import StageView

COLUMNS = ("Claim", "What was said", "Verdict and measurement", "Why", "Elsewhere")
REACHES = {
    "portable": "portable",
    "GPU generation": "bound to the GPU generation",
    "version": "bound to the version",
    "unknown": "not known",
}


class Audit(TraceBlock):
    """The claims of article.toml, in its order."""

    NAME = "claims"
    ARGUMENT = False

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A line that counts the verdicts, and a table, a claim a row."""
        book: ClaimBook = self.config["book"]
        judged = {claim.id: book.on_each(claim) for claim in book.claims.article}
        rows = [_row(conversion, book, claim, judged[claim.id]) for claim in book.claims.article]
        made = table("Claims, audited", COLUMNS, rows, class_="claims")
        _name_roles(made)
        return figure_of(self.NAME, None, _summary(list(judged.values())), made)


def _summary(judged: list[list[Judged]]) -> Element:
    """`On NVIDIA H200, torch 2.11.0: 20 hold, 10 do not hold, …`, a line a recording."""
    made = element("ul", class_="claims-summary")
    for of_recording in zip(*judged, strict=True):
        counts = Counter(one.judgement.verdict for one in of_recording)
        said = ", ".join(f"{counts[verdict]} {_plural(verdict, counts[verdict])}" for verdict in Verdict)
        append(made, element("li", f"Of {len(judged)} claims, on {of_recording[0].label}: {said}."))
    return made


def _plural(verdict: Verdict, count: int) -> str:
    many = {Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold"}
    return verdict.value if count == 1 else many.get(verdict, verdict.value)


def _row(conversion: Conversion, book: ClaimBook, claim: Claim, judged: list[Judged]) -> Element:
    facts = book.first_facts()
    name = element("th", element("a", claim.id, href=f"#{anchor(claim)}"), scope="row")
    cells = [
        element("td", said(claim, conversion, facts, "p"), element("p", element("small", f"By {claim.where}."))),
        element("td", verdicts(claim, conversion, judged)),
        element("td", text_of(claim, "why", conversion, facts, "p")) if claim.why else element("td", class_="none"),
        element("td", element("p", element("strong", REACHES[claim.scope]))),
    ]
    if claim.check:
        append(cells[0], how_checked(claim))
    if claim.scope_why:
        append(cells[3], text_of(claim, "scope_why", conversion, facts, "p"))
    for cell, column in zip(cells, COLUMNS[1:], strict=True):
        cell.set("data-column", column)
    return element("tr", name, *cells, id=anchor(claim))


def _name_roles(made: Element) -> None:
    """On a narrow screen rows become cards, and a browser forgets that they are a table."""
    roles = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}
    for part in made.iter():
        if part.tag in roles:
            part.set("role", roles[part.tag])
        elif part.tag == "th":
            part.set("role", "rowheader" if part.get("scope") == "row" else "columnheader")
