"""The pictures with axes: where things lie, worked out by hand, and what they say in words."""

import math
import re
from xml.etree.ElementTree import Element

import msgspec
import pytest
from html_tree import cells, only, parse, text, with_class

from build_traces.errors import PageError
from build_traces.markdown import roofline
from build_traces.markdown.plot import CHARACTER_WIDTH, Scale, spaced
from build_traces.recording import Ceilings, middle_nine_tenths


def figure(repository, header: str) -> Element:
    (found,) = with_class(parse(repository.page(f"Text.\n\n/// {header}\n///\n", "page.md")), "trace-block")
    return found


@pytest.mark.parametrize(
    ("scale", "value", "pixel"),
    [
        (Scale(0, 10, 100, 200), 5, 150),
        (Scale(0, 10, 200, 100), 1, 190),  # upwards, as y is
        (Scale(1, 100, 0, 200, log=True), 10, 100),
        (Scale(10, 1000, 0, 100, log=True), 1000, 100),
    ],
)
def test_a_value_lies_in_proportion(scale: Scale, value: float, pixel: float) -> None:
    assert scale.at(value) == pytest.approx(pixel)


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(216, 248, 0, 1), [220, 225, 230, 235, 240, 245]),
        (Scale(0, 1, 0, 1), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        (Scale(70, 600, 0, 1, log=True), [100, 200, 500]),
        (Scale(250, 830, 0, 1, log=True), [300, 400, 500, 600, 700, 800]),
        (Scale(0.9, 11, 0, 1, log=True), [1, 2, 5, 10]),
    ],
)
def test_ticks_are_round_numbers_within_the_ends(scale: Scale, ticks: list[float]) -> None:
    assert scale.ticks() == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([10, 50], [10, 50]),
        ([50, 10], [50, 10]),
        ([10, 12, 14], [10, 20, 30]),
        ([95, 96], [90, 100]),
        ([5, 5], [5, 15]),
        ([-20], [0]),
        ([1] * 21, [5.0 * n for n in range(21)]),
    ],
)
def test_names_are_spaced_and_keep_their_order(wanted: list[float], placed: list[float]) -> None:
    assert spaced(wanted, 10, 0, 100) == pytest.approx(placed)


def test_the_middle_nine_tenths_of_a_hundred_and_one_values() -> None:
    assert middle_nine_tenths([float(n) for n in range(101)]) == pytest.approx((5.0, 95.0))
    assert middle_nine_tenths([3.0]) == (3.0, 3.0)


def test_a_distribution_has_a_line_a_process_and_a_mark_at_its_median(repository) -> None:
    made = figure(repository, "distribution | mlp_eager mlp_compiled")
    groups = with_class(made, "plot-stage")
    assert [group.get("data-stage") for group in groups] == ["mlp_eager", "mlp_compiled"]
    assert [len(with_class(group, "plot-range")) for group in groups] == [5, 5]
    # From 80 - 9 µs (mlp_compiled, process 0) to 114 + 18 (mlp_eager, process 4); a 25th of that is free at each end.
    scale = Scale(71 - 61 / 25, 132 + 61 / 25, 190, 740)
    assert [float(mark.get("cx") or 0) for mark in with_class(groups[0], "plot-mark")] == pytest.approx(
        [scale.at(110 + n) for n in range(5)], abs=0.01
    )
    first = with_class(groups[1], "plot-range")[0]
    assert [float(first.get(end) or 0) for end in ("x1", "x2")] == pytest.approx([scale.at(71), scale.at(98)], abs=0.01)
    assert (
        text(only(made, "figure-says"))
        == "mlp_eager: medians from 110.0 to 114.0 µs. mlp_compiled: medians from 80.0 to 84.0 µs."
    )
    assert "5 processes" in text(made[0]) and "3 timed steps" in text(made[0])


def test_a_cold_stage_has_no_distribution(repository) -> None:
    with pytest.raises(PageError, match=r"page.md:3: stage linear_cold is cold: its first steps have no distribution"):
        figure(repository, "distribution | linear_cold")


