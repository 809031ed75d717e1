"""No measurement is typed: the text of the guide is searched for numbers that a recording gives."""

import re
import shutil
from pathlib import Path

import pytest

from build_traces.errors import PageError
from build_traces.number_grammar import find
from build_traces.prose import prose
from build_traces.typed_numbers import ALLOWED, check, claim_passages, is_checked, load_allowed

ROOT = Path(__file__).parents[1]
CHAPTER = "docs/chapters/planted.md"
CLAIMS = "docs/claims/planted.toml"


def found(markdown: str) -> list[str]:
    return [each.text for each in find(prose(markdown))]


def test_no_measurement_is_typed_in_the_guide() -> None:
    problems = check(ROOT)
    assert problems == [], "".join(f"\n{p.where}: {p.message}" for p in problems) + f"\nnext: {problems[0].hint}"


# Planted numbers

PLANTED = [
    # time
    ("The step takes 242 µs.", "242 µs"),
    ("The step takes 242\u00a0μs, all told.", "242 μs"),
    ("The step takes 242us.", "242us"),
    ("It waits for 1.5 ms.", "1.5 ms"),
    ("It waits for 1,230 ns.", "1,230 ns"),
    ("Compiling takes 3 s here.", "3 s"),
    ("Compiling takes two and a half seconds.", "two and a half seconds"),
    ("A launch costs about five microseconds.", "five microseconds"),
    ("A launch costs about a microsecond.", "a microsecond"),
    ("A launch costs tens of microseconds.", "tens of microseconds"),
    ("A five-microsecond gap follows.", "five-microsecond"),
    ("Between 5–7 µs.", "5–7 µs"),
    ("From 57.7 to {{ mlp_eager.gpu_us:.0f }} µs.", "57.7 to {{ … }} µs"),
    ("{{ mlp_eager.gpu_us:.0f }} µs and 57 µs.", "57 µs"),
    ("The kernel runs for **57.7** µs.", "57.7 µs"),
    ("The kernel runs for 57.7&nbsp;&micro;s.", "57.7 µs"),
    ("It is over after an hour and 2 min.", "2 min"),
    # bytes
    ("The tensor has 50.3 MB.", "50.3 MB"),
    ("The tensor has 48 MiB.", "48 MiB"),
    ("An L2 of sixty megabytes holds it.", "sixty megabytes"),
    ("A value has 2 bytes.", "2 bytes"),
    ("A 50-MB tensor.", "50-MB"),
    # rate
    ("It copies 4.26 TB/s.", "4.26 TB/s"),
    ("It copies 4 GB per second.", "4 GB per second"),
    ("It reaches 680 TFLOP/s.", "680 TFLOP/s"),
    ("It reaches 680 TFLOPS.", "680 TFLOPS"),
    ("Any FLOP/s above 5 FLOP/s.", "5 FLOP/s"),
    ("One GEMM is 38.7 GFLOP.", "38.7 GFLOP"),
    # share
    ("It is 57 % of the step.", "57 %"),
    ("It is 57% of the step.", "57%"),
    ("It is nine percent.", "nine percent"),
    ("A quarter of the lanes is masked.", "A quarter"),
    ("It takes a third of the time.", "a third"),
    ("It takes a third.", "a third"),
    ("It takes half of the time.", "half of"),
    ("It takes half the time.", "half the"),
    ("Two thirds of the step are GEMM.", "Two thirds"),
    ("The time is halved.", "halved"),
    ("This halves the traffic.", "halves the"),
    # ratio
    ("It is 1.3× as fast.", "1.3×"),
    ("A speed-up of 2x.", "2x"),
    ("It is 2.5 times faster.", "2.5 times faster"),
    ("It is three times as fast.", "three times as"),
    ("It is twice as fast.", "twice as"),
    ("It doubles the traffic.", "doubles"),
    ("A threefold gain.", "threefold"),
    ("Less by a factor of two.", "factor of two"),
    ("An order of magnitude less.", "order of magnitude"),
    # count
    ("The step runs five kernels.", "five kernels"),
    ("The step runs 5 kernels.", "5 kernels"),
    ("The step runs five small GPU kernels.", "five small GPU kernels"),
    ("The step runs five `triton` kernels.", "five kernels"),
    ("There are two or three launches.", "two or three launches"),
    ("One kernel is left.", "One kernel"),
    ("A single kernel is left.", "single kernel"),
    ("Two memsets run first.", "Two memsets"),
    ("It makes 3 memcpys.", "3 memcpys"),
    ("The chain has 12 ops.", "12 ops"),
    ("It makes 3 occupancy queries.", "3 occupancy queries"),
    ("Over seven processes.", "seven processes"),
    ("In each step 5 kernels run.", "5 kernels"),
    ("A two-kernel step.", "two-kernel"),
    ("A kernel count of five.", "kernel count of five"),
    ("Dozens of launches.", "Dozens of launches"),
    # places
    ("## Five kernels, one step", "Five kernels"),
    ("- in a list: 5 µs", "5 µs"),
    ("> in a quote: 5 µs", "5 µs"),
    ('!!! note "It takes 5 µs"', "5 µs"),
    ("    indented, as in a block: 5 µs", "5 µs"),
    ("![The step takes 5 µs](step.svg)", "5 µs"),
    ('<img src="step.svg" alt="The step takes 5 µs">', "5 µs"),
    ("[it takes 5 µs](https://example.org)", "5 µs"),
    ('[it](https://example.org "5 µs")', "5 µs"),
    ("| GPU | 5 µs |", "5 µs"),
]


