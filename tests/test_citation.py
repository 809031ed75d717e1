"""Who is cited, and under which terms, is said in several places: they agree."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ABOUT = (ROOT / "docs" / "about.md").read_text(encoding="utf-8")


def test_it_has_what_the_format_asks_for() -> None:
    assert CITATION["cff-version"] == "1.2.0"
    assert {"title", "message", "authors"} <= set(CITATION)


def test_the_title_is_the_sites() -> None:
    first = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()[0]
    assert yaml.safe_load(first) == {"site_name": CITATION["title"]}


@pytest.mark.parametrize("article", CITATION["references"], ids=lambda article: article["url"])
def test_the_page_names_the_articles_and_all_their_authors(article: dict[str, Any]) -> None:
    (entry,) = (piece for piece in ABOUT.split("\n- ") if article["url"] in piece)
    said = " ".join(entry.split())
    for author in article["authors"]:
        assert f"{author['given-names']} {author['family-names']}" in said


def test_the_licenses_are_those_of_the_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert CITATION["license"] == project["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "LICENSE-CC-BY-4.0").read_text(encoding="utf-8").startswith("Attribution 4.0 International")
    for file in ("LICENSE", "LICENSE-CC-BY-4.0", "CITATION.cff"):
        assert f"`{file}`" in ABOUT
