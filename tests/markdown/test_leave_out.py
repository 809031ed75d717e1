"""Links to pages that a version is published without."""

from html_tree import only, parse, text


def left_out(repository, page: str, name: str = "page.md") -> str:
    repository.write_page("chapters/traps.md", "# Traps\n")
    repository.write_page(name, page)
    return repository.convert(page, left_out=["chapters/traps.md", "labs/a b.ipynb"])


def test_a_link_to_a_page_that_is_left_out_becomes_text_with_a_remark(repository) -> None:
    html = left_out(repository, "# A\n\nSee [the **traps**](chapters/traps.md#two), and [facts](facts.md).\n")
    left = only(parse(html), "left-out")
    assert (left.tag, text(left), left.get("href")) == ("span", "the traps (to come)", None)
    assert 'href="facts.md"' in html


def test_it_is_found_from_any_folder_and_under_a_quoted_name(repository) -> None:
    page = "# A\n\n[a](traps.md) [b](./../chapters/traps.md) [c](../labs/a%20b.ipynb)\n"
    html = left_out(repository, page, "chapters/other.md")
    assert html.count('class="left-out"') == 3


def test_other_links_stay(repository) -> None:
    page = "# A\n\n## Traps\n\n[a](#traps) [b](https://example.org/chapters/traps.md) [c](traps.md)\n"
    assert "left-out" not in left_out(repository, page)


def test_nothing_happens_where_nothing_is_left_out(repository) -> None:
    assert 'href="chapters/traps.md"' in repository.page("# A\n\n[a](chapters/traps.md)\n")


EXERCISE = """
[[exercise]]
id = "{0}"
kind = "count"
asks = "How many kernels in {0}?"
answer = "{{mlp_eager.kernel_count}}"
explain = "So many."
teaches = "To count."
"""


def test_the_page_of_all_predictions_asks_nothing_of_a_chapter_that_is_left_out(repository) -> None:
    (repository.root / "docs" / "exercises").mkdir()
    for chapter in ("one", "traps"):
        toml = repository.root / "docs" / "exercises" / f"{chapter}.toml"
        toml.write_text(EXERCISE.format(chapter), encoding="utf-8")
        repository.write_page(f"chapters/{chapter}.md", f"# Chapter {chapter}\n\n/// predict | {chapter}\n///\n")
    page = "# All\n\n/// predictions\n    chapters: one traps\n///\n"
    repository.write_page("page.md", page)
    html = repository.convert(page, left_out=["chapters/traps.md"])
    assert "How many kernels in one?" in html and "traps" not in html
    assert "How many kernels in traps?" in repository.convert(page)


def test_the_stamp_names_the_version(repository) -> None:
    page = "# A\n"
    repository.write_page("page.md", page)
    assert text(only(parse(repository.convert(page, version="1.2")), "stamp")).startswith("Version 1.2. Measured on")
    assert text(only(parse(repository.convert(page)), "stamp")).startswith("Measured on")
