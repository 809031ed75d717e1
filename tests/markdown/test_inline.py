"""Facts in the text: formats, code that stays code, stamps, and paths that look like formats."""

import json
import shutil

import pytest
from html_tree import only, parse, text, with_class

from build_traces.errors import FactError, PageError
from build_traces.markdown.inline import is_path, split
from build_traces.markdown.value import shown

STAMP = "NVIDIA H200 · torch 2.11.0+cu130 · 2026-12-01 · commit 0123456789"


def test_a_fact_carries_its_path_value_and_stamp(repository) -> None:
    (fact,) = parse(repository.convert("It runs {{ mlp_eager.kernel_count }} kernels.")).iter("data")
    assert fact.attrib == {"class": "fact", "data-fact": "mlp_eager.kernel_count", "value": "5", "title": STAMP}
    assert text(fact) == "5"


def test_a_measured_fact_says_its_spread_on_hover(repository) -> None:
    (fact,) = parse(repository.convert("{{ mlp_eager.time_us }}")).iter("data")
    # The medians of the five processes are 110, 111, 112, 113, 114.
    assert (text(fact), fact.get("value")) == ("112", "112.0")
    assert fact.get("title") == f"between 110 and 114 µs over 5 processes · {STAMP}"


def test_the_hover_of_a_kernels_time_does_not_claim_all_processes(repository) -> None:
    # Only the processes that ran the same kernels count, and a Fact does not say how many those are.
    (fact,) = parse(repository.convert("{{ mlp_eager.kernel.1.us }}")).iter("data")
    assert fact.get("title") == f"between 58.0 and 62.0 µs · {STAMP}"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("{{mlp_eager.gpu_us:.0f}}", "242"),
        ("{{ mlp_eager.gpu_us : .2f }}", " 242.00"),
        ("{{ mlp_eager.gpu_us:,.1f }}", "242.0"),
        ("{{ mlp_eager.kernel_count:03d }}", "005"),
        ("{{ mlp_eager.op_count.aten::_unsafe_view }}", "3"),
        ("{{ mlp_eager.op_count.aten::mm:>5 }}", "    3"),
        ("{{ recording.gpu }}", "NVIDIA H200"),
        ("{{ mlp_eager.step1.launch_count.cudaLaunchKernel }}", "2"),
        ("{{ mlp_compiled.op_count.Torch-Compiled Region: 1/0 }}", "1"),
    ],
)
def test_a_fact_is_written_as_asked(repository, written: str, seen: str) -> None:
    (fact,) = parse(repository.convert(f"x {written} y")).iter("data")
    assert "".join(fact.itertext()).strip() == seen.strip()


@pytest.mark.parametrize(
    ("written", "path", "spec"),
    [
        ("a.b", "a.b", ""),
        ("a.b:.0f", "a.b", ".0f"),
        ("a.op_count.aten::t", "a.op_count.aten::t", ""),
        ("a.op_count.aten::t:,", "a.op_count.aten::t", ","),
        ("a.op_count.Region: 1/0", "a.op_count.Region: 1/0", ""),
        ("a.kernel_count.at::native::x", "a.kernel_count.at::native::x", ""),
    ],
)
def test_a_colon_in_a_name_is_no_format(written: str, path: str, spec: str) -> None:
    assert split(written) == (path, spec)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (5, "5"),
        (24576, "24,576"),
        (0.0, "0"),
        (56.64, "56.6"),
        (1234.5, "1,230"),
        (999.6, "1,000"),
        (99.95, "100"),  # two decimals would be 99.95; three digits round up to 100
        (0.0045, "0.00450"),
        (1.2e-7, "1.20e-07"),
        (-56.64, "-56.6"),
        ("as is", "as is"),
    ],
)
def test_without_a_format_ints_get_separators_and_floats_three_digits(value: float | str, seen: str) -> None:
    assert shown(value) == seen


def test_a_format_that_does_not_fit_is_refused() -> None:
    with pytest.raises(FactError, match="cannot be written in the format"):
        shown("text", ".1f")


@pytest.mark.parametrize(
    "code",
    ["`{{ mlp_eager.kernel_count }}`", "``{{ no.fact }}``", "```\n{{ no.fact }}\n```", "    {{ no.fact }}"],
)
def test_code_is_left_alone(repository, code: str) -> None:
    root = parse(repository.convert(code))
    assert not list(root.iter("data"))
    assert "{{" in text(root)


