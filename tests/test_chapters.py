"""Every chapter keeps the promises that the guide makes of a chapter, read from its source."""

import re
import tomllib
from pathlib import Path

import pytest
from mkdocs.utils.yaml import yaml_load

from build_traces.markdown.page import says_draft
from build_traces.markdown.preflight import outside_code

DOCS = Path("docs")
CHAPTERS = sorted((DOCS / "chapters").glob("*.md"))
GLOSSARY = DOCS / "reference" / "glossary.md"
EXERCISES = sorted((DOCS / "exercises").glob("*.toml"))
MOST_WORDS = 1200
MOST_LETTERS_OF_A_LESSON = 110
BLOCK = re.compile(r"^/{3,} *(?P<name>[\w-]*)")
BOLD = r"(?:(?!\n\n|\*\*).)"
QUESTION = re.compile(rf"\*\*{BOLD}*\?{BOLD}*\*\*|^/{{3,}} *predict\b", re.DOTALL | re.MULTILINE)
FIGURES = {"kernels", "ops", "profile", "timeline", "generated", "distribution", "roofline", "measures", "sweep"}
TOLD = FIGURES - {"generated"} | {"claim"}
"""What answers a question; the code that was generated is read to find an answer."""


def order() -> list[str]:
    """The chapters as the navigation lists them."""
    with Path("mkdocs.yml").open(encoding="utf-8") as file:
        nav = yaml_load(file)["nav"]
    return next(entry["Chapters"] for entry in nav if "Chapters" in entry)


def is_draft(path: Path) -> bool:
    """Whether it is still being written: it may not be too long, but too short, and ask too little."""
    return says_draft(path.read_text(encoding="utf-8"))


def prose(path: Path) -> list[str]:
    """Lines outside fences, comments, front matter and the options of blocks."""
    text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line for _, line in outside_code(text.splitlines())]


def test_the_navigation_lists_every_chapter_once() -> None:
    """In the order of the numbers that the chapters themselves say in their last section, which is tested below."""
    assert sorted(order()) == [path.relative_to(DOCS).as_posix() for path in CHAPTERS]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_short_enough_to_be_read_in_one_sitting(path: Path) -> None:
    words = [
        word
        for line in prose(path)
        if not BLOCK.match(line) and not line.startswith("    ")
        for word in re.sub(r"\{\{.*?\}\}", "x", re.sub(r"\]\([^)]*\)", "]", line)).split()
        if re.search(r"\w", word)
    ]
    assert len(words) <= MOST_WORDS
    assert len(words) > 400 or is_draft(path)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_asks_before_it_answers(path: Path) -> None:
    """Four questions or more, in bold or as an exercise; where a section asks, it asks above what the profiler saw."""
    sections = "\n".join(prose(path)).split("\n## ")[1:]
    questions = [[match.start() for match in QUESTION.finditer(section)] for section in sections]
    assert sum(map(len, questions)) >= 4 or is_draft(path)
    for section, asked in zip(sections, questions, strict=True):
        figure = re.search(rf"^/{{3,}} *({'|'.join(TOLD)})\b", section, re.MULTILINE)
        assert not asked or figure is None or asked[0] < figure.start(), section[:60]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_ends_with_the_ladder_so_far_and_a_word_on_it(path: Path) -> None:
    number = order().index(path.relative_to(DOCS).as_posix()) + 1
    last = path.read_text(encoding="utf-8").rpartition("\n## ")[2]
    assert last.startswith("The ladder so far\n")
    assert f"/// ladder\n    chapter: {number}\n///\n" in last
    behind = last.partition("\n///\n")[2].strip()
    assert len(behind.split()) >= 8, "say one thing to see in the table"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_figure_is_followed_by_what_to_see_in_it(path: Path) -> None:
    """Not by a heading, and not by the end; a claim may stand between."""
    lines = [line for line in prose(path) if line.strip()]
    for at, line in enumerate(lines):
        block = BLOCK.match(line)
        if block and block["name"] in FIGURES:
            end = next(n for n in range(at + 1, len(lines)) if re.fullmatch(r"/{3,} *", lines[n]))
            assert end + 1 < len(lines), f"{line} ends the chapter"
            assert not lines[end + 1].startswith("#"), f"nothing is said behind {line}"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_fact_stands_in_a_code_span_where_it_would_stay_as_written(path: Path) -> None:
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"`[^`\n]*\{\{[^`\n]*`", text)


def entries_that_name(chapter: Path, glossary: str) -> set[str]:
    """The ids of the glossary's entries in which a link leads to the chapter."""
    _, *parts = re.split(r"^\S.*\{ *#([\w-]+) *\}$", glossary, flags=re.MULTILINE)
    names = re.compile(rf"\]\(\.\./chapters/{re.escape(chapter.name)}[)#]")
    return {name for name, entry in zip(parts[::2], parts[1::2], strict=True) if names.search(entry)}


def test_an_entry_of_the_glossary_names_the_chapters_that_it_links() -> None:
    glossary = """Of all [chapter 1](../chapters/one.md).

Grid { #grid }
:   Blocks. See
    [chapter 1](../chapters/one.md#grids).

L2 { #l2 }
:   A cache, as [the stages](../stages/index.md) and [chapter 2](../chapters/zone.md) have it.
"""
    assert entries_that_name(Path("one.md"), glossary) == {"grid"}
    assert entries_that_name(Path("zone.md"), glossary) == {"l2"}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_an_entry_of_the_glossary_that_names_a_chapter_is_linked_from_there(path: Path) -> None:
    linked = set(re.findall(r"\]\(\.\./reference/glossary\.md#([\w-]+)\)", "\n".join(prose(path))))
    missing = entries_that_name(path, GLOSSARY.read_text(encoding="utf-8")) - linked
    assert missing == set(), "link where the chapter first uses the word, as [grid](../reference/glossary.md#grid)"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_four_exercises_or_more(path: Path) -> None:
    assert sum(line.startswith("/// predict ") for line in prose(path)) >= 4 or is_draft(path)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_says_at_its_end_what_to_keep(path: Path) -> None:
    """Behind all questions, as it tells what they teach; only a lab and the ladder may follow."""
    if is_draft(path):
        return
    before, heading, after = path.read_text(encoding="utf-8").partition("\n## What to keep\n\n/// lessons\n///\n")
    assert heading
    assert "\n/// predict " in before
    assert "\n/// predict " not in after
    assert re.findall(r"^## (.*)$", after, re.MULTILINE) in (
        ["The ladder so far"],
        ["Do it yourself", "The ladder so far"],
    )


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_what_an_exercise_teaches_is_one_short_sentence(path: Path) -> None:
    """They are read as a list, without their questions."""
    for exercise in tomllib.loads(path.read_text(encoding="utf-8"))["exercise"]:
        assert re.fullmatch(r"[A-Z`](?:[^.?!]|\.(?!\s))*\.", exercise["teaches"]), exercise["teaches"]
        assert len(exercise["teaches"]) <= MOST_LETTERS_OF_A_LESSON, exercise["teaches"]
