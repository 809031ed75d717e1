"""Where a page is: its file, its lines and the links from it, found by its text.

A Markdown extension is given a text and told neither file nor URL. For everything that
says file:line to an author or links to a file under docs/.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pymdownx.superfences import SuperFencesException

from build_traces.errors import PageError

NO_PAGE = "<Markdown that is no page>"
FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)

DRAFT = re.compile(r"^draft:[ \t]*true[ \t]*$", re.MULTILINE)


class FencedPageError(PageError, SuperFencesException):
    """A PageError that also ends the build where a fence's formatter converts Markdown.

    superfences swallows every other exception and shows the fence as plain code.
    """


@dataclass(frozen=True)
class Page:
    """A text being converted: a page, or something inside one, such as the output of a fence.

    `first_line` is the line of the file that `lines[0]` stands on; `folder` is None for a text
    that is no page. A page is a `draft` if its front matter says so: it may speak of stages that
    are not recorded yet.
    """

    label: str
    lines: tuple[str, ...]
    first_line: int
    folder: Path | None
    draft: bool = False

    @property
    def is_page(self) -> bool:
        """Whether this is a file under docs/."""
        return self.folder is not None

    def refusal(self, index: int, message: str, hint: str = "") -> FencedPageError:
        """An error at `lines[index]`."""
        return FencedPageError(self.label, self.first_line + index, message, hint=hint)

    def href(self, target: Path) -> str | None:
        """A link to a file, relative to this page's source; None from a text that is no page.

        Nothing rewrites links in such a text, so that a link would point to the wrong place.
        """
        if self.folder is None:
            return None
        return quote(Path(os.path.relpath(target.resolve(), self.folder)).as_posix())


@dataclass(frozen=True)
class _File:
    path: Path
    fingerprint: tuple[int, int]
    first_line: int
    draft: bool


_pages: dict[Path, dict[str, list[_File]]] = {}


def find_page(source: str, docs: Path) -> Page:
    """The page with this text under `docs`. Raises PageError if pages in two folders have it."""
    lines = tuple(source.split("\n"))
    key = source.replace("\r\n", "\n").strip()
    files = _lookup(key, docs.resolve())
    if not files:
        return Page(NO_PAGE, lines, 1, None)
    first = files[0]
    label = (docs / first.path.relative_to(docs.resolve())).as_posix()
    if len({file.path.parent for file in files}) > 1:
        others = ", ".join(str(file.path.relative_to(docs.resolve())) for file in files[1:])
        message = f"the same text is also in {others}: links cannot tell the pages apart"
        raise FencedPageError(label, 1, message, hint="give each page a text of its own")
    blank = len(source) - len(source.lstrip())
    return Page(label, lines, first.first_line - source[:blank].count("\n"), first.path.parent, first.draft)


def _lookup(key: str, docs: Path) -> list[_File]:
    """Pages by text; docs is read anew when a text is unknown or the file found has changed."""
    files = _pages.get(docs, {}).get(key, [])
    if files and all(_fingerprint(file.path) == file.fingerprint for file in files):
        return files
    _pages[docs] = _read(docs)
    return _pages[docs].get(key, [])


def _read(docs: Path) -> dict[str, list[_File]]:
    known = {file.path: (text, file) for text, files in _pages.get(docs, {}).items() for file in files}
    pages: dict[str, list[_File]] = {}
    for path in sorted(docs.rglob("*.md")):
        fingerprint = _fingerprint(path)
        if path in known and known[path][1].fingerprint == fingerprint:
            text, file = known[path]
        else:
            text, first_line, draft = _body(path.read_text(encoding="utf-8-sig"))
            file = _File(path, fingerprint, first_line, draft)
        pages.setdefault(text, []).append(file)
    return pages


def _fingerprint(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (stat.st_mtime_ns, stat.st_size)


def _body(text: str) -> tuple[str, int, bool]:
    """The text behind the front matter, the line it begins on, and whether the front matter says `draft: true`."""
    match = FRONT_MATTER.match(text)
    body = text[match.end() :] if match else text
    start = len(text) - len(body.lstrip())
    return body.strip(), text.count("\n", 0, start) + 1, says_draft(text)


def says_draft(text: str) -> bool:
    """Whether a page's front matter says `draft: true`."""
    match = FRONT_MATTER.match(text)
    return bool(match and DRAFT.search(match[0]))
