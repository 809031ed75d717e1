"""Tables written in Markdown: in a region of their own, named after their heading, and not the tables of blocks."""

from html_tree import only, parse, text, with_class

TABLE = "| a | b |\n|---|---:|\n| 1 | [2](q.md) |\n"
BLOCK = "/// ladder | mlp_eager\n///\n"


def test_a_table_stands_in_a_region_that_scrolls(repository) -> None:
    root = parse(repository.page(f"# Title\n\n## What it *costs*\n\nBefore.\n\n{TABLE}\nAfter.\n"))
    region = only(root, "trace-scroll")
    assert region.get("class") == "trace-block trace-scroll"
    assert [region.get(name) for name in ("role", "tabindex", "aria-label")] == ["region", "0", "What it costs, table"]
    (table,) = region
    assert (table.tag, table.get("class")) == ("table", "prose")
    assert [text(cell) for cell in table.iter("th")] == ["a", "b"]
    assert [text(cell) for cell in table.iter("td")] == ["1", "2"]
    assert [part.tag for part in root[2:5]] == ["p", "div", "p"]


def test_a_table_in_a_list_stays_in_its_item(repository) -> None:
    indented = TABLE.replace("|", "    |", 1).replace("\n|", "\n    |")
    root = parse(repository.page(f"# Title\n\n-   Item.\n\n{indented}\nAfter.\n"))
    (item,) = root.iter("li")
    assert [part.tag for part in item] == ["p", "div"]
    assert len(with_class(root, "prose")) == 1


def test_a_heading_may_hold_facts_and_signs(repository) -> None:
    root = parse(repository.page(f"# Title\n\n## {{{{ mlp_eager.kernel_count }}}} kernels & `a<b>`\n\n{TABLE}"))
    assert only(root, "trace-scroll").get("aria-label") == "5 kernels & a<b>, table"


def test_a_page_without_a_heading_still_names_the_region(repository) -> None:
    assert only(parse(repository.page(TABLE)), "trace-scroll").get("aria-label") == "Table"


def test_the_table_of_a_block_keeps_its_region(repository) -> None:
    root = parse(repository.page(f"# Title\n\n{BLOCK}", "stages/index.md"))
    assert only(root, "trace-scroll").get("aria-label") == "The ladder"
    assert with_class(root, "prose") == []
