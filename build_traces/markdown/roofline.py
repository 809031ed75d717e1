"""`/// roofline | stages`: what each stage reaches under the two measured ceilings, as SVG and as a table."""

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from build_traces.facts import Facts
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, scrolling
from build_traces.markdown.measures import measures_table
from build_traces.markdown.plot import CHARACTER_WIDTH, WIDTH, Scale, line, px, spaced, svg, text, x_axis, y_axis
from build_traces.markdown.value import shown
from build_traces.recording import Ceilings
from build_traces.stage_view import StageView

LEFT, TOP, BOTTOM, HEIGHT = 56, 26, 44, 380
LABEL_GAP = 15
ABOVE = 7
"""Pixels between a ceiling and its name."""
LEADER = 24
"""Pixels between the plot and the names beside it."""


@dataclass(frozen=True)
class Point:
    """A stage: operations for each HBM byte, and TFLOP/s."""

    stage: str
    intensity: float
    tflops: float


class Roofline(TraceBlock):
    """Ceilings as measured; a stage without HBM bytes has no place in the picture, and its row says why."""

    NAME = "roofline"
    SEARCHED = False
    MANY = True

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The SVG with a name at every point, and the numbers below it."""
        points = [_point(conversion.facts, view) for view in stages if view.record.hbm is not None]
        ceilings = stages[0].recording.environment.ceilings
        figure = figure_of(
            self.NAME,
            None,
            scrolling("Roofline", _draw(points, ceilings, conversion.new_id("roofline")))
            if points
            else element("p", "HBM bytes were not measured, so no stage has a place under the roof.", class_="missing"),
            measures_table(conversion, stages, ["time_us", "intensity", "tflops", "ceiling_share"]),
            caption=("Both axes are logarithmic. The lines are ceilings that were measured, the points are stages.",),
        )
        figure.set("data-stage", " ".join(view.stage.name for view in stages))
        return figure


def _point(facts: Facts, view: StageView) -> Point:
    name = view.stage.name
    return Point(name, float(facts.get(f"{name}.intensity").value), float(facts.get(f"{name}.tflops").value))


def ridge(ceilings: Ceilings) -> float:
    """Operations a byte where the two ceilings meet."""
    return ceilings.best_gemm_flops_per_s / ceilings.usual_copy_bytes_per_s


def _draw(points: list[Point], ceilings: Ceilings, id_: str) -> Element:
    peak, bandwidth = ceilings.best_gemm_flops_per_s / 1e12, ceilings.usual_copy_bytes_per_s / 1e12
    names_px = max(len(point.stage) for point in points) * CHARACTER_WIDTH
    right = WIDTH - names_px - LEADER - 8
    low = min(ridge(ceilings) / 2, *(point.intensity for point in points)) / 1.1
    high = max(ridge(ceilings) * 2, *(point.intensity for point in points)) * 1.1
    floor = min(low * bandwidth, *(point.tflops for point in points)) / 1.1
    x = Scale(low, high, LEFT, right, log=True)
    top = max(peak, *(point.tflops for point in points)) * 1.15
    y = Scale(floor, top, HEIGHT - BOTTOM, TOP, log=True)
    meets = ridge(ceilings)
    picture = svg(
        id_,
        "Roofline",
        _in_words(points, peak, bandwidth),
        HEIGHT,
        x_axis(x, TOP, HEIGHT - BOTTOM, "operations for each HBM byte"),
        y_axis(y, LEFT, right, "TFLOP/s"),
        line(x.at(low), y.at(low * bandwidth), x.at(meets), y.at(peak), "plot-roof"),
        line(x.at(meets), y.at(peak), x.at(high), y.at(peak), "plot-roof"),
        _roof_name(points, x, y, meets, peak),
        _slope_name(x, y, low, bandwidth),
    )
    places = spaced([y.at(point.tflops) for point in points], LABEL_GAP, TOP + 6, HEIGHT - BOTTOM)
    for point, place in zip(points, places, strict=True):
        append(picture, _mark(point, x.at(point.intensity), y.at(point.tflops), right, place))
    return picture


def _roof_name(points: list[Point], x: Scale, y: Scale, meets: float, peak: float) -> Element:
    """At the roof's end, or at the ridge where a point stands in the way: the roof is a rate that was measured once."""
    name = f"GEMM, {shown(peak)} TFLOP/s"
    end = x.at(x.high) - 4
    left, lowest = end - len(name) * CHARACTER_WIDTH - ABOVE, y.at(peak) + ABOVE
    if any(x.at(point.intensity) >= left and y.at(point.tflops) <= lowest for point in points):
        return text(name, x.at(meets) + 4, y.at(peak) - ABOVE, class_="plot-roof-name")
    return text(name, end, y.at(peak) - ABOVE, "end", "plot-roof-name")


def _slope_name(x: Scale, y: Scale, low: float, bandwidth: float) -> Element:
    slope = math.atan2(y.at(low * 2 * bandwidth) - y.at(low * bandwidth), x.at(low * 2) - x.at(low))
    start = low * 1.1
    at_x = x.at(start) + ABOVE * math.sin(slope)
    at_y = y.at(start * bandwidth) - ABOVE * math.cos(slope)
    name = text(f"HBM, {shown(bandwidth)} TB/s", at_x, at_y, class_="plot-roof-name")
    name.set("transform", f"rotate({math.degrees(slope):.2f} {at_x:.2f} {at_y:.2f})")
    return name


def _mark(point: Point, x: float, y: float, right: float, label_y: float) -> Element:
    said = f"{point.stage}: {shown(point.tflops)} TFLOP/s at {shown(point.intensity)} operations a byte"
    return element(
        "g",
        element("title", said),
        line(x, y, right + LEADER - 4, label_y - 4, "plot-leader"),
        element("circle", cx=px(x), cy=px(y), r="4", class_="plot-mark"),
        text(point.stage, right + LEADER, label_y, class_="plot-name"),
        class_="plot-point",
        data_stage=point.stage,
    )


def _in_words(points: list[Point], peak: float, bandwidth: float) -> str:
    reached = " ".join(
        f"{p.stage}: {shown(p.tflops)} TFLOP/s at {shown(p.intensity)} operations a byte." for p in points
    )
    return f"Ceilings: {shown(peak)} TFLOP/s for GEMMs and {shown(bandwidth)} TB/s for HBM. {reached}"
