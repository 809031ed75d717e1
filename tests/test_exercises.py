"""Exercises by themselves: what their files may say, and what a recording answers; on the small repository."""

import shutil
from pathlib import Path

import pytest

from build_traces import exercises
from build_traces.answers import answer, shown_order
from build_traces.errors import EntryError, FactError, NotRecordedError
from build_traces.exercises import Exercise, UnansweredError, load
from build_traces.facts import Facts
from build_traces.markdown.source import open_facts

FOLDER, DOCS, SNIPPETS = Path("docs/exercises"), Path("docs"), Path("snippets")

COUNT = """
[[exercise]]
id = "kernels"
kind = "count"
asks = "How many?"
answer = "{mlp_eager.kernel_count}"
explain = "Five."
teaches = "To count."
"""
NUMBER = """
[[exercise]]
id = "time"
kind = "number"
asks = "How long?"
answer = "{mlp_eager.gpu_us} / 2"
unit = "µs"
within = 1.5
explain = "So long."
teaches = "To guess."
"""
CHOICE = """
[[exercise]]
id = "pick"
kind = "choice"
asks = "Which?"
explain = "This."
teaches = "To choose."

[[exercise.option]]
text = "four"
when = "{mlp_eager.kernel_count} == 4"
why = "No."

[[exercise.option]]
text = "five"
when = "{mlp_eager.kernel_count} == 5"
why = "Yes."
"""
ORDER = """
[[exercise]]
id = "sort"
kind = "order"
asks = "In which order?"
explain = "By time."
teaches = "To compare."

[[exercise.item]]
text = "gate"
at = "{mlp_eager.kernel.1.us}"

[[exercise.item]]
text = "GELU"
at = "{mlp_eager.kernel.2.us}"

[[exercise.item]]
text = "mul"
at = "{mlp_eager.kernel.4.us}"
"""


@pytest.fixture
def write(repository):
    """Write exercises of a chapter, which is there."""

    def write_file(text: str, chapter: str = "first") -> None:
        repository.write_page(f"chapters/{chapter}.md", f"# The {chapter}\n")
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{chapter}.toml").write_text(text, encoding="utf-8")

    return write_file


def one(text: str, write) -> Exercise:
    write(text)
    (found,) = load(FOLDER, DOCS).all
    return found


# Reading


def test_each_kind_is_read_with_its_place(write) -> None:
    write(COUNT + NUMBER + CHOICE + ORDER)
    found = load(FOLDER, DOCS)
    # A blank line before each: 7 lines of the count, 9 of the number, and so on.
    assert [(e.id, e.kind, e.line) for e in found.all] == [
        ("kernels", "count", 2),
        ("time", "number", 10),
        ("pick", "choice", 20),
        ("sort", "order", 37),
    ]
    assert found.get("pick").part_lines == (27, 32)
    assert {e.page for e in found.all} == {"chapters/first.md"}


def test_chapters_are_files(write) -> None:
    write(COUNT, "first")
    write(NUMBER, "second")
    found = load(FOLDER, DOCS)
    assert {name: [e.id for e in mine] for name, mine in found.chapters.items()} == {
        "first": ["kernels"],
        "second": ["time"],
    }
    assert [e.id for e in found.of_page("chapters/second.md")] == ["time"]
    assert found.of_page("index.md") == ()


def test_no_folder_is_no_exercise(repository) -> None:
    assert load(FOLDER, DOCS).all == ()


