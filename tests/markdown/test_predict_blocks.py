"""`/// predict`, `/// predictions` and `/// lessons`: what is on the page, what is hidden, what ends the build."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element

import msgspec
import pytest
from html_tree import attributes, only, parse, text, with_class

from build_traces.errors import PageError
from build_traces.recording import encode

FOLDER = Path("docs/exercises")
DRAFT = "---\ndraft: true\n---\n"
STAMP = "NVIDIA H200 · torch 2.11.0+cu130 · 2026-12-01 · commit 0123456789"

COUNT = '''
[[exercise]]
id = "kernels"
kind = "count"
asks = "How many kernels does *one* forward of `mlp_eager` run, of {{ mlp_eager.op_count }} ops?"
answer = "{mlp_eager.kernel_count}"
explain = """
Three products, see [the page](other.md).

In *all* {{ mlp_eager.gpu_us:.0f }} µs."""
teaches = "Memsets are *no* kernels."
a100 = "The article's A100 ran `5`."
'''
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
text = "four of `k`"
when = "{mlp_eager.kernel_count} == 4"
why = "No: {{ mlp_eager.kernel_count }}."

[[exercise.option]]
text = "five"
when = "{mlp_eager.kernel_count} == 5 and {mlp_eager.memset_count} == 2"
why = "Yes."
"""
ORDER = """
[[exercise]]
id = "sort"
kind = "order"
asks = "In which order?"
unit = "µs"
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
BLOCK = "/// predict | {}\n///\n"


@pytest.fixture
def show(repository) -> Callable[..., Element]:
    """The page of a chapter that shows exercises, by default all of these."""

    def build(toml: str, *ids: str, front_matter: str = "", page: str = "") -> Element:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "first.toml").write_text(toml, encoding="utf-8")
        repository.write_page("other.md", "# Other\n")
        blocks = "\n".join(BLOCK.format(one) for one in ids)
        return parse(repository.page(page or f"# The first\n\n{blocks}", "chapters/first.md", front_matter))

    return build


def key(element: Element) -> dict[str, object]:
    """What decides, as a script reads it."""
    return json.loads(base64.b64decode(element.get("data-key") or ""))


def visible(root: Element) -> str:
    """What is rendered where scripts run: not what is in <noscript> and <template>."""
    if root.tag in ("noscript", "template"):
        return root.tail or ""
    return (root.text or "") + "".join(map(visible, root)) + (root.tail or "")


# What is there


def test_a_count_asks_and_hides_its_answer_with_everything_that_is_said_of_it(show) -> None:
    made = only(show(COUNT, "kernels"), "predict")
    assert made.tag == "guide-predict"
    assert (made.get("id"), made.get("data-exercise"), made.get("data-kind")) == ("predict-kernels", "kernels", "count")
    assert text(only(made, "predict-asks")) == "How many kernels does one forward of mlp_eager run, of 29 ops?"
    assert [e.text for e in only(made, "predict-asks").iter("em")] == ["one"]
    (hidden,) = made.iter("noscript")
    assert hidden.get("data-search-exclude") is not None
    assert [child.tag for child in hidden] == ["details"]
    assert text(only(hidden, "predict-measured")) == "Measured: 5."
    assert text(only(hidden, "predict-stamp")) == STAMP
    assert [text(p) for p in only(hidden, "predict-explain")] == ["Three products, see the page.", "In all 242 µs."]
    assert [a.get("href") for a in only(hidden, "predict-explain").iter("a")] == ["../other.md"]
    assert text(only(hidden, "predict-a100")) == "The article's A100 ran 5."
    fact = next(only(hidden, "predict-measured").iter("data"))
    assert (fact.get("data-fact"), fact.get("value"), fact.get("title")) == ("mlp_eager.kernel_count", "5", STAMP)
    assert key(made) == {"measured": "5", "answer": 5, "decides": ["{mlp_eager.kernel_count}"]}


def test_a_number_says_its_unit_and_the_factor(show) -> None:
    made = only(show(NUMBER, "time"), "predict")
    assert (made.get("data-unit"), made.get("data-within")) == ("µs", "1.5")
    assert text(only(made, "predict-measured")) == "Measured: 121 µs."
    assert key(made) == {"measured": "121 µs", "answer": 121.0, "decides": ["{mlp_eager.gpu_us} / 2"]}


def test_a_choice_lists_its_options_and_explains_each(show) -> None:
    made = only(show(CHOICE, "pick"), "predict")
    assert [text(entry) for entry in only(made, "predict-parts")] == ["four of k", "five"]
    reasons = only(made, "predict-reasons")
    assert [text(entry) for entry in reasons] == ["Not right four of kNo: 5.", "Right fiveYes."]
    assert [entry.get("data-position") for entry in reasons] == ["0", "1"]
    facts = only(made, "predict-facts")
    assert [text(part) for part in facts] == ["mlp_eager.kernel_count", "5", "mlp_eager.memset_count", "2"]
    decides = ["{mlp_eager.kernel_count} == 4", "{mlp_eager.kernel_count} == 5 and {mlp_eager.memset_count} == 2"]
    assert key(made) == {"measured": "“five”", "right": [1], "parts": ["four of k", "five"], "decides": decides}


def test_an_order_is_shown_shuffled_and_solved(show) -> None:
    made = only(show(ORDER, "sort"), "predict")
    shown = [entry.get("data-position") for entry in only(made, "predict-parts")]
    assert sorted(shown) == ["0", "1", "2"]
    assert shown != ["1", "2", "0"]
    solved = [text(entry) for entry in only(made, "predict-order")]
    assert solved == ["GELU (30.0 µs)", "mul (40.0 µs)", "gate (60.0 µs)"]
    decides = ["{mlp_eager.kernel.1.us}", "{mlp_eager.kernel.2.us}", "{mlp_eager.kernel.4.us}"]
    parts = ["gate", "GELU", "mul"]
    assert key(made) == {"measured": "GELU → mul → gate", "right": [1, 2, 0], "parts": parts, "decides": decides}


@pytest.mark.parametrize(
    "shows",
    ["kernels | mlp_eager", "timeline | mlp_eager mlp_compiled", "ops | mlp_eager", "ladder", "profile | mlp_eager"],
)
def test_a_block_stands_by_the_explanation_once(show, shows: str) -> None:
    made = only(show(f'{COUNT}shows = "{shows}"\n', "kernels"), "predict")
    (hidden,) = made.iter("noscript")
    assert len(with_class(hidden, f"trace-block--{shows.partition(' ')[0]}")) == 1
    assert len(with_class(made, "trace-block")) == 1


def test_nothing_of_the_answer_is_on_the_page_outside_noscript(show) -> None:
    root = show(COUNT + NUMBER + CHOICE + ORDER, "kernels", "time", "pick", "sort")
    for said in ("Measured", "Right", "Three products", "A100", "So long", "Yes.", "By time", "Memsets", "121", STAMP):
        assert said not in visible(root).replace("Measured on", "")
    shown = [value for name, value in attributes(root) if name not in ("data-key", "title", "value")]
    assert not [value for value in shown if "Measured" in value or "121" in value]


def test_an_exercise_links_to_the_page_of_all_where_there_is_one(show, repository) -> None:
    assert with_class(show(COUNT, "kernels"), "predict-all") == []
    repository.write_page("predictions.md", "# All\n\n/// predictions\n    chapters: first\n///\n")
    (line,) = with_class(show(COUNT, "kernels"), "predict-all")
    assert line.get("hidden") is not None
    assert [a.get("href") for a in line.iter("a")] == ["../predictions.md"]


# Hostile text

HOSTILE = [
    "</noscript><img src=x onerror=alert(1)>",
    "</noscript ",
    "</details></template></guide-predict>",
    '"><script>alert(1)</script>',
    "&lt;b&gt; &amp; <b>",
    "a_{ onclick=alert(1) .evil }",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_from_a_trace_does_not_leave_noscript(repository, show, edit_trace: Callable, name: str) -> None:
    """Where scripts run, a browser reads <noscript> as text up to the first `</noscript`, in an attribute too."""
    record = repository.record("mlp_eager")
    first = record.processes[0].work[1].name

    def rename(events: list[dict]) -> None:
        for event in events:
            if event.get("name") == first:
                event["name"] = name

    edit_trace("mlp_eager", rename)
    processes = tuple(
        msgspec.structs.replace(
            p, work=tuple(msgspec.structs.replace(w, name=name) if w.name == first else w for w in p.work)
        )
        for p in record.processes
    )
    repository.write_stage(msgspec.structs.replace(record, processes=processes))
    toml = COUNT.replace("In *all*", "{{ mlp_eager.kernel.1.name }} in *all*") + 'shows = "timeline | mlp_eager"\n'
    show(toml, "kernels")
    html = repository.convert(Path("docs/chapters/first.md").read_text())
    assert html.lower().count("</noscript") == 1
    inside = html[html.index("<noscript") : html.index("</noscript")]
    assert inside.count("<details") == inside.count("</details>") > 0
    hidden = parse(html)
    assert text(hidden).count(" ".join(name.split())) >= 1
    assert not list(hidden.iter("script")) + list(hidden.iter("img")) + list(hidden.iter("b"))
    assert not [key for key, _ in attributes(hidden) if key.startswith("on")]


def test_what_an_author_writes_is_text(show) -> None:
    toml = CHOICE.replace("four of `k`", "<b>*four*</b> &amp; </noscript>").replace("Yes.", "<i>Yes</i>")
    made = only(show(toml, "pick"), "predict")
    assert text(only(made, "predict-parts")[0]) == "<b>four</b> &amp; </noscript>"
    assert not list(made.iter("b")) + list(made.iter("i"))


# Emphasis


@pytest.mark.parametrize(
    ("written", "emphasized", "read"),
    [
        ("a *b* c", ["b"], "a b c"),
        ("*b*", ["b"], "b"),
        ("2 * 3 * 4", [], "2 * 3 * 4"),
        ("`a * b` and *c `d`*", ["c d"], "a * b and c d"),
        ("{{ 2 * {mlp_eager.kernel_count} * 3 }} *x*", ["x"], "30 x"),
        ("**bold**", [], "**bold**"),
        ("[a *b*](other.md)", [], "a *b*"),
    ],
)
def test_stars_are_emphasis_in_text_only(show, written: str, emphasized: list[str], read: str) -> None:
    toml = NUMBER.replace("How long?", written)
    asked = only(show(toml, "time"), "predict-asks")
    assert [text(e) for e in asked.iter("em")] == emphasized
    assert text(asked) == read


# What ends the build

TEXT = "# The first\n\nText.\n\n"


@pytest.mark.parametrize(
    ("toml", "page", "line", "message", "hint"),
    [
        (COUNT, TEXT + "/// predict\n///\n", 5, "block 'predict' needs the id of an exercise", "write /// predict |"),
        (COUNT, TEXT + BLOCK.format("kernel"), 5, "there is no exercise 'kernel'", "did you mean kernels?"),
        (COUNT, TEXT + BLOCK.format("kernels") * 2, 7, "exercise 'kernels' is shown 2 times", "leave all but one out"),
        (COUNT, TEXT, 1, "exercise 'kernels' (docs/exercises/first.toml:2) is not shown", "write /// predict | ker"),
        (COUNT, TEXT + "/// predict | kernels\n    x: 1\n///\n", 6, "block 'predict' has no option 'x'", "attrs"),
        (
            COUNT.replace("_count}", "_cuont}"),
            TEXT + BLOCK.format("kernels"),
            5,
            "docs/exercises/first.toml:2: exercise 'kernels': there is no fact 'mlp_eager.kernel_cuont'",
            "kernel_count",
        ),
        (
            COUNT.replace("{{ mlp_eager.op_count }}", "{{ mlp_eager.op_cuont }}"),
            TEXT + BLOCK.format("kernels"),
            5,
            "docs/exercises/first.toml:2: exercise 'kernels': there is no fact 'mlp_eager.op_cuont'",
            "op_count",
        ),
        (
            COUNT.replace("other.md", "otter.md"),
            TEXT + BLOCK.format("kernels"),
            5,
            "docs/exercises/first.toml:2: exercise 'kernels': there is no page docs/otter.md",
            "name it from docs/",
        ),
        (
            CHOICE.replace("== 5", "== 6"),
            TEXT + BLOCK.format("pick"),
            5,
            "docs/exercises/first.toml:2: exercise 'pick': exactly one option must hold, and none of 2 does",
            "correct what stands in when",
        ),
        (
            CHOICE.replace("== 4", "== 5"),
            TEXT + BLOCK.format("pick"),
            5,
            "exercise 'pick': exactly one option must hold, and options 1 and 2 do",
            "several = true",
        ),
        (
            ORDER.replace("kernel.2", "kernel.1"),
            TEXT + BLOCK.format("sort"),
            5,
            "docs/exercises/first.toml:14: exercise 'sort': items 1 and 2 are both at 60.0",
            "told apart",
        ),
        (
            COUNT + 'shows = "zzz | mlp_eager"\n',
            TEXT + BLOCK.format("kernels"),
            5,
            "exercise 'kernels': there is no block to show with an explanation 'zzz'",
            "there are kernels, ops",
        ),
        (
            COUNT + 'shows = "kernels"\n',
            TEXT + BLOCK.format("kernels"),
            5,
            "exercise 'kernels': 'kernels' is no block",
            "kernels | mlp_eager",
        ),
        (
            COUNT + 'shows = "kernels | mlp_eagre"\n',
            TEXT + BLOCK.format("kernels"),
            5,
            "docs/exercises/first.toml:2: exercise 'kernels': there is no stage 'mlp_eagre'",
            "did you mean mlp_eager",
        ),
        (
            COUNT.replace('explain = """', 'explian = """'),
            TEXT + BLOCK.format("kernels"),
            5,
            "docs/exercises/first.toml:2: exercise 'kernels': Object",
            "the keys are",
        ),
        (COUNT + COUNT, TEXT + BLOCK.format("kernels"), 5, "its id is also in docs/exercises/first.toml:2", "its own"),
    ],
)  # fmt: skip
def test_what_is_wrong_ends_the_build_with_file_and_line(
    show, toml: str, page: str, line: int, message: str, hint: str
) -> None:
    with pytest.raises(PageError) as error:
        show(toml, page=page)
    assert error.value.where == f"docs/chapters/first.md:{line}"
    assert message in error.value.message
    assert hint in error.value.hint


def test_an_exercise_on_another_page_is_refused(show, repository) -> None:
    show(COUNT, "kernels")
    with pytest.raises(PageError, match=r"is of chapters/first\.md, and this is another page") as error:
        repository.page(TEXT + BLOCK.format("kernels"), "chapters/second.md")
    assert error.value.where == "docs/chapters/second.md:5"
    with pytest.raises(PageError, match="this is another page"):
        repository.convert(BLOCK.format("kernels") + "in no page\n")


def test_a_damaged_file_ends_the_build_of_any_page(repository) -> None:
    FOLDER.mkdir()
    (FOLDER / "first.toml").write_text("[[exercise]\n")
    repository.write_page("chapters/first.md", "# First\n")
    with pytest.raises(PageError, match=r"docs/exercises/first\.toml:1: not valid TOML"):
        repository.page("# Any\n", "any.md")


def test_a_corrected_file_is_read_anew(show) -> None:
    with pytest.raises(PageError):
        show(COUNT.replace("_count}", "_cuont}"), "kernels")
    assert with_class(show(COUNT, "kernels"), "predict")


# Drafts, and other recordings


def test_a_draft_asks_and_says_that_the_answer_is_not_recorded(repository, show) -> None:
    shutil.rmtree(repository.recording / "mlp_compiled")
    toml = CHOICE.replace("{mlp_eager.kernel_count} == 4", "{mlp_compiled.kernel_count} == 5")
    root = show(toml, "pick", front_matter=DRAFT)
    made = only(root, "predict")
    assert text(only(made, "predict-asks")) == "Which?"
    assert made.get("data-key") is None
    assert text(only(made, "unrecorded")) == "not recorded yet"
    assert not list(made.iter("noscript"))
    assert "mlp_compiled" in text(only(root, "draft"))
    with pytest.raises(PageError, match="not recorded yet") as error:
        show(toml, "pick")
    assert error.value.where == "docs/chapters/first.md:3"


@pytest.fixture
def other(repository):
    """A second recording, of a GPU without hardware counters and with another MLP; the first stays in charge."""
    folder = repository.recording.parent / "other-gpu_torch-2.11.0"
    shutil.copytree(repository.recording, folder)
    record = repository.record("mlp_eager")
    renamed = msgspec.structs.replace(record, hbm=None, hbm_missing="ncu is not there")
    (folder / "mlp_eager" / "stage.json").write_bytes(encode(renamed))
    return folder.name


HBM = COUNT.replace("{mlp_eager.kernel_count}", "round({mlp_eager.hbm_mb})")


def test_another_recording_may_have_no_answer(show, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert text(only(show(HBM, "kernels"), "predict-measured")) == "Measured: 537."
    monkeypatch.setenv("RECORDING", other)
    made = only(show(HBM, "kernels"), "predict")
    assert "has no answer to this question" in text(only(made, "unrecorded"))
    assert "ncu is not there" in text(only(made, "unrecorded"))
    assert made.get("data-key") is None
    assert only(made, "predict-asks") is not None


def test_a_misspelt_fact_is_refused_on_another_recording_too(show, other: str, monkeypatch) -> None:
    monkeypatch.setenv("RECORDING", other)
    with pytest.raises(PageError, match="kernel_cuont"):
        show(COUNT.replace("_count}", "_cuont}"), "kernels")


def test_a_stale_stage_is_refused(show, repository) -> None:
    (repository.root / "snippets" / "mlp_eager.py").write_text("def stage(): ...\n")
    with pytest.raises(PageError, match="stale"):
        show(COUNT, "kernels")


# The page of all


def predictions(repository, option: str = "chapters: first second") -> Element:
    return parse(repository.page(f"# All\n\nText.\n\n/// predictions\n    {option}\n///\n", "predictions.md"))


def test_all_exercises_are_listed_by_chapter_without_their_answers(repository, show) -> None:
    show(COUNT + NUMBER, "kernels", "time")
    repository.write_page("chapters/second.md", "# The *second*\n\n" + BLOCK.format("pick"))
    (FOLDER / "second.toml").write_text(CHOICE)
    root = predictions(repository, "chapters: second first")
    assert [text(h) for h in root.iter("h2")] == ["The *second*", "The first"]
    links = {a.get("href"): text(a) for entry in with_class(root, "prediction") for a in entry.iter("a")}
    assert links == {
        "chapters/second.md#predict-pick": "Which?",
        "chapters/first.md#predict-kernels": "How many kernels does one forward of mlp_eager run, of 29 ops?",
        "chapters/first.md#predict-time": "How long?",
    }
    for said in ("Measured:", "121", "“five”", "Memsets", "To guess"):
        assert said not in visible(root)
    first = next(entry for entry in with_class(root, "prediction") if entry.get("data-exercise") == "time")
    assert (first.get("data-kind"), first.get("data-unit"), first.get("data-within")) == ("number", "µs", "1.5")
    assert key(first) == {"measured": "121 µs", "answer": 121.0, "decides": ["{mlp_eager.gpu_us} / 2"]}
    for template in root.iter("template"):
        assert template.get("data-search-exclude") is not None


def test_a_hash_is_the_same_on_both_pages(repository, show) -> None:
    made = only(show(COUNT, "kernels"), "predict")
    listed = only(predictions(repository), "prediction")
    for name in ("data-exercise", "data-hash", "data-key", "data-kind"):
        assert made.get(name) == listed.get(name)


def test_no_link_is_in_a_link(repository, show) -> None:
    show(COUNT.replace("ops?", "ops, as [here](other.md)?"), "kernels")
    root = predictions(repository)
    assert [[text(inner) for inner in a.iter("a") if inner is not a] for a in root.iter("a")] == [[], []]
    assert "as here?" in text(only(root, "prediction"))


def test_a_chapter_that_the_page_of_all_forgets_is_refused(repository, show) -> None:
    show(COUNT, "kernels")
    with pytest.raises(PageError, match="option 'chapters' of block 'predictions' lacks first") as error:
        predictions(repository, "chapters: second")
    assert error.value.where == "docs/predictions.md:5"
    assert "write chapters: second first" in error.value.hint


def test_the_page_of_all_lists_what_is_not_recorded_without_being_a_draft(repository, show) -> None:
    shutil.rmtree(repository.recording / "mlp_compiled")
    show(COUNT.replace("{mlp_eager.kernel", "{mlp_compiled.kernel"), "kernels", front_matter=DRAFT)
    entry = only(predictions(repository), "prediction")
    assert "Stage mlp_compiled is not recorded yet." in text(entry)
    assert entry.get("data-key") is None


def test_the_page_of_all_says_what_another_recording_has_no_answer_to(repository, show, other, monkeypatch) -> None:
    show(HBM, "kernels")
    monkeypatch.setenv("RECORDING", other)
    assert "ncu is not there" in text(only(predictions(repository), "unrecorded"))


def test_an_exercise_without_an_answer_ends_the_build_of_the_page_of_all(repository, show) -> None:
    show(COUNT, "kernels")
    (FOLDER / "first.toml").write_text(COUNT.replace('}"\nexplain', '} / 2"\nexplain'))
    with pytest.raises(PageError, match="a count is a whole number"):
        predictions(repository)


def test_lessons_are_those_of_the_page_in_its_order(repository, show) -> None:
    blocks = "".join(map(BLOCK.format, ("time", "kernels")))
    made = show(COUNT + NUMBER, page=f"# The first\n\n{blocks}\n/// lessons\n///\n")
    lessons = list(only(made, "trace-block--lessons").iter("li"))
    assert [text(lesson) for lesson in lessons] == ["To guess. ↑", "Memsets are no kernels. ↑"]
    assert [[em.text for em in lesson.iter("em")] for lesson in lessons] == [[], ["no"]]
    assert [(link.get("href"), link.get("aria-label")) for lesson in lessons for link in lesson.iter("a")] == [
        ("#predict-time", "Back to question 1 of 2"),
        ("#predict-kernels", "Back to question 2 of 2"),
    ]


def test_a_page_that_asks_nothing_has_no_lessons(show) -> None:
    with pytest.raises(PageError, match=r"first\.md:3: this page asks nothing, so it has no lessons"):
        show(COUNT, page="# The first\n\n/// lessons\n///\n")


def test_no_exercises_are_no_error(repository) -> None:
    assert with_class(predictions(repository), "prediction") == []
