"""Search a built site for what was not rendered, which builds leave as text and exit 0, and for what it would fetch."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

CODE = {"code", "pre", "script", "style", "svg"}
INLINE = {"a", "abbr", "b", "data", "em", "i", "small", "span", "strong", "sub", "sup", "wbr"}
FETCHED = {"data", "poster", "src", "srcset"}
"""Attributes whose address a browser fetches by itself; of a `<link>`, `href`, but for FETCHED_NOT."""
FETCHED_NOT = {"alternate", "author", "canonical", "license", "next", "prev"}
ELSEWHERE = re.compile(r"(?:^|[\s,])(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
STAMPED_NOT = {"404.html"}
LEFT_AS_TEXT = {
    re.compile(r"\{\{[^{}]*\w\.\w[^{}]*\}\}"): "a fact was not rendered",
    re.compile(r"\{\{[^{}]*(?:\{[^{}]*\w\.\w[^{}]*\}[^{}]*)+(?:\}\})?"): "an expression was not rendered",
    re.compile(r"\{\{(?![^{}]*\w\.\w)[^{}]*\d[^{}]*\}\}"): "a sum was not rendered",
    re.compile(r"^[ \t]*/{3,}.*$", re.MULTILINE): "a block was not rendered",
    re.compile(r"^.*-+8<-+.*$", re.MULTILINE): "a snippet was not embedded",
    re.compile(r"Traceback \(most recent call last\)"): "a Python traceback is on the page",
    re.compile(r"[\x02\x03]|klzzwxh|wzxhzdk"): "a placeholder of Markdown is on the page",
}


@dataclass(frozen=True, order=True)
class Problem:
    """Something on a built page that should not be there, or is not there."""

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def check_site(site: Path) -> list[Problem]:
    """All problems of the HTML pages under `site`, by file and line."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        return [Problem(site, 1, "there is no HTML page")]
    return sorted(problem for page in pages for problem in check_page(page))


def drafts(site: Path) -> list[Path]:
    """The pages that speak of stages which are not recorded yet; none of them may be deployed."""
    return [page for page in sorted(site.rglob("*.html")) if _read(page).draft]


def _read(page: Path) -> "_Reader":
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    reader.close()
    return reader


def check_page(page: Path) -> list[Problem]:
    """The problems of one HTML file."""
    reader = _read(page)
    problems = [Problem(page, line, message) for line, message in reader.problems]
    if not reader.stamped and page.name not in STAMPED_NOT:
        problems.append(Problem(page, 1, "the page has no stamp: is build_traces.markdown in markdown_extensions?"))
    text = reader.text
    for pattern, message in LEFT_AS_TEXT.items():
        problems += [
            Problem(page, reader.line_at(match.start()), f"{message}: {' '.join(match[0].split())!r}")
            for match in pattern.finditer(text)
        ]
    return problems


class _Reader(HTMLParser):
    """Gathers the text outside code, with its lines, and what elements lack."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[tuple[int, str]] = []
        self.stamped = False
        self.draft = False
        self._open_code: list[str] = []
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._lines: list[int] = []
        self._length = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def line_at(self, offset: int) -> int:
        """The line of the HTML file on which the text at this offset stands."""
        piece = bisect_right(self._starts, offset) - 1
        return self._lines[piece] + self._pieces[piece].count("\n", 0, offset - self._starts[piece])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by HTMLParser."""
        classes = (dict(attrs).get("class") or "").split()
        if tag == "data" and {"fact", "computed"} & set(classes) and not dict(attrs).get("value"):
            written = dict(attrs).get("data-fact") or dict(attrs).get("data-expression")
            self.problems.append((self.getpos()[0], f"a fact has no value: {written}"))
        for address in _fetched(tag, dict(attrs)):
            self.problems.append((self.getpos()[0], f"the page fetches from elsewhere: {address}"))
        if tag == "aside":
            self.stamped |= "stamp" in classes
            self.draft |= "draft" in classes
        if tag in CODE:
            self._open_code.append(tag)
        elif tag not in INLINE:
            self._add("\n")

    def handle_endtag(self, tag: str) -> None:
        """Called by HTMLParser."""
        if tag in self._open_code:
            while self._open_code.pop() != tag:
                pass
        elif tag not in INLINE:
            self._add("\n")

    def handle_data(self, data: str) -> None:
        """Called by HTMLParser."""
        if not self._open_code:
            self._add(data)

    def _add(self, text: str) -> None:
        self._starts.append(self._length)
        self._lines.append(self.getpos()[0])
        self._pieces.append(text)
        self._length += len(text)


def _fetched(tag: str, attributes: dict[str, str | None]) -> list[str]:
    """The addresses on other hosts that a browser fetches for an element, without being asked."""
    names = set(FETCHED)
    if tag == "link" and not FETCHED_NOT & set((attributes.get("rel") or "").split()):
        names.add("href")
    given = [attributes.get(name) or "" for name in sorted(names)]
    return [value for value in given if ELSEWHERE.search(value) and not value.startswith("data:")]
