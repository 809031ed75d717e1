"""`/// timeline | stages`: CPU and GPU lanes of one step of each stage, as SVG on one time scale."""

from typing import ClassVar
from xml.etree.ElementTree import Element

from build_traces.markdown.block import STEP_OPTION, TraceBlock, figure_of, origin
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, says, scrolling
from build_traces.markdown.lanes import Lanes, idle_share, idle_spans, lanes_of, plural
from build_traces.markdown.svg import draw
from build_traces.markdown.value import shown
from build_traces.recording import TRACE_FILE
from build_traces.stage_view import StageView

KINDS = {
    "op": "ops",
    "annotation": "annotations",
    "call": "calls",
    "gemm": "GEMMs",
    "pointwise": "pointwise kernels",
    "kernel": "other kernels",
    "memset": "memsets",
    "memcpy": "memcpys",
    "idle": "the GPU idles",
}
KERNELS = ("gemm", "pointwise", "kernel")


class Timeline(TraceBlock):
    """One picture of one or more stages, with the trace files beside it."""

    NAME = "timeline"
    SEARCHED = False
    OPTIONS: ClassVar[dict[str, list[object]]] = STEP_OPTION
    MANY = True

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The SVG, and for each stage a download and a way into Perfetto."""
        lanes = [lanes_of(view) for view in stages]
        names = " and ".join(view.stage.name for view in stages)
        id_ = conversion.new_id("timeline")
        picture = draw(lanes, id_, f"Timeline of {names}")
        figure = figure_of(
            self.NAME,
            stages[0] if len(stages) == 1 else None,
            scrolling(f"Timeline of {names}", picture),
            *(_files(conversion, view) for view in stages),
            _legend(lanes),
            caption=(
                says(id_, map(_in_words, lanes)),
                f"{origin(*stages)}. µs from the start of the step, with the profiler on.",
            ),
        )
        figure.set("data-stage", " ".join(view.stage.name for view in stages))
        return figure


def _legend(lanes: list[Lanes]) -> Element:
    """The colors of what is in the picture."""
    kinds = {bar.kind for lane in lanes for bar in (*lane.cpu_bars, *lane.gpu_bars)}
    line = element("p", class_="tl-legend")
    if any(idle_spans(lane.gpu_bars) for lane in lanes):
        kinds.add("idle")
    for kind, name in KINDS.items():
        if kind in kinds:
            append(line, element("span", name, class_=f"tl-key tl-key--{kind}"))
            append(line, " ")
    return line


def _in_words(lanes: Lanes) -> str:
    """What the picture shows."""
    counted = {
        word: sum(bar.kind in kinds for bar in lanes.gpu_bars)
        for word, kinds in (("kernel", KERNELS), ("memset", ("memset",)), ("memcpy", ("memcpy",)))
    }
    counts = ", ".join(plural(count, word) for word, count in counted.items() if count)
    if not lanes.gpu_bars:
        return f"{lanes.stage}: a step of {shown(lanes.step_us)} µs with no work on the GPU."
    first, last = min(bar.start_us for bar in lanes.gpu_bars), max(bar.end_us for bar in lanes.gpu_bars)
    return (
        f"{lanes.stage}: {counts} in a step of {shown(lanes.step_us)} µs. The GPU works between {shown(first)} "
        f"and {shown(last)} µs and is idle {100 * idle_share(lanes.gpu_bars):.0f} % of that time."
    )


def _files(conversion: Conversion, view: StageView) -> Element:
    name = view.stage.name
    path = view.recording.path(name, TRACE_FILE)
    line = element("p", f"{name}: ", class_="trace-files")
    append(line, conversion.link(path, TRACE_FILE, download=f"{name}.{TRACE_FILE}"))
    append(line, " · ")
    append(line, conversion.link(path, "Open in Perfetto", class_="perfetto", data_title=name))
    return line
