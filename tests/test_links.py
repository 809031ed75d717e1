"""Links that lead nowhere are found, and told with file and line."""

from pathlib import Path

import pytest

from build_traces.links import broken


def write(site: Path, name: str, html: str) -> None:
    (site / name).parent.mkdir(parents=True, exist_ok=True)
    (site / name).write_text(html, encoding="utf-8")


@pytest.mark.parametrize(
    "html",
    [
        '<a href="one/">a folder</a>',
        '<a href="./one/index.html#part">an anchor</a>',
        '<a href="#here" id="here">this page</a>',
        '<a href="">this page</a>',
        '<a href="https://example.org/nowhere">another host</a>',
        '<a href="mailto:a@b.c">no page</a>',
        '<a href="a%20b.txt">quoted</a>',
        '<a href="a b.txt#any">no HTML, no anchors</a>',
        '<link rel="canonical" href="/elsewhere/">',
        '<link rel="alternate plain" href="index.html.md">',
        '<code>&lt;a href="nowhere/"&gt;</code>',
    ],
)
def test_a_link_that_leads_somewhere_is_fine(tmp_path: Path, html: str) -> None:
    write(tmp_path, "index.html", html)
    write(tmp_path, "one/index.html", '<h2 id="part">Part</h2>')
    write(tmp_path, "a b.txt", "")
    assert broken(tmp_path) == []


@pytest.mark.parametrize(
    ("html", "why"),
    [
        ('<a href="two/">', "two/: there is no such file"),
        ('<a href="one/#prat">', "one/#prat: no element there has this id"),
        ('<a href="#there">', "#there: no element there has this id"),
        ('<img src="picture.png">', "picture.png: there is no such file"),
        ('<script src="../assets/a.js"></script>', "../assets/a.js: there is no such file"),
        ('<link rel="stylesheet" href="a.css">', "a.css: there is no such file"),
    ],
)
def test_a_broken_link_is_told_with_its_line(tmp_path: Path, html: str, why: str) -> None:
    write(tmp_path, "index.html", f"<h1>A</h1>\n<p>\n{html}")
    write(tmp_path, "one/index.html", '<h2 id="part">Part</h2>')
    assert [str(problem) for problem in broken(tmp_path)] == [f"{tmp_path / 'index.html'}:3: {why}"]


def test_the_page_for_wrong_addresses_is_not_judged(tmp_path: Path) -> None:
    write(tmp_path, "404.html", '<a href="/project/">')
    assert broken(tmp_path) == []
