"""Compare a site as two builders made it, so that no page hangs on one of them; for who keeps the second one working.

What a reader would be told otherwise by the second builder is wrong: a page that is not there, something that was not
rendered, another fact, verdict or text. Links are only listed where they lead elsewhere. Pages of labs are made by a
plugin of the first builder, and are expected to be missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from urllib.parse import urljoin
from xml.etree.ElementTree import Element

from build_traces.check import check_site
from build_traces.html_tree import every, first, parse, text

LAB = "lab"
"""The class of what stands around a notebook."""
FEW = 3
"""This many differences of one kind are told of a page."""

Items = list[tuple[str, ...]]


@dataclass(frozen=True, order=True)
class Difference:
    """What the second build of a page has otherwise; one that is not wrong is worth knowing."""

    page: str
    what: str
    wrong: bool = True

    def __str__(self) -> str:
        return f"{self.page}: {self.what}"


@dataclass(frozen=True)
class Compared:
    """How much was compared, and what differs."""

    pages: int
    facts: int
    verdicts: int
    differences: list[Difference]

    @property
    def wrong(self) -> list[Difference]:
        return [difference for difference in self.differences if difference.wrong]

    @property
    def listed(self) -> list[Difference]:
        """What differs and is not wrong."""
        return [difference for difference in self.differences if not difference.wrong]


def compare(site: Path, other: Path) -> Compared:
    """All pages of a site against another build of it."""
    pages = {build: _articles(build) for build in (site, other)}
    labs = {page for page, article in pages[site].items() if first(article, "div", class_=LAB) is not None}
    both = sorted(pages[site].keys() & pages[other].keys())
    found = [Difference(str(site), "there is no page")] if not pages[site] else []
    found += [
        Difference(problem.file.relative_to(build).as_posix(), f"in {build}: {problem.message}")
        for build in (site, other)
        for problem in check_site(build)
        if problem.file != build
    ]
    found += [
        Difference(page, "not there: a lab, made by mkdocs-jupyter", wrong=False)
        if page in labs
        else Difference(page, f"not in {other}")
        for page in pages[site].keys() - pages[other].keys()
    ]
    found += [Difference(page, f"only in {other}") for page in pages[other].keys() - pages[site].keys()]
    for page in both:
        found += _differences(page, pages[site][page], pages[other][page])
    return Compared(
        pages=len(both),
        facts=sum(len(_facts("", pages[site][page])) for page in both),
        verdicts=sum(len(_verdicts("", pages[site][page])) for page in both),
        differences=sorted(found),
    )


def _articles(build: Path) -> dict[str, Element]:
    """The content of each page by its path; a page without one has none."""
    return {
        path.relative_to(build).as_posix(): _article(parse(path.read_text(encoding="utf-8")))
        for path in sorted(build.rglob("*.html"))
    }


def _article(page: Element) -> Element:
    found = first(page, "article")
    return Element("article") if found is None else found


# What a reader finds on a page


def _facts(_: str, article: Element) -> Items:
    """Path or expression, value and text of each."""
    return [
        (fact.get("data-fact", "") or fact.get("data-expression", ""), fact.get("value", ""), text(fact))
        for fact in every(article, "data")
    ]


def _verdicts(_: str, article: Element) -> Items:
    """Each claim with its verdicts, on its own and as a row of the audit."""
    claims = [(element.get("data-claim", ""), element) for element in article.iter() if element.get("data-claim")]
    claims += [(row.get("id", ""), row) for row in every(article, "tr") if row.get("id")]
    told = [(name, *(text(word) for word in every(element, "strong", class_="verdict"))) for name, element in claims]
    return [claim for claim in told if len(claim) > 1]


def _words(_: str, article: Element) -> Items:
    return [(word,) for word in text(article).split()]


def _links(page: str, article: Element) -> Items:
    """Where the links lead, from the root of the site."""
    return [
        (urljoin(f"/{page}", link.get("href", "")).replace("/index.html", "/"),)
        for link in every(article, "a")
        if link.get("href")
    ]


LOOKED_AT: dict[str, tuple[Callable[[str, Element], Items], bool]] = {
    "fact": (_facts, True),
    "verdict": (_verdicts, True),
    "text": (_words, True),
    "link": (_links, False),
}
"""What is compared: how it is read from a page, and whether another one is wrong."""


def _differences(page: str, article: Element, other: Element) -> Iterator[Difference]:
    for kind, (read, wrong) in LOOKED_AT.items():
        pieces = list(_changed(read(page, article), read(page, other)))
        for was, now in pieces[:FEW]:
            yield Difference(page, f"{kind}: {_told(was)} became {_told(now)}", wrong)
        if len(pieces) > FEW:
            yield Difference(page, f"{kind}: {len(pieces) - FEW} more", wrong)


def _changed(items: Items, others: Items) -> Iterator[tuple[Items, Items]]:
    if items != others:
        for tag, begin, end, other_begin, other_end in SequenceMatcher(None, items, others, False).get_opcodes():
            if tag != "equal":
                yield items[begin:end], others[other_begin:other_end]


def _told(items: Items) -> str:
    """The first of these, on one line."""
    told = ", ".join(" ".join(filter(None, item)) for item in items[:FEW])
    return f"{told[:120]!r}{' …' if len(items) > FEW else ''}" if items else "nothing"
