"""Search a built site for links that lead nowhere: to a file that is not there, to an anchor that no element has."""

from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "src"}
NO_FILE = {"alternate", "canonical"}
"""What a `<link>` names for machines: other addresses of the page, and files that are made later."""
ELSEWHERE = {"404.html"}
"""Served at any address, so that no relative link in it can be right."""


@dataclass(frozen=True, order=True)
class BrokenLink:
    """A link, and why it leads nowhere."""

    file: Path
    line: int
    href: str
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.href}: {self.why}"


def broken(site: Path) -> list[BrokenLink]:
    """All broken links inside the site, by page and line; links to other hosts are not followed."""
    pages = {page: _read(page) for page in sorted(site.resolve().rglob("*.html"))}
    problems = []
    for page, reader in pages.items():
        for line, href in reader.links if page.name not in ELSEWHERE else ():
            if why := _why_broken(page, href, pages):
                problems.append(BrokenLink(site / page.relative_to(site.resolve()), line, href, why))
    return sorted(problems)


def _why_broken(page: Path, href: str, pages: "dict[Path, _Reader]") -> str:
    parts = urlsplit(href)
    if parts.scheme or parts.netloc:
        return ""
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "there is no such file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "no element there has this id"
    return ""


def _read(page: Path) -> "_Reader":
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    reader.close()
    return reader


class _Reader(HTMLParser):
    """Gathers a page's links with their lines, and its ids."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[int, str]] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by HTMLParser."""
        known = dict(attrs)
        if known.get("id"):
            self.ids.add(str(known["id"]))
        href = known.get(LINKS.get(tag, ""))
        if href and not (tag == "link" and NO_FILE & set((known.get("rel") or "").split())):
            self.links.append((self.getpos()[0], href))
