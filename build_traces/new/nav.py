"""Add a page to the navigation in mkdocs.yml, a line of text, so that its comments and order stay as they are."""

import re
from pathlib import Path

from build_traces.new import NewError

MKDOCS = Path("mkdocs.yml")
PAGE = re.compile(r"^(?P<indent> *)- (?:[^:#\n]+: )?(?P<page>[^\s:]+\.(?:md|ipynb))(?: +#.*)?$")
IGNORED = re.compile(r"^ *(?:#.*)?$")


def listed(text: str, folder: str) -> list[str]:
    """The pages of a folder under docs/ that the navigation lists, in its order."""
    return [match["page"] for match in _pages(text).values() if match["page"].startswith(f"{folder}/")]


def add_to_section(text: str, member: str, page: str) -> str:
    """The text of mkdocs.yml with a page as the last of the section in which another one stands. Raises NewError."""
    pages, lines = _pages(text), text.splitlines()
    last = next((index for index, match in pages.items() if match["page"] == member), None)
    if last is None:
        raise NewError(f"the navigation has no {member}", where=str(MKDOCS), hint=f"add the line - {member} to its nav")
    indent = pages[last]["indent"]
    for index in range(last + 1, len(lines)):
        if index in pages and pages[index]["indent"] == indent:
            last = index
        elif not IGNORED.match(lines[index]):
            break
    return "\n".join([*lines[: last + 1], f"{indent}- {page}", *lines[last + 1 :], ""])


def _pages(text: str) -> dict[int, re.Match[str]]:
    """By the index of their lines, the pages below `nav:`."""
    lines = text.splitlines()
    start = lines.index("nav:") if "nav:" in lines else len(lines)
    found: dict[int, re.Match[str]] = {}
    for index in range(start + 1, len(lines)):
        if re.match(r"[^\s#]", lines[index]):
            break
        if match := PAGE.match(lines[index]):
            found[index] = match
    return found