@pytest.mark.parametrize(("line", "says"), PLANTED, ids=[line for line, _ in PLANTED])
def test_a_typed_measurement_is_found(line: str, says: str) -> None:
    assert found(f"# Title\n\nText.\n\n{line}\n") == [says]


SENTENCES = [(line, says) for line, says in PLANTED if re.fullmatch(r"[A-Z][^|`*!&]*", line) and says in line]


@pytest.mark.parametrize(("line", "says"), SENTENCES, ids=[line for line, _ in SENTENCES])
def test_a_typed_measurement_is_found_though_its_line_breaks_inside(line: str, says: str) -> None:
    before, _, after = line.partition(says)
    for space in re.finditer(" ", says):
        broken = f"{before}{says[: space.start()]}\n{says[space.end() :]}{after}"
        assert [" ".join(one.split()) for one in found(f"# Title\n\nText.\n\n{broken}\n")] == [says], broken


def copy_text(root: Path) -> None:
    """The pages and claims of this repository, without its recordings."""
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("recordings", "assets"))


def test_each_is_found_with_its_line_in_a_copy_of_the_guide(tmp_path: Path) -> None:
    copy_text(tmp_path)
    before = set(map(str, check(tmp_path)))
    lines = [text for line, _ in PLANTED for text in (line, "")]
    (tmp_path / CHAPTER).write_text("\n".join(["---", "draft: true", "---", "# Planted", "", *lines]), encoding="utf-8")
    new = [problem for problem in check(tmp_path) if str(problem) not in before]
    places = [f"{CHAPTER}:{6 + 2 * n}" for n in range(len(PLANTED))]
    assert [problem.where for problem in new] == places
    assert all(repr(says) in problem.message for problem, (_, says) in zip(new, PLANTED, strict=True))
    assert all("{{" in problem.hint and ALLOWED in problem.hint for problem in new)


def test_numbers_of_a_table_are_found_by_the_head_of_their_column() -> None:
    table = """
| Stage | Kernels | GPU, µs | Share, % | Rows |
|---|---:|:-:|---|---|
| [eager](a.md) | 5 | 242 | {{ mlp_eager.ceiling_share:.0f }} | 8192 |
| compiled | {{ mlp_compiled.kernel_count }} | {{ mlp_compiled.gpu_us:.0f }} | ≈ 12.5 | 8192 |

| Stage | Rows |
|---|---|
| eager | 5 |
"""
    read = prose(table)
    assert [(each.text, each.kind.name, read.count("\n", 0, each.start) + 1) for each in find(read)] == [
        ("5", "count", 4),
        ("242", "time", 4),
        ("12.5", "share", 5),
    ]


# Innocent sentences