def test_facts_work_in_headings_tables_lists_and_emphasis(repository) -> None:
    heading = "# {{ mlp_eager.kernel_count }} kernels\n\n"
    table = "| a | b |\n|---|---|\n| {{ mlp_eager.memset_count }} | **{{ mlp_eager.launch_count }}** |\n\n"
    item = "- [{{ recording.sm_count }} SMs](https://example.org)\n"
    root = parse(repository.convert(heading + table + item))
    assert [text(fact) for fact in root.iter("data")] == ["5", "2", "7", "132"]
    assert next(root.iter("h1")).get("id") == "5-kernels"


def test_an_empty_fact_is_refused(repository) -> None:
    path = repository.recording / "environment.json"
    path.write_text(path.read_text().replace('"2025.3.1"', '""'))
    with pytest.raises(PageError, match=r"recording\.ncu is empty in this recording"):
        repository.convert("{{ recording.ncu }}")


def test_an_unknown_fact_names_page_line_and_neighbors(repository) -> None:
    with pytest.raises(PageError) as error:
        repository.page("One.\n\nTwo `{{ mlp_eager.kernel_cuont }}`\nand {{ mlp_eager.kernel_cuont }}.\n", "a/b.md")
    assert str(error.value).startswith(
        "docs/a/b.md:4: there is no fact 'mlp_eager.kernel_cuont'\n  next: did you mean mlp_eager.kernel_count"
    )


# Expressions. mlp_eager's work takes 242 µs, its five kernels 240; mlp_compiled's 208.

SHARE = "100 * {mlp_eager.kernel.4.us} / {mlp_eager.kernel_us}"


def test_an_expression_carries_what_was_written_its_value_and_its_facts(repository) -> None:
    (made,) = parse(repository.convert(f"It is {{{{ {SHARE} :.0f }}}} %.")).iter("data")
    assert made.attrib == {
        "class": "fact",
        "data-expression": SHARE,
        "value": str(100 * 40.0 / 240.0),
        "title": f"mlp_eager.kernel.4.us = 40.0 µs, mlp_eager.kernel_us = 240 µs · {STAMP}",
        "data-format": ".0f",
    }
    assert text(made) == "17"


def test_an_expression_without_facts_is_no_fact(repository) -> None:
    (made,) = parse(repository.convert("{{ 2 * 8192 * 3072 / 1e6 :.1f }} MB")).iter("data")
    assert (made.get("class"), made.get("value"), text(made)) == ("computed", "50.331648", "50.3")
    assert made.get("title") == "= 2 * 8192 * 3072 / 1e6"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("{{{mlp_eager.gpu_us}-{mlp_compiled.gpu_us}}}", "34.0"),
        ("{{ {mlp_eager.gpu_us} :.1f }}", "242.0"),
        ("{{ {mlp_eager.kernel_count} + 20000 }}", "20,005"),
        ("{{ {mlp_eager.op_count.aten::mm} * 2 }}", "6"),
        ("{{ {mlp_eager.op_count.aten::mm} * 2 :03d }}", "006"),
        ("{{ ({mlp_eager.gpu_us} - 2) / {mlp_compiled.kernel_us} :.2%}}", "116.50%"),
        ("{{ 'slower' if {mlp_eager.gpu_us} > {mlp_compiled.gpu_us} else 'faster' }}", "slower"),
        ("{{ round({mlp_eager.gpu_us}) :>5 }}", "  242"),
        ("{{ (3 + 4) * 2 }}", "14"),
        ("{{ min(3, {mlp_eager.kernel_count}) }}", "3"),
        ("{{ {mlp_compiled.op_count.Torch-Compiled Region: 1/0} + 1 }}", "2"),
        ("{{ {mlp_eager.gpu_us} * 2\n  - 1 :.0f }}", "483"),
        ("{{\n{mlp_eager.gpu_us} / 2 :.0f\n}}", "121"),
        ("*{{ {mlp_eager.memset_count} * 2 * 3 }}*", "12"),
        ("{{ {mlp_eager.memset_count} < 3 and 'few' }}", "few"),
    ],
)
def test_an_expression_is_written_as_asked(repository, written: str, seen: str) -> None:
    (made,) = parse(repository.convert(f"x {written} y")).iter("data")
    assert "".join(made.itertext()) == seen


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("mlp_eager.kernel_count", True),
        ("gpu_us", True),
        ("mlp_compiled.op_count.Torch-Compiled Region: 1/0", True),
        ("a.kernel_count.at::native::vectorized_elementwise_kernel<4, x>", True),
        ("a.op_count.aten::mm + 1", False),
        ("a.gpu_us * b.gpu_us", False),
        ("a.gpu_us > b.gpu_us", False),
        ("{a.gpu_us}", False),
        ("2 * 8192", False),
        ("round(2.5)", False),
        ("-1", False),
        ("'a'", False),
    ],
)
def test_what_does_not_name_one_fact_is_an_expression(written: str, path: bool) -> None:
    assert is_path(written) is path


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        ("{{ 2 * mlp_eager.gpu_us }}", "a path stands without braces", "write {mlp_eager.gpu_us}, in braces"),
        ("{{ mlp_eager.op_count.aten::mm + 1 }}", "this is no expression", "write {mlp_eager.op_count.aten::mm}, in"),
        ("{{ {mlp_eager.gpu_uss} / 2 }}", "there is no fact 'mlp_eager.gpu_uss'", "did you mean mlp_eager.gpu_us"),
        ("{{ {mlp_eager.gpu_us} / 0 }}", "it divides by zero", "zero first"),
        ("{{ {mlp_eager.gpu_us} > 1 }}", "it comes to True, which is nothing to read", '"yes" if'),
        ("{{ {recording.gpu} * 2 :.1f }}", "cannot be written in the format '.1f'", "Python format"),
        ("{{ {mlp_eager.gpu_us}\n  / 0 }}", "it divides by zero", "zero first"),
    ],
)
def test_a_wrong_expression_is_refused_by_line(repository, written: str, message: str, hint: str) -> None:
    with pytest.raises(PageError) as error:
        repository.page(f"One.\n\nTwo `{{{{ {{a.b}} }}}}`\nand {written}.\n", "a/b.md")
    assert error.value.where == "docs/a/b.md:4"
    assert message in error.value.message and hint in error.value.hint


