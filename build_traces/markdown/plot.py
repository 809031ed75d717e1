"""What the pictures with axes share: scales, ticks, and the SVG around them. Colors by class only."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from build_traces.markdown.html import append, element, says_id

WIDTH = 760
FONT_SIZE = 11
CHARACTER_WIDTH = 6.7
"""Of a monospace font at FONT_SIZE, rounded up."""
ROUND_NUMBERS = (1, 2, 5)
LONG_RANGE = 8
"""From here on a log axis has room for few numbers in each power of ten."""


@dataclass(frozen=True)
class Scale:
    """Values to pixels: `low` lies at pixel `start`, `high` at pixel `end`, on a log scale if asked for."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies; outside the ends if the value is."""
        low, high, value = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self, most: int = 10) -> list[float]:
        """Round numbers within the ends: of a log scale multiples of powers of ten, else evenly spaced."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = ROUND_NUMBERS if self.high / self.low >= LONG_RANGE else range(1, 10)
            found = [m * 10.0**power for power in powers for m in steps]
        else:
            power = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
            step = next(power * m for m in (*ROUND_NUMBERS, 10) if power * m * most >= self.high - self.low)
            found = [step * n for n in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        return [value for value in found if self.low <= value <= self.high]


def px(value: float) -> str:
    """Pixels as SVG has them."""
    return f"{value:.2f}"


def svg(id_: str, title: str, description: str | None, height: float, *content: Element) -> Element:
    """A picture of the width of the column, never scaled below its own size.

    Without a description the caption says what it shows, in the element that has `says_id(id_)`.
    """
    desc_id = f"{id_}-desc"
    return element(
        "svg",
        element("title", title, id=f"{id_}-title"),
        *([] if description is None else [element("desc", description, id=desc_id)]),
        *content,
        class_="plot",
        role="img",
        aria_labelledby=f"{id_}-title {says_id(id_) if description is None else desc_id}",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        width=str(WIDTH),
        height=f"{height:g}",
        font_size=str(FONT_SIZE),
        style=f"min-width: {WIDTH}px",
    )


def text(content: str, x: float, y: float, anchor: str = "start", class_: str = "") -> Element:
    """Words at a place."""
    made = element("text", content, x=px(x), y=px(y), text_anchor=anchor)
    if class_:
        made.set("class", class_)
    return made


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    """A line between two places."""
    return element("line", x1=px(x1), y1=px(y1), x2=px(x2), y2=px(y2), class_=class_)


def x_axis(
    scale: Scale, top: float, bottom: float, unit: str, write: Callable[[float], str] = "{:g}".format
) -> Element:
    """Upright lines at the ticks, numbers below them, and the unit at the right end."""
    axis = element("g", class_="plot-axis")
    for value in scale.ticks():
        append(axis, line(scale.at(value), top, scale.at(value), bottom, "plot-grid"))
        append(axis, text(write(value), scale.at(value), bottom + 14, "middle"))
    append(axis, text(unit, scale.end, bottom + 30, "end"))
    return axis


def y_axis(
    scale: Scale, left: float, right: float, unit: str, write: Callable[[float], str] = "{:g}".format
) -> Element:
    """Level lines at the ticks, numbers left of them, and the unit above."""
    axis = element("g", class_="plot-axis")
    for value in scale.ticks():
        append(axis, line(left, scale.at(value), right, scale.at(value), "plot-grid"))
        append(axis, text(write(value), left - 6, scale.at(value) + 4, "end"))
    append(axis, text(unit, left, min(scale.start, scale.end) - 10))
    return axis


def spaced(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near those wanted, in their order, at least `gap` apart and between `low` and `high`.

    Pushed down where they crowd, then up from the bottom; with no room for all they are spread evenly.
    """
    if len(wanted) > 1 and (high - low) / (len(wanted) - 1) < gap:
        return [low + n * (high - low) / (len(wanted) - 1) for n in range(len(wanted))]
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    placed = [0.0] * len(wanted)
    below = low - gap
    for n in order:
        below = placed[n] = max(wanted[n], below + gap, low)
    above = high + gap
    for n in reversed(order):
        above = placed[n] = min(placed[n], above - gap)
    return placed
