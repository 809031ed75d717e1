"""`/// sweep`: the panels, the table, and what is refused; the numbers are those of small_sweeps.py."""

import math
import re
from itertools import pairwise
from xml.etree.ElementTree import Element

import msgspec
import pytest
import small_sweeps
from html_tree import only, parse, text

from build_traces.errors import PageError
from build_traces.markdown.sweep_picture import CallBar, LogScale, Panel, draw, duration, in_words, scale_of


@pytest.fixture
def swept(repository):
    small_sweeps.add(repository)
    return repository


def every(root: Element, tag: str) -> list[Element]:
    return list(root.iter(tag))


def cells(html: Element) -> list[list[str]]:
    """Every row's cells as they are read, a line break as a space."""
    for line_break in html.iter("br"):
        line_break.tail = f" {line_break.tail or ''}"
    return [[text(cell) for cell in row] for row in every(html, "tr")]


def test_the_table_has_a_call_a_row_and_a_set_up_a_column(swept) -> None:
    html = parse(swept.convert("/// sweep | grow_compiled grow_plain\n///\n"))
    assert cells(html) == [
        ["Call", "compiled", "plain <b>"],
        ["64", "2,100 2,000–2,200 1 graph", "2.10 2.00–2.20 0 graphs"],
        ["32", "510 500–520 2 graphs", "0.510 0.500–0.520 0 graphs"],
        ["1", "6.00 5.00–7.00 2 graphs", "0.00600 0.00500–0.00700 0 graphs"],
    ]
    facts = [data.get("data-fact") for data in every(html, "data")]
    assert facts[:2] == ["grow_compiled.call.64.first_ms", "grow_compiled.call.64.graphs"]
    assert "over 3 processes" in every(html, "data")[0].get("title")


def test_another_time_is_shown_as_a_table_alone(swept) -> None:
    html = parse(swept.convert("/// sweep | grow_compiled\n    show: gpu_us\n///\n"))
    assert cells(html)[1] == ["64", "101 100–102"]
    assert not every(html, "svg")
    assert "in µs: the median of 3 fresh processes" in text(every(html, "figcaption")[0])


def test_a_panel_a_set_up_on_one_scale(swept) -> None:
    html = parse(swept.convert("/// sweep | grow_compiled grow_plain\n///\n"))
    first, second = every(html, "svg")
    assert [svg.get("data-sweep") for svg in (first, second)] == ["grow_compiled", "grow_plain"]
    kinds = [[rect.get("class") for rect in every(svg, "rect")] for svg in (first, second)]
    assert kinds == [["sw-compiled", "sw-compiled", "sw-refused"], ["sw-plain"] * 3]
    # The scale goes from 1 µs to 10 s, seven powers of ten. 2100 ms and 2.1 ms lie three of them apart.
    tops = [float(every(svg, "rect")[0].get("y")) for svg in (first, second)]
    assert tops[1] - tops[0] == pytest.approx(3 * 104 / 7, abs=0.11)
    ticks = [text(label) for label in every(only(first, "sw-axis"), "text")]
    assert ticks == ["0.001 ms", "0.01 ms", "0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]
    assert "call 64: 2.1 s, a graph compiled; call 32: 510 ms, a graph compiled; call 1: 6.0 ms, a compile" in text(
        every(first, "desc")[0]
    )
    ids = re.findall(r'id="([^"]+)"', swept.convert("/// sweep | grow_compiled grow_plain\n///\n"))
    assert len(ids) == len(set(ids)) and len(ids) >= 6


def test_the_legend_names_what_is_in_the_picture(swept) -> None:
    both = parse(swept.convert("/// sweep | grow_compiled grow_plain\n///\n"))
    plain = parse(swept.convert("/// sweep | grow_plain\n///\n"))
    assert len(every(only(both, "sweep-legend"), "span")) == 3
    assert [text(span) for span in every(only(plain, "sweep-legend"), "span")] == ["no graph"]


def test_names_are_text_and_nothing_else(swept) -> None:
    html = swept.convert("/// sweep | grow_plain\n///\n")
    assert "<b>" not in html and "plain &lt;b&gt;" in html


def test_processes_that_differ_are_told_in_the_cell(swept) -> None:
    made = small_sweeps.record(swept, "grow_compiled")
    last = made.processes[2]
    calls = (last.calls[0], msgspec.structs.replace(last.calls[1], graphs=()), last.calls[2])
    processes = (*made.processes[:2], msgspec.structs.replace(last, calls=calls))
    small_sweeps.write(swept, msgspec.structs.replace(made, processes=processes))
    html = parse(swept.convert("/// sweep | grow_compiled\n///\n"))
    assert cells(html)[2] == ["32", "510 500–520 2; 1 graphs, by process"]
    assert [rect.get("class") for rect in every(html, "rect")][1] == "sw-compiled", "two of three compiled"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("/// sweep | mlp_eager\n///\n", "no sweep 'mlp_eager'"),
        ("/// sweep | grow_compile\n///\n", "did you mean grow_compiled"),
        ("/// sweep | grow_plain\n    show: graphs\n///\n", "no time of a call 'graphs'"),
        ("/// kernels | grow_plain\n///\n", "grow_plain is a sweep and no stage"),
        ("/// sweep\n///\n", "needs a stage"),
    ],
)
def test_what_cannot_be_shown_ends_the_build(swept, written: str, says: str) -> None:
    with pytest.raises(PageError) as caught:
        swept.convert(written)
    assert says in str(caught.value)


