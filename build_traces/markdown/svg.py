"""Draw lanes as SVG: one time scale for all stages, colors by class only, readable without scripts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from build_traces.markdown.html import append, element, says_id
from build_traces.markdown.lanes import Bar, Lanes, Link, idle_spans
from build_traces.markdown.value import shown

WIDTH = 760
LEFT = 100
RIGHT = 16
AXIS_HEIGHT = 24
TITLE_HEIGHT = 26
GAP_HEIGHT = 24
"""Between CPU and GPU, for the lines from launches to what they started."""
ROW_HEIGHT = 17
BAR_HEIGHT = 15
FONT_SIZE = 11
CHARACTER_WIDTH = 6.7
"""Of a monospace font at FONT_SIZE, rounded up: a label is drawn only where it surely fits."""
LABEL_PADDING = 6
FEWEST_CHARACTERS = 8
"""A label that does not fit is cut, down to this many characters; a shorter one is left out."""
MOST_TICKS = 10


@dataclass(frozen=True)
class Scale:
    """µs to pixels."""

    px_per_us: float

    def x(self, us: float) -> str:
        """Where a moment is."""
        return _px(LEFT + us * self.px_per_us)

    def width(self, us: float) -> str:
        """How long a duration is."""
        return _px(us * self.px_per_us)


def draw(stages: Sequence[Lanes], id_: str, title: str) -> Element:
    """The picture of these stages above each other; drawn at its own size, never scaled down.

    What it shows is said by the element that has `says_id(id_)`.
    """
    end_us = max(lanes.end_us for lanes in stages)
    scale = Scale((WIDTH - LEFT - RIGHT) / (end_us or 1.0))
    height = 2 * AXIS_HEIGHT + sum(map(_height, stages))
    svg = element(
        "svg",
        element("title", title, id=f"{id_}-title"),
        _hatching(f"{id_}-hatch"),
        _axis(end_us, scale, height),
        class_="timeline",
        role="img",
        aria_labelledby=f"{id_}-title {says_id(id_)}",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=str(WIDTH),
        height=str(height),
        font_size=str(FONT_SIZE),
        style=f"min-width: {WIDTH}px",
        data_px_per_us=f"{scale.px_per_us:.6f}",
    )
    top = AXIS_HEIGHT
    for lanes in stages:
        append(svg, _stage(lanes, scale, top, f"{id_}-hatch"))
        top += _height(lanes)
    return svg


def label_that_fits(label: str, width_px: float) -> str:
    """The label, or its beginning and an ellipsis, or nothing."""
    most = math.floor((width_px - LABEL_PADDING) / CHARACTER_WIDTH)
    if len(label) <= most:
        return label
    return f"{label[: most - 1]}…" if most >= FEWEST_CHARACTERS else ""


def tick_step(end_us: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that needs at most MOST_TICKS ticks."""
    power = 10.0 ** math.floor(math.log10(end_us / MOST_TICKS)) if end_us > 0 else 1.0
    return next(power * m for m in (1, 2, 5, 10) if power * m * MOST_TICKS >= end_us)


def _hatching(id_: str) -> Element:
    """Slanted lines over pointwise kernels: the second most common kind is told from GEMMs without color."""
    lines = element("path", d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2", class_="tl-hatch")
    pattern = element("pattern", lines, id=id_, width="6", height="6", patternUnits="userSpaceOnUse")
    return element("defs", pattern)


def _axis(end_us: float, scale: Scale, height: int) -> Element:
    axis = element("g", class_="tl-axis")
    step = tick_step(end_us)
    for n in range(math.floor(end_us / step) + 1):
        x = scale.x(n * step)
        append(axis, element("line", x1=x, x2=x, y1=str(AXIS_HEIGHT - 4), y2=str(height - AXIS_HEIGHT + 4)))
        unit = " µs" if n == 0 else ""
        for y in (AXIS_HEIGHT - 9, height - 8):
            append(axis, element("text", f"{n * step:g}{unit}", x=x, y=str(y), text_anchor="middle"))
    return axis


def _height(lanes: Lanes) -> int:
    return TITLE_HEIGHT + lanes.rows * ROW_HEIGHT + GAP_HEIGHT


@dataclass(frozen=True)
class Rows:
    """Row numbers to pixels: the rows of the GPU stand below a gap."""

    top: int
    first_gpu_row: int

    def y(self, row: int) -> int:
        """The upper edge of a row."""
        return self.top + TITLE_HEIGHT + row * ROW_HEIGHT + (GAP_HEIGHT if row >= self.first_gpu_row else 0)


def _stage(lanes: Lanes, scale: Scale, top: int, hatch: str) -> Element:
    rows = Rows(top, lanes.first_gpu_row)
    group = element("g", class_="tl-stage", data_stage=lanes.stage)
    append(group, element("text", lanes.stage, class_="tl-title", x="4", y=str(top + 17)))
    for lane in lanes.lanes:
        append(group, element("text", lane.name, class_="tl-lane", x="4", y=str(rows.y(lane.row) + 12)))
    for link in lanes.links:
        append(group, _link(link, scale, rows))
    for lane in lanes.lanes:
        on_lane = [bar for bar in lanes.gpu_bars if bar.row == lane.row]
        for start_us, end_us in idle_spans(on_lane):
            append(group, _idle(start_us, end_us, scale, rows.y(lane.row)))
    for bar in (*lanes.cpu_bars, *lanes.gpu_bars):
        _bar(group, bar, scale, rows, hatch)
    return group


def _idle(start_us: float, end_us: float, scale: Scale, y: int) -> Element:
    middle = str(y + BAR_HEIGHT // 2)
    said = f"idle\n{shown(end_us - start_us)} µs, from {shown(start_us)} µs"
    ends = {"x1": scale.x(start_us), "x2": scale.x(end_us), "y1": middle, "y2": middle}
    return element("line", element("title", said), class_="tl-idle", **ends)


def _bar(group: Element, bar: Bar, scale: Scale, rows: Rows, hatch: str) -> None:
    y = rows.y(bar.row)
    rect = element(
        "rect",
        element("title", f"{bar.name}\n{shown(bar.dur_us)} µs, from {shown(bar.start_us)} µs"),
        class_=f"tl-{bar.kind}",
        x=scale.x(bar.start_us),
        y=str(y),
        width=scale.width(bar.dur_us),
        height=str(BAR_HEIGHT),
    )
    append(group, rect)
    if bar.kind == "pointwise":
        places = {name: str(rect.get(name)) for name in ("x", "y", "width", "height")}
        append(group, element("rect", class_="tl-over", fill=f"url(#{hatch})", **places))
    label = label_that_fits(bar.label, bar.dur_us * scale.px_per_us)
    if label:
        x = _px(LEFT + bar.start_us * scale.px_per_us + LABEL_PADDING / 2)
        append(group, element("text", label, class_="tl-label", x=x, y=str(y + 11)))


def _link(link: Link, scale: Scale, rows: Rows) -> Element:
    return element(
        "line",
        class_="tl-link",
        x1=scale.x(link.launch.start_us),
        y1=str(rows.y(link.launch.row) + BAR_HEIGHT),
        x2=scale.x(link.started.start_us),
        y2=str(rows.y(link.started.row)),
    )


def _px(value: float) -> str:
    return f"{value:.2f}"