@pytest.mark.parametrize("code", ["`{{ {a.b} / 2 }}`", "```\n{{ {a.b} / 2 }}\n```", "    {{ 2 * 3 }}"])
def test_an_expression_in_code_is_left_alone(repository, code: str) -> None:
    root = parse(repository.convert(code))
    assert not list(root.iter("data")) and "{{" in text(root)


def test_an_expression_over_a_stage_that_is_not_recorded_says_so_on_a_draft(repository) -> None:
    shutil.rmtree(repository.recording / "mlp_cudagraph")
    page = "# Title\n\nIt is {{ {mlp_eager.gpu_us} / {mlp_cudagraph.gpu_us} :.2f }}.\n"
    with pytest.raises(PageError, match="stage mlp_cudagraph: its recording is missing"):
        repository.page(page)
    repository.write_page("page.md", f"---\ndraft: true\n---\n{page}")
    root = parse(repository.convert(page))
    assert text(only(root, "unrecorded")) == "not recorded yet"
    assert "mlp_cudagraph" in text(only(root, "draft"))


# Another recording than the one that pages are written on


def other_recording(repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second recording, without a fact that the first one has: Nsight Compute was not there."""
    name = "other-gpu_torch-2.11.0"
    shutil.copytree(repository.recording, repository.recording.parent / name)
    stage = repository.recording.parent / name / "mlp_eager" / "stage.json"
    record = json.loads(stage.read_text())
    stage.write_text(json.dumps({**record, "hbm": None, "hbm_missing": "ncu is not there"}))
    monkeypatch.setenv("RECORDING", name)


@pytest.mark.parametrize("written", ["mlp_eager.hbm_mb", "{mlp_eager.hbm_mb} / 2 :.1f"])
def test_what_another_recording_cannot_give_is_a_dash_that_says_why(
    repository, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    text = f"It moves {{{{ {written} }}}} MB.\n"
    assert with_class(parse(repository.page(text)), "missing") == []
    other_recording(repository, monkeypatch)
    (dash,) = with_class(parse(repository.page(text)), "missing")
    assert (dash.tag, dash.text) == ("span", "–")
    assert "ncu is not there" in (dash.get("title") or "")


def test_what_the_first_recording_cannot_give_is_refused(repository) -> None:
    with pytest.raises(PageError, match="were not measured"):
        repository.page("It moves {{ mlp_compiled.hbm_mb }} MB.\n")
