"""Each rule finds what it is there for, with file and line, and leaves alone what only looks like it."""

from pathlib import Path

import pytest

from build_traces import prose_rules

ROOT = Path(__file__).parents[1]


def found(tmp_path: Path, text: str) -> list[str]:
    page = tmp_path / "docs" / "chapters" / "one.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return [f"{problem.where}: {problem.message}" for problem in prose_rules.check(tmp_path)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Read the the trace.", "the the"),
        ("Read the\nthe trace.", "the the"),
        ("It is fast!", "t!"),
        ("A highly-tuned kernel.", "highly-"),
        ("It utilizes the GPU.", "utilizes"),
        ("We leverage Inductor.", "leverage"),
        ("A seamless graph.", "seamless"),
        ("Simply compile it.", "Simply"),
        ("Let us dive into it.", "dive into"),
        ("A powerful tool.", "powerful"),
        ("Compile in order to fuse.", "in order to"),
        ("It is worth noting that it waits.", "It is worth noting that"),
        ("A performant kernel.", "performant"),
    ],
)
def test_a_rule_finds_its_words(tmp_path: Path, text: str, message: str) -> None:
    assert found(tmp_path, f"# One\n\n{text}\n") == [f"docs/chapters/one.md:3: {message}"]


@pytest.mark.parametrize(
    "text",
    [
        "`x` and `y` and `z` stand here.",
        "| bytes | bytes |\n|---|---|\n| 1 | 2 |",
        "A multiply-add is two operations.",
        "An image: ![a kernel](a.png)",
        "```python\nassert a != b  # simply\n```",
        "The read-only tensor, the powerfully built one.",
        "a != b",
    ],
)
def test_a_rule_leaves_the_rest_alone(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, f"# One\n\n{text}\n") == []


def test_claims_and_exercises_are_read_too(tmp_path: Path) -> None:
    for folder, table, key in (("claims", "claim", "says"), ("exercises", "exercise", "asks")):
        path = tmp_path / "docs" / folder / "one.toml"
        path.parent.mkdir(parents=True)
        path.write_text(f'[[{table}]]\nid = "a"\n{key} = "It is is so."\n', encoding="utf-8")
    where = [problem.where for problem in prose_rules.check(tmp_path)]
    assert where == ["docs/claims/one.toml:3", "docs/exercises/one.toml:1"]


def test_the_guide_keeps_its_own_rules() -> None:
    assert [str(problem) for problem in prose_rules.check(ROOT)] == []