INNOCENT = [
    "It was recorded in 2026, on 2026-12-01, as in the 1990s.",
    "torch 2.11, torch 2.11.0+cu130 and CUDA 13.0 launch it.",
    "torch 2.11 launches it; version 2 processes more.",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT is a name.",
    "An H200, an A100 and an RTX 5060 Ti.",
    "At batch 64, as in `batch 64`, with 8192 rows of 768 values.",
    "Section 2.3, chapter 4, step 1, stream 7, rung 3 and kernel 5.",
    "Step 2 launches nothing, and chapter 3 calls it so.",
    "bf16, fp32 and float64; a 1-D bias and a 2-D bias; in 16 bits.",
    "Half precision, double precision, two matrix products, three GEMMs, three Linears.",
    "A tile of 256 × 128, 256×128 or 256x128, a product of 8192 × 8192 × 8192.",
    "8192 × {{ recording.sm_count }} values.",
    "One of them, one of the kernels, at one glance, for one thing, in one step, in one process.",
    "A kernel, another kernel, each kernel, both kernels, no kernel, the first kernel, the third launch.",
    "The second kernel and a third matrix product; a second look.",
    "Two kernel names; one launch at a time; that one op; two of these loops.",
    "It is counted twice, and the loop runs three times.",
    "{{ mlp_eager.kernel_count }} kernels take {{ mlp_eager.gpu_us:.0f }} µs, {{ mlp_compiled.speedup:.2f }}×.",
    "It takes {{ 100 * {mlp_compiled.kernel.3.us} / {mlp_compiled.gpu_us} :.0f }} % of 5.",
    "A few microseconds, several kernels, most of the time, many launches per second.",
    "`five kernels` and ``5 µs`` in code.",
    "<!-- five kernels\nin 5 µs -->",
    "```text\nfive kernels in 5 µs\n```",
    '```python exec="on"\nprint("5 µs")\n```',
    "    ```\n    five kernels in 5 µs\n    ```",
    "[a link](https://example.org/5-kernels/5%25?q=5ms) and <https://example.org/5ms>.",
    "[ref]: https://example.org/5ms",
    "A paragraph of 5\n\nms is a unit.",
    '*Kernels*{ .tl-key style="width: 5ms" }',
    "/// kernels | mlp_eager\n///",
    '--8<-- "snippets/5ms.py"',
    "The two of us.",
    "0x7f and 0xff; 1e6 values; x = 5.",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_an_innocent_sentence_passes(text: str) -> None:
    assert found(f"# Title\n\n{text}\n") == []


# Claims

TOML = '''
# why = "5 kernels"

[[claim]]
id = "first"
says = "It runs two kernels, within 2 %."
check = "{a.kernel_count} == 2 and abs({a.b} / {a.c} - 1) < 0.02"
measured = "{{ a.b }} and 5 µs"

[[claim]]
id = "second"
says = """It takes
half of the time."""
check = "{a.b} < {a.c}"
scope_why = "On the A100 it is twice as fast."
'''


def claimed(*, quoted: bool) -> list[tuple[int, str]]:
    return [
        (passage.line + passage.read.count("\n", 0, each.start), each.text)
        for passage in claim_passages(TOML, quoted=quoted)
        for each in find(passage.read)
        if not is_checked(each, passage.check)
    ]


def test_texts_of_claims_are_searched_and_what_a_check_compares_with_is_no_typed_number() -> None:
    assert claimed(quoted=False) == [(8, "5 µs"), (13, "half of"), (15, "twice as")]


def test_what_the_article_said_is_cited() -> None:
    assert claimed(quoted=True) == [(8, "5 µs"), (15, "twice as")]


def test_a_typed_number_in_a_claim_is_found_with_its_line_in_a_copy(tmp_path: Path) -> None:
    copy_text(tmp_path)
    (tmp_path / CLAIMS).write_text(TOML, encoding="utf-8")
    assert [p.where for p in check(tmp_path) if p.path == CLAIMS] == [f"{CLAIMS}:{n}" for n in (8, 13, 15)]


EXERCISE = """# An exercise of a chapter.

[[exercise]]
id = "planted"
kind = "choice"
asks = "It has 5 kernels."
a100 = "It took 3 µs there, which is cited."
explain = "As {{ mlp_eager.kernel_count }} `5 µs` say."
teaches = "Nothing."

[[exercise.option]]
text = "Right."
when = "{mlp_eager.kernel_count} == 5"
why = "It is twice as long."
"""


def test_a_typed_number_in_an_exercise_is_found_with_its_line_in_a_copy(tmp_path: Path) -> None:
    copy_text(tmp_path)
    planted = tmp_path / "docs" / "exercises" / "planted.toml"
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(EXERCISE, encoding="utf-8")
    found = [p.where for p in check(tmp_path) if Path(p.path).name == "planted.toml"]
    assert found == ["docs/exercises/planted.toml:3", "docs/exercises/planted.toml:11"]


@pytest.mark.parametrize(
    ("says", "check_", "checked"),
    [
        ("It runs five kernels.", "{a} == 5", True),
        ("It runs five kernels.", "{a} == 4", False),
        ("It runs five kernels.", "{a.step5.b} > {a.kernel.5.us}", False),
        ("It runs one kernel.", "{a} == 1", True),
        ("At 90 % of it.", "{a} > 0.9 * {b}", True),
        ("Less than 10 % more.", "{a} < 1.1 * {b}", True),
        ("Over two thirds of it.", "{a} > 200 / 3", True),
        ("More than a quarter of it.", "{a} > 25", True),
        ("More than twice the time.", "{a} > 2 * {b}", True),
        ("A tenfold gain.", "{a} > 10 * {b}", True),
        ("It doubles.", "{a} > 3 * {b}", False),
        ("Two or three kernels.", "{a} > 2", False),
        ("Twenty-five kernels.", "{a} == 25", True),
        ("Two hundred kernels.", "{a} == 200", True),
    ],
)
def test_a_number_is_checked_if_the_check_compares_with_it(says: str, check_: str, checked: bool) -> None:
    (only,) = find(prose(says))
    assert is_checked(only, check_) is checked


# The list of what is allowed


def allow(root: Path, page: str, text: str) -> None:
    entry = f'[[allowed]]\npage = "{page}"\ntext = "{text}"\nreason = "given"\n'
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "index.md").write_text("# A\n\nA block may have *48 KiB* of\nshared memory, or 227 KiB.\n")
    (root / ALLOWED).write_text(f"# The list\n\n{entry}")


