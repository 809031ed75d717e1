"""`/// distribution | stages`: the timed steps of every process, on one scale, as SVG."""

import statistics
from xml.etree.ElementTree import Element

from build_traces.errors import FactError
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, says, scrolling
from build_traces.markdown.plot import WIDTH, Scale, line, px, svg, text, x_axis
from build_traces.markdown.value import shown
from build_traces.recording import Process, middle_nine_tenths
from build_traces.stage_view import StageView

LEFT, RIGHT, TOP, BOTTOM = 190, 20, 8, 40
ROW, GAP = 9, 14
SLACK = 0.04
"""Of the whole range, left free at both ends."""


class Distribution(TraceBlock):
    """A line a process: the middle nine tenths of its timed steps, with a mark at the median."""

    NAME = "distribution"
    SEARCHED = False
    MANY = True

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The SVG, and in words what it shows."""
        for view in stages:
            if view.stage.cold:
                raise FactError(f"stage {view.stage.name} is cold: its first steps have no distribution")
        names = ", ".join(view.stage.name for view in stages)
        id_ = conversion.new_id("distribution")
        picture = _draw(stages, id_, f"Timed steps of {names}")
        processes, samples = len(stages[0].record.processes), len(stages[0].published.time_us)
        figure = figure_of(
            self.NAME,
            None,
            scrolling(f"Timed steps of {names}", picture),
            caption=(
                says(id_, map(_in_words, stages)),
                f"GPU time of a step, µs. A line is one of {processes} processes: the middle nine tenths of its "
                f"{samples} timed steps; the mark is their median. The axis does not begin at 0.",
            ),
        )
        figure.set("data-stage", " ".join(view.stage.name for view in stages))
        return figure


def _draw(stages: tuple[StageView, ...], id_: str, title: str) -> Element:
    ends = [middle_nine_tenths(process.time_us) for view in stages for process in view.record.processes]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    slack = SLACK * (high - low) or 1.0
    scale = Scale(low - slack, high + slack, LEFT, WIDTH - RIGHT)
    y = float(TOP)
    groups = []
    for view in stages:
        groups.append(_stage(view, scale, y))
        y += ROW * len(view.record.processes) + GAP
    return svg(id_, title, None, y + BOTTOM, x_axis(scale, TOP, y, "µs", "{:,g}".format), *groups)


def _stage(view: StageView, scale: Scale, top: float) -> Element:
    processes = view.record.processes
    group = element("g", class_="plot-stage", data_stage=view.stage.name)
    append(group, text(view.stage.name, 4, top + ROW * len(processes) / 2 + 8, class_="plot-title"))
    for number, process in enumerate(processes):
        append(group, _process(process, number, scale, top + GAP / 2 + ROW * number))
    return group


def _process(process: Process, number: int, scale: Scale, y: float) -> Element:
    (low, high), median = middle_nine_tenths(process.time_us), statistics.median(process.time_us)
    said = f"process {number + 1}: median {shown(median)} µs, nine tenths from {shown(low)} to {shown(high)} µs"
    return element(
        "g",
        element("title", said),
        line(scale.at(low), y, scale.at(high), y, "plot-range"),
        element("circle", cx=px(scale.at(median)), cy=px(y), r="3", class_="plot-mark"),
    )


def _in_words(view: StageView) -> str:
    time = view.time_us()
    return f"{view.stage.name}: medians from {time.low:,.1f} to {time.high:,.1f} µs."