def test_an_unknown_id_names_the_nearest(write) -> None:
    write(COUNT)
    with pytest.raises(FactError, match="there is no exercise 'kernel'") as error:
        load(FOLDER, DOCS).get("kernel")
    assert "did you mean kernels?" in error.value.hint


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        (COUNT.replace("asks", "aks"), 2, "unknown field `aks`", "the keys are id, kind, asks"),
        (COUNT + 'shown = "x"\n', 2, "unknown field `shown`", "the keys are id"),
        (COUNT.replace('"count"', '"counts"'), 2, "Invalid enum value 'counts'", "the kinds count, number"),
        (COUNT.replace('kind = "count"\n', ""), 2, "missing required field `kind`", "the keys are"),
        (COUNT.replace('asks = "How many?"\n', ""), 2, "missing required field `asks`", "the keys are"),
        (COUNT.replace('explain = "Five."\n', ""), 2, "missing required field `explain`", "the keys are"),
        (COUNT.replace('teaches = "To count."\n', ""), 2, "missing required field `teaches`", "the keys are"),
        (COUNT.replace('"Five."', '"  "'), 2, "'explain' is empty", "write explain"),
        (COUNT.replace('"How many?"', '""'), 2, "'asks' is empty", "write asks"),
        (COUNT.replace('answer = "{mlp_eager.kernel_count}"\n', ""), 2, "a count needs 'answer'", "it has answer"),
        (COUNT.replace("{mlp_eager.kernel_count}", "5"), 2, "there is no fact in '5'", "stands in braces"),
        (COUNT.replace("{mlp_eager.kernel_count}", "{mlp_eager.kernel_count"), 2, "no partner", "stands in braces"),
        (COUNT.replace('"kernels"', '"two words"'), 2, "its id has other characters", "write it like"),
        (COUNT + "within = 2.0\n", 2, "a count has no 'within'", "it has answer"),
        (COUNT + "several = true\n", 2, "a count has no 'several'", "it has answer"),
        (COUNT + 'shows = "kernels, mlp_eager"\n', 2, "is no block", "kernels | mlp_eager"),
        (COUNT + COUNT, 10, "its id is also in docs/exercises/first.toml:2", "an id of its own"),
        (NUMBER.replace("within = 1.5\n", ""), 2, "a number needs 'within'", "it has answer, within, unit"),
        (NUMBER.replace("1.5", "1.0"), 2, "within is 1.0, and a factor is above 1", "write within = 1.5"),
        (NUMBER.replace("1.5", '"a"'), 2, "Expected `float`, got `str` - at `$.within`", "the keys are"),
        (CHOICE.replace('why = "Yes."\n', ""), 14, "missing required field `why`", "the keys are"),
        (CHOICE.replace('"Yes."', '""'), 14, "'why' is empty", "write why"),
        (CHOICE.replace('when = "{mlp_eager.kernel_count} == 5"\n', ""), 14, "missing required field `when`", ""),
        (CHOICE.replace("{mlp_eager.kernel_count} == 5", "True"), 14, "there is no fact in 'True'", "braces"),
        (CHOICE.replace("{mlp_eager.kernel_count} == 5", "1 == 1"), 14, "there is no fact in '1 == 1'", "braces"),
        (CHOICE.replace('why = "No."', 'why = "No."\nbecause = "x"'), 9, "unknown field `because`", "the keys are"),
        (CHOICE.replace('"choice"', '"choice"\nanswer = "{mlp_eager.step_us}"'), 2, "a choice has no 'answer'", ""),
        (CHOICE[: CHOICE.rindex("[[")], 2, "it has 1 [[exercise.option]], fewer than 2", "write"),
        (CHOICE[: CHOICE.index("[[exercise.")], 2, "a choice needs 'option'", "it has option, several"),
        (ORDER[: ORDER.rindex("[[")], 2, "it has 2 [[exercise.item]], fewer than 3", "write"),
        (ORDER.replace('at = "{mlp_eager.kernel.2.us}"\n', ""), 13, "missing required field `at`", ""),
        ("[[exercise]\n", 1, "not valid TOML", "correct it"),
        ("\n\n[[exercise]]\nid = x\n", 4, "not valid TOML", "correct it"),
        ("title = 'x'\n" + COUNT, 1, "there is title beside the entries", "write each exercise as [[exercise]]"),
        ("exercise = 1\n", 1, "there is exercise beside the entries", "[[exercise]]"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_told_with_its_line(write, text: str, line: int, message: str, hint: str) -> None:
    write(text)
    with pytest.raises(EntryError) as error:
        load(FOLDER, DOCS)
    assert error.value.where == f"docs/exercises/first.toml:{line}"
    assert message in error.value.message
    assert hint in error.value.hint
    assert error.value.hint


def test_an_id_twice_is_found_over_all_files(write) -> None:
    write(COUNT, "first")
    write(COUNT, "second")
    with pytest.raises(EntryError, match=r"its id is also in docs/exercises/first\.toml:2") as error:
        load(FOLDER, DOCS)
    assert error.value.where == "docs/exercises/second.toml:2"


def test_a_file_of_no_chapter_is_refused(write) -> None:
    write(COUNT)
    (FOLDER / "zzz.toml").write_text(NUMBER)
    with pytest.raises(EntryError, match=r"there is no chapter docs/chapters/zzz\.md") as error:
        load(FOLDER, DOCS)
    assert error.value.where == "docs/exercises/zzz.toml:1"


def test_a_header_in_a_long_string_is_none(write) -> None:
    long = COUNT.replace('"Five."', '"""\n[[exercise]]\nOne.\n"""')
    write(long + NUMBER.replace("1.5", "0.5"))
    with pytest.raises(EntryError) as error:
        load(FOLDER, DOCS)
    assert error.value.where == "docs/exercises/first.toml:13"


# What a recording answers


def test_the_answer_of_each_kind(repository, write) -> None:
    write(COUNT + NUMBER + CHOICE + ORDER)
    facts = repository.facts()
    found = {e.id: answer(e, facts) for e in load(FOLDER, DOCS).all}
    assert found["kernels"].number == 5
    assert found["time"].number == 121.0  # half of 242
    assert found["pick"].right == (1,)
    assert found["sort"].right == (1, 2, 0)  # 30, 40 and 60 µs
    assert [fact.path for part in found["sort"].parts for fact in part.facts] == [
        "mlp_eager.kernel.1.us",
        "mlp_eager.kernel.2.us",
        "mlp_eager.kernel.4.us",
    ]


def test_several_options_may_be_right(repository, write) -> None:
    text = CHOICE.replace('"choice"', '"choice"\nseveral = true')
    third = '\n[[exercise.option]]\ntext = "odd"\nwhen = "{mlp_eager.kernel_count} % 2 == 1"\nwhy = "Yes."\n'
    assert answer(one(text + third, write), repository.facts()).right == (1, 2)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (COUNT.replace("}", "} / 2"), 2, "its answer is 2.5, and a count is a whole number"),
        (COUNT.replace("}", "} - 6"), 2, "its answer is -1, and a count is a whole number"),
        (COUNT.replace("}", "} == 5"), 2, "its answer is True, and a count is a whole number"),
        (COUNT.replace("kernel_count", "kernel.9.us"), 2, "has kernels 1 to 5 a step, no kernel 9"),
        (COUNT.replace("mlp_eager.kernel_count", "mlp_compiled.hbm_mb"), 2, "were not measured: ncu is not there"),
        (COUNT.replace("}", "} / 0"), 2, "it divides by zero"),
        (NUMBER.replace("/ 2", "* 0"), 2, "its answer is 0.0, and a number is judged by ratio: it must be above 0"),
        (NUMBER.replace("/ 2", "- 999"), 2, "it must be above 0"),
        (NUMBER.replace("gpu_us} / 2", "kernel.1.name}"), 2, "and a number is judged by ratio"),
        (CHOICE.replace("== 5", "== 6"), 2, "exactly one option must hold, and none of 2 does"),
        (CHOICE.replace("== 4", "== 5"), 2, "exactly one option must hold, and options 1 and 2 do"),
        (CHOICE.replace("== 5", "+ 1"), 14, "option 2 is right when 6, which is neither true nor false"),
        (CHOICE.replace("kind", "several = true\nkind").replace("== 5", "== 6"), 2, "of its options none hold"),
        (CHOICE.replace("kind", "several = true\nkind").replace("== 4", "== 5"), 2, "1 and 2 hold: at least one must"),
        (ORDER.replace("kernel.2", "kernel.1"), 13, "items 1 and 2 are both at 60.0: neither is first"),
        (ORDER.replace("kernel.2.us", "kernel.2.name"), 13, "which is no number"),
    ],
)
def test_what_a_recording_cannot_answer_is_told_with_its_line(
    repository, write, text: str, line: int, message: str
) -> None:
    with pytest.raises(UnansweredError) as error:
        answer(one(text, write), repository.facts())
    assert error.value.where == f"docs/exercises/first.toml:{line}"
    assert message in error.value.message
    assert error.value.message.startswith("exercise ")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("mlp_eager.kernel_cuont", "there is no fact 'mlp_eager.kernel_cuont'"),
        ("mlp_eagre.kernel_count", "there is no stage 'mlp_eagre'"),
        ("mlp_eager.kernel.1.uss", "there is no kernel field 'uss'"),
        ("mlp_eager.step1.kernel_cuont", "there is no fact 'mlp_eager.kernel_cuont'"),
    ],
)
def test_a_name_that_no_recording_has_is_wrong_on_each(repository, write, path: str, message: str) -> None:
    with pytest.raises(EntryError, match=message) as error:
        answer(one(COUNT.replace("mlp_eager.kernel_count", path), write), repository.facts())
    assert not isinstance(error.value, UnansweredError)
    assert error.value.where == "docs/exercises/first.toml:2"


