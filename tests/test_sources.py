"""Every source of the guide is on its page of sources, and nothing else is."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from build_traces.kernel_names import FAMILIES, Family, Part, decode
from build_traces.kernel_names.pieces import Known
from build_traces.markdown.preflight import outside_code

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "reference" / "sources.md"
MAKERS = ("amd", "aten", "nvidia", "triton", "values")
URL = re.compile(r"https?://[^\s<>()\[\]\"'`{}]+(?:\([^\s()]*\)[^\s<>()\[\]\"'`{}]*)?")


def links(text: str) -> set[str]:
    """The addresses in a text, outside code, without the section they point to."""
    prose = "\n".join(line for _, line in outside_code(text.split("\n")))
    return {url.rstrip(".,;:").partition("#")[0] for url in URL.findall(prose)}


def sources_of(thing: object) -> Iterator[str]:
    """What the tables of kernel names give as sources."""
    if isinstance(thing, Known | Family | Part):
        if thing.source:
            yield thing.source
    elif isinstance(thing, dict):
        yield from sources_of(tuple(thing.values()))
    elif isinstance(thing, tuple | list):
        for inner in thing:
            yield from sources_of(inner)


def of_kernel_names() -> set[str]:
    tables = [vars(importlib.import_module(f"build_traces.kernel_names.{name}")) for name in MAKERS]
    examples = [decode(family.example).parts for family in FAMILIES.values()]
    return set(sources_of([*tables, *examples]))


def folder(url: str, listed: set[str]) -> str | None:
    """The folder on the page that a file of a repository is in."""
    in_tree = url.replace("/blob/", "/tree/")
    return next((each for each in listed if "/tree/" in each and f"{in_tree}/".startswith(f"{each}/")), None)


def test_links_are_found_outside_code_only() -> None:
    text = "[a](https://a.org/x_(y)#z), <https://b.org>, https://c.org.\n`https://d.org`\n```\nhttps://e.org\n```\n"
    assert links(text) == {"https://a.org/x_(y)", "https://b.org", "https://c.org"}


def test_every_link_of_a_page_or_claim_is_on_the_page_of_sources() -> None:
    listed = links(PAGE.read_text(encoding="utf-8"))
    files = [*DOCS.rglob("*.md"), *(DOCS / "claims").glob("*.toml")]
    missing = {
        f"{path.relative_to(ROOT)}: {url}"
        for path in files
        for url in links(path.read_text(encoding="utf-8")) - listed
        if folder(url, listed) is None or "chapters" in path.parts
    }
    assert missing == set(), "list it in docs/reference/sources.md, and say what the guide takes from it"


def test_every_source_of_a_kernel_name_is_there_or_its_folder_is() -> None:
    listed, used = links(PAGE.read_text(encoding="utf-8")), of_kernel_names()
    assert len(used) > 40
    assert {url for url in used if url not in listed and folder(url, listed) is None} == set()


def test_nothing_is_listed_that_no_page_uses() -> None:
    listed = links(PAGE.read_text(encoding="utf-8"))
    used = of_kernel_names()
    for path in [*DOCS.rglob("*.md"), *(DOCS / "claims").glob("*.toml")]:
        if path != PAGE:
            used |= links(path.read_text(encoding="utf-8"))
    folders = {folder(url, listed) for url in used}
    assert listed - used - folders == set()
