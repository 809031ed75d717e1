"""Draw what the first time of each call took: a panel a set-up, all on one logarithmic scale.

A bar is filled where torch compiled a graph, hatched where it began one and gave up, and an outline where it did
neither, so that nothing hangs on color. Panels are narrow enough for a telephone, and stand side by side elsewhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from build_traces.markdown.html import append, element

LEFT = 52
RIGHT = 6
TITLE_HEIGHT = 22
PLOT_HEIGHT = 104
LABEL_ROOM = 14
"""Above the highest bar, for its value."""
NAMES_HEIGHT = 20
NARROWEST = 330
CALL_WIDTH = 41
"""A value has seven characters at most, and no two may touch."""
BAR_SHARE = 0.6
FONT_SIZE = 11
VALUE_SIZE = 9


@dataclass(frozen=True)
class CallBar:
    """One call; `kind` is compiled, refused or plain."""

    name: str
    ms: float
    kind: str


@dataclass(frozen=True)
class Panel:
    """One set-up."""

    sweep: str
    title: str
    bars: tuple[CallBar, ...]


@dataclass(frozen=True)
class LogScale:
    """Milliseconds to pixels, over whole powers of ten."""

    low: int
    high: int

    def y(self, ms: float) -> float:
        """How far below the top of a panel a time stands."""
        share = (math.log10(ms) - self.low) / (self.high - self.low)
        return TITLE_HEIGHT + LABEL_ROOM + PLOT_HEIGHT * (1 - share)


def scale_of(panels: Sequence[Panel]) -> LogScale:
    """The powers of ten around all times."""
    times = [bar.ms for panel in panels for bar in panel.bars]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    return LogScale(low, max(high, low + 1))


def draw(panel: Panel, scale: LogScale, id_: str) -> Element:
    """One panel as SVG, at its own size."""
    plot = max(NARROWEST - LEFT - RIGHT, CALL_WIDTH * len(panel.bars))
    width, height = LEFT + plot + RIGHT, TITLE_HEIGHT + LABEL_ROOM + PLOT_HEIGHT + NAMES_HEIGHT
    svg = element(
        "svg",
        element("title", f"First time of each call, {panel.title}", id=f"{id_}-title"),
        element("desc", in_words(panel), id=f"{id_}-desc"),
        _hatching(id_),
        _axis(scale, width),
        element("text", panel.title, class_="sw-title", x=str(LEFT), y="13"),
        class_="sweep-panel",
        role="img",
        aria_labelledby=f"{id_}-title {id_}-desc",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        font_size=str(FONT_SIZE),
        data_sweep=panel.sweep,
    )
    step = plot / len(panel.bars)
    for at, bar in enumerate(panel.bars):
        _bar(svg, bar, LEFT + (at + 0.5) * step, step * BAR_SHARE, scale, id_)
    return svg


def in_words(panel: Panel) -> str:
    """What the picture shows, for those who do not see it."""
    said = {"compiled": ", a graph compiled", "refused": ", a compile given up", "plain": ""}
    return "; ".join(f"call {bar.name}: {duration(bar.ms)}{said[bar.kind]}" for bar in panel.bars) + "."


def duration(ms: float) -> str:
    """A time in the unit it is read in, with two digits: 2.9 s, 240 ms, 0.31 ms."""
    value, unit = (ms / 1e3, "s") if ms >= 1e3 else (ms, "ms")
    return f"{_two_digits(value)} {unit}"


def _two_digits(value: float) -> str:
    rounded = float(f"{value:.2g}")
    decimals = max(0, 1 - math.floor(math.log10(rounded)))
    return f"{rounded:.{decimals}f}"


def _hatching(id_: str) -> Element:
    lines = element("path", d="M0 4L4 0", class_="sw-hatch")
    pattern = element("pattern", lines, id=f"{id_}-hatch", width="4", height="4", patternUnits="userSpaceOnUse")
    return element("defs", pattern)


def _axis(scale: LogScale, width: int) -> Element:
    axis = element("g", class_="sw-axis")
    for power in range(scale.low, scale.high + 1):
        y = _px(scale.y(10.0**power))
        append(axis, element("line", x1=str(LEFT - 4), x2=str(width - RIGHT), y1=y, y2=y))
        label = f"{10 ** (power - 3):g} s" if power >= 3 else f"{10.0**power:g} ms"
        append(axis, element("text", label, x=str(LEFT - 8), y=_px(float(y) + 4), text_anchor="end"))
    return axis


def _bar(svg: Element, bar: CallBar, middle: float, width: float, scale: LogScale, id_: str) -> None:
    top, bottom = scale.y(bar.ms), scale.y(10.0**scale.low)
    rect = element(
        "rect",
        element("title", f"{bar.name}: {duration(bar.ms)}"),
        class_=f"sw-{bar.kind}",
        x=_px(middle - width / 2),
        y=_px(top),
        width=_px(width),
        height=_px(max(bottom - top, 1.0)),
    )
    if bar.kind == "refused":
        rect.set("fill", f"url(#{id_}-hatch)")
    append(svg, rect)
    value = duration(bar.ms)
    append(svg, _text(value, middle, top - 4, "sw-value", VALUE_SIZE))
    append(svg, _text(bar.name, middle, bottom + 14, "sw-name", FONT_SIZE))


def _text(text: str, x: float, y: float, class_: str, size: int) -> Element:
    return element("text", text, class_=class_, x=_px(x), y=_px(y), text_anchor="middle", font_size=str(size))


def _px(value: float) -> str:
    return f"{value:.1f}"