def test_the_roofline_has_the_measured_ceilings_and_each_stage_under_them(repository) -> None:
    made = figure(repository, "roofline | mlp_eager")
    # The faster GEMM ceiling has the median 25 TFLOP/s, the copy 4.1 TB/s; 1.12 GFLOP in 537 MB and 112 µs.
    said = text(next(made.iter("desc")))
    assert said == (
        "Ceilings: 25.0 TFLOP/s for GEMMs and 4.10 TB/s for HBM. mlp_eager: 10.0 TFLOP/s at 2.09 operations a byte."
    )
    ridge = 25 / 4.1
    slope, roof = with_class(made, "plot-roof")
    low = min(ridge / 2, 1120 / 537) / 1.1
    x = Scale(low, ridge * 2 * 1.1, float(slope.get("x1") or 0), float(roof.get("x2") or 0), log=True)
    assert float(slope.get("x2") or 0) == float(roof.get("x1") or 0) == pytest.approx(x.at(ridge), abs=0.02)
    assert roof.get("y1") == roof.get("y2") == slope.get("y2")
    (mark,) = with_class(made, "plot-mark")
    assert float(mark.get("cx") or 0) == pytest.approx(x.at(1120 / 537), abs=0.02)
    # On log axes a point a factor f below the roof lies as far under it wherever it is.
    y_roof, y_low = float(roof.get("y1") or 0), float(slope.get("y1") or 0)
    a_factor = (y_low - y_roof) / math.log(25 / (low * 4.1))
    assert float(mark.get("cy") or 0) - y_roof == pytest.approx(a_factor * math.log(25 / 10), abs=0.05)
    assert [row[0] for row in cells(only(made, "measures"))] == ["MLP"] or cells(only(made, "measures"))[0][
        3
    ].startswith("10.0")


@pytest.mark.parametrize(
    ("intensity", "tflops", "anchor"),
    [(11.0, 25.5, "start"), (11.0, 12.0, "end"), (6.2, 25.0, "end")],
    ids=["above its end", "far below its end", "at the ridge"],
)
def test_the_roofs_name_makes_way_for_a_point(intensity: float, tflops: float, anchor: str) -> None:
    ceilings = Ceilings((4.1e12,), (25e12,), (24e12,))
    drawn = roofline._draw([roofline.Point("mlp", intensity, tflops)], ceilings, "id")
    (name,) = [e for e in with_class(drawn, "plot-roof-name") if "GEMM" in text(e)]
    (mark,) = with_class(drawn, "plot-mark")
    assert (name.get("text-anchor") == "end") == (anchor == "end")
    width = len("GEMM, 25.0 TFLOP/s") * CHARACTER_WIDTH
    left = float(name.get("x") or 0) - (width if anchor == "end" else 0)
    beside = not left <= float(mark.get("cx") or 0) <= left + width
    assert beside or float(mark.get("cy") or 0) > float(name.get("y") or 0) + 7


def test_a_point_above_the_roof_is_in_the_picture() -> None:
    drawn = roofline._draw([roofline.Point("mlp", 11.0, 40.0)], Ceilings((4.1e12,), (25e12,), (24e12,)), "id")
    (mark,) = with_class(drawn, "plot-mark")
    assert float(mark.get("cy") or 0) > roofline.TOP


def test_a_stage_without_hbm_bytes_has_no_place_under_the_roof_and_a_row_that_says_why(repository) -> None:
    made = figure(repository, "roofline | mlp_eager mlp_compiled")
    assert [point.get("data-stage") for point in with_class(made, "plot-point")] == ["mlp_eager"]
    assert [row[-3] for row in cells(only(made, "measures"))] == ["2.09", "–"]
    alone = figure(repository, "roofline | mlp_compiled")
    assert list(alone.iter("svg")) == []
    assert "no stage has a place" in text(with_class(alone, "missing")[0])


def test_measures_are_facts_with_their_ranges(repository) -> None:
    made = figure(repository, "measures | mlp_eager mlp_compiled\n    facts: time_us peak_mb hbm_mb")
    heads = [text(head) for head in made.iter("th") if head.get("scope") == "col"]
    assert heads == ["Stage", "GPU time, µs", "Peak memory, MB", "HBM read and written, MB"]
    eager, compiled = cells(only(made, "measures"))
    assert eager[-3:] == ["112110–114", "152150–154", "537"]
    assert compiled[-1] == "–"
    assert {fact.get("data-fact") for fact in made.iter("data")} >= {"mlp_eager.time_us", "mlp_compiled.peak_mb"}
    assert re.search("ncu is not there", " ".join(e.get("title") or "" for e in made.iter("span")))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("", "block 'measures' needs facts"),
        ("\n    facts: time_us tempo", "there is no fact with a heading in this table 'tempo'"),
    ],
)
def test_measures_refuse_what_they_cannot_head(repository, option: str, message: str) -> None:
    with pytest.raises(PageError, match=f"page.md:3: {message}"):
        figure(repository, f"measures | mlp_eager{option}")


def test_a_range_that_is_one_value_is_not_written_twice(repository) -> None:
    record = repository.record("mlp_eager")
    same = tuple(msgspec.structs.replace(p, error=0.004) for p in record.processes)
    repository.write_stage(msgspec.structs.replace(record, processes=same))
    made = figure(repository, "measures | mlp_eager\n    facts: error")
    assert cells(only(made, "measures"))[0][-1] == "0.00400"