def test_a_stage_that_is_not_recorded_is_told_as_that(repository, write) -> None:
    shutil.rmtree(repository.recording / "mlp_eager")
    facts: Facts = open_facts(repository.recording, SNIPPETS)
    with pytest.raises(NotRecordedError):
        answer(one(COUNT, write), facts)


# The hash, and the order shown


def test_the_hash_changes_with_what_is_asked_and_with_nothing_else(write) -> None:
    first = one(CHOICE, write)
    same = [
        CHOICE.replace('"This."', '"That."'),
        CHOICE.replace('"Yes."', '"Yes, since it is so."'),
        CHOICE.replace('asks = "Which?"', 'asks = """\n  Which?\n"""'),
        CHOICE.replace("== 4", "== 3"),
    ]
    other = [
        CHOICE.replace("Which?", "Which one?"),
        CHOICE.replace('"four"', '"three"'),
        CHOICE.replace("choice", "choice").replace('text = "four"', 'text = "five "').replace('"five"', '"four"'),
    ]
    assert {one(text, write).hash for text in same} == {first.hash}
    assert first.hash not in {one(text, write).hash for text in other}
    assert len(first.hash) == exercises.HASH_DIGITS


def test_items_are_shown_in_an_order_of_their_own_that_is_never_the_right_one(write) -> None:
    found = one(ORDER, write)
    shuffled = shown_order(found, right=(9, 9, 9))
    assert sorted(shuffled) == [0, 1, 2]
    assert shown_order(found, right=(9, 9, 9)) == shuffled
    if_right = shown_order(found, right=shuffled)
    assert sorted(if_right) == [0, 1, 2]
    assert if_right != shuffled