def test_sweeps_with_other_calls_are_not_shown_in_one_table(swept) -> None:
    made = small_sweeps.record(swept, "grow_plain")
    processes = tuple(msgspec.structs.replace(p, calls=p.calls[:2]) for p in made.processes)
    small_sweeps.write(swept, msgspec.structs.replace(made, processes=processes))
    with pytest.raises(PageError, match="grow_plain makes other calls than grow_compiled"):
        swept.convert("/// sweep | grow_compiled grow_plain\n///\n")


def test_a_stale_sweep_ends_the_build_and_a_missing_one_but_for_a_draft(swept) -> None:
    (swept.root / "snippets" / "grow.py").write_text("SHAPES = 4\n", encoding="utf-8")
    with pytest.raises(PageError, match="its recording is stale"):
        swept.convert("{{ grow_plain.graphs }}")
    for name in ("grow_plain", "grow_compiled"):
        (swept.recording / name / "sweep.json").unlink()
    with pytest.raises(PageError, match="its recording is missing"):
        swept.convert("/// sweep | grow_plain\n///\n")
    page = swept.write_page(
        "chapters/draft.md",
        "---\ndraft: true\n---\n\n{{ grow_plain.graphs }} and {{ 2 * {grow_plain.graphs} }}\n\n"
        "/// sweep | grow_plain grow_compiled\n///\n",
    )
    html = swept.convert(page.read_text(encoding="utf-8").partition("---\n\n")[2])
    assert html.count("not recorded yet") >= 3


def test_the_reference_lists_every_fact_of_a_sweep(swept) -> None:
    html = swept.convert("/// facts\n///\n")
    assert "&lt;<wbr>sweep&gt;.first_<wbr>calls_<wbr>ms" in html
    assert "&lt;<wbr>sweep&gt;.call.&lt;<wbr>call&gt;.gpu_<wbr>us" in html
    assert 'data-fact="grow_compiled.call.64.gpu_us"' in html


# The picture by itself


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0.31, "0.31 ms"),
        (0.0997, "0.10 ms"),
        (9.96, "10 ms"),
        (2.94, "2.9 ms"),
        (244.0, "240 ms"),
        (999.0, "1000 ms"),
        (1000.0, "1.0 s"),
        (2949.0, "2.9 s"),
        (12_345.0, "12 s"),
    ],
)
def test_a_duration_has_two_digits_and_its_unit(ms: float, told: str) -> None:
    assert duration(ms) == told


def test_the_scale_covers_all_times_by_whole_powers_of_ten() -> None:
    panels = [Panel("a", "A", (CallBar("1", 0.3, "plain"), CallBar("2", 2900.0, "compiled")))]
    assert scale_of(panels) == LogScale(-1, 4)
    assert scale_of([Panel("a", "A", (CallBar("1", 10.0, "plain"),))]) == LogScale(1, 2)


def test_bars_stand_on_the_lowest_power_and_labels_do_not_touch() -> None:
    bars = tuple(CallBar(str(n), 900.0, "compiled") for n in range(11))
    svg = draw(Panel("a", "A", bars), LogScale(-1, 3), "p-1")
    rects = every(svg, "rect")
    bottoms = {round(float(r.get("y")) + float(r.get("height")), 1) for r in rects}
    assert bottoms == {22 + 14 + 104.0}
    middles = [float(r.get("x")) + float(r.get("width")) / 2 for r in rects]
    gaps = {round(b - a, 1) for a, b in pairwise(middles)}
    assert gaps == {41.0}, "a value of seven characters of 9 px takes 38 px"
    assert math.isclose(float(svg.get("width")), 52 + 11 * 41 + 6)


def test_a_panel_of_seven_calls_fits_a_telephone() -> None:
    bars = tuple(CallBar(str(n), 1.0, "plain") for n in range(7))
    assert float(draw(Panel("a", "A", bars), LogScale(-1, 3), "p-1").get("width")) <= 346


def test_the_words_say_what_each_call_took() -> None:
    panel = Panel("a", "A", (CallBar("64", 2900.0, "compiled"), CallBar("32", 0.3, "plain")))
    assert in_words(panel) == "call 64: 2.9 s, a graph compiled; call 32: 0.30 ms."
