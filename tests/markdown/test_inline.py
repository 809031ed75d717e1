"""Facts in the text: formats, code that stays code, stamps, and paths that look like formats."""

import pytest
from html_tree import parse, text

from build_traces.errors import FactError, PageError
from build_traces.markdown.inline import split
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


def test_an_unknown_fact_names_page_line_and_neighbours(repository) -> None:
    with pytest.raises(PageError) as error:
        repository.page("One.\n\nTwo `{{ mlp_eager.kernel_cuont }}`\nand {{ mlp_eager.kernel_cuont }}.\n", "a/b.md")
    assert str(error.value).startswith(
        "docs/a/b.md:4: there is no fact 'mlp_eager.kernel_cuont'\n  next: did you mean mlp_eager.kernel_count"
    )