@pytest.mark.parametrize("page", ["docs/index.md", "*"])
def test_an_entry_allows_the_number_inside_its_words_only(tmp_path: Path, page: str) -> None:
    allow(tmp_path, page, "48 KiB of shared memory")
    assert [(p.where, "227 KiB" in p.message) for p in check(tmp_path)] == [("docs/index.md:4", True)]


@pytest.mark.parametrize(
    ("page", "text"),
    [("docs/claims.md", "48 KiB of shared memory"), ("*", "shared memory"), ("*", "8 KiB"), ("*", "64 KiB")],
)
def test_an_entry_that_allows_nothing_is_a_problem(tmp_path: Path, page: str, text: str) -> None:
    allow(tmp_path, page, text)
    assert [p.where for p in check(tmp_path)] == ["docs/index.md:3", "docs/index.md:4", f"{ALLOWED}:3"]


@pytest.mark.parametrize("entry", ['page = "*"\ntext = "5 µs"', 'page = "*"\ntext = "5 µs"\nreason = " "'])
def test_an_entry_without_a_reason_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "allowed.toml"
    path.write_text(f"\n[[allowed]]\n{entry}\n", encoding="utf-8")
    with pytest.raises(PageError, match="page, text and reason") as error:
        load_allowed(path)
    assert error.value.where == f"{path}:2"


def test_the_text_has_the_lines_of_the_page() -> None:
    page = "a\n{{ b\n  }}\n<!-- c\nd -->\n```\ne\n```\n[f](\ng)\n\n<img alt='h\ni'>\n`j` \\% k\n"
    read = prose(page)
    assert read.count("\n") == page.count("\n")
    assert read.split("\n")[13] == " % k"
