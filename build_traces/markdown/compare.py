"""`/// compare`: where readers set their own recording or trace beside ours; scripts do it, in the browser.

The block gives them what they need of the guide: the recording's stages with their traces, and the tables by which
kernels' names are decoded. Without scripts it is the table of our stages.
"""

import json
from xml.etree.ElementTree import Element

from build_traces.errors import NotRecordedError
from build_traces.kernel_names.tables import tables
from build_traces.ladder import Stage
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, row, table
from build_traces.recording import TRACE_FILE
from build_traces.stage_view import StageView

WITHOUT_SCRIPTS = "Comparing is done by scripts, which are off here. On the command line there is "
HINT_BEGIN = "A recording that you exported ("
EXPORT = "python -m build_traces export"
HINT_END = "), or any profiler trace, .json or .json.gz. It is read in your browser and sent nowhere."
COMMAND = "python -m build_traces diff A B"
COLUMNS = ("Stage and its trace", "Kernels", "GPU µs")


class Compare(TraceBlock):
    """The place to drop a file, and what scripts need for it."""

    NAME = "compare"
    ARGUMENT = False

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """An element that a script fills."""
        rows = [made for stage in conversion.facts.ladder.stages for made in _rows(conversion, stage)]
        ours = table("The stages of our recording", COLUMNS, rows, class_="compare-stages")
        summary = element("summary", "The stages and traces of our recording")
        made = element(
            "guide-compare",
            _drop(),
            element("p", class_="compare-status", role="status"),
            element("noscript", element("p", WITHOUT_SCRIPTS, element("code", COMMAND), ".")),
            element("details", summary, ours),
        )
        names = Element("script", {"type": "application/json", "class": "compare-names"})
        names.text = json.dumps(tables(), separators=(",", ":")).replace("<", "\\u003c")
        append(made, names)
        return figure_of(self.NAME, None, made)


def _drop() -> Element:
    """Where a file is dropped: here, and not made by the script, so that nothing moves when it comes."""
    choose = element("span", "Choose a file", class_="predict-button compare-choose")
    hint = element("p", HINT_BEGIN, element("code", EXPORT), HINT_END, class_="compare-hint")
    return element("div", element("p", "Drop a file here, or ", choose), hint, class_="compare-drop")


def _rows(conversion: Conversion, stage: Stage) -> list[Element]:
    """A row, or none for a stage that is not recorded yet."""
    try:
        return [_row(conversion, stage, conversion.facts.view(stage.name))]
    except NotRecordedError:
        return []


def _row(conversion: Conversion, stage: Stage, view: StageView) -> Element:
    """A stage with the trace that a reader's own is set beside; a cold one shows its first step."""
    step = f".step{view.shown_step}" if stage.cold else ""
    path = view.recording.path(stage.name, TRACE_FILE)
    link = conversion.link(path, stage.title, data_stage=stage.name, download=f"{stage.name}.{TRACE_FILE}")
    link.set("data-step", str(view.shown_step))
    made = row(
        element("th", link, scope="row"),
        conversion.fact(f"{stage.name}{step}.kernel_count"),
        conversion.fact(f"{stage.name}.time_us"),
    )
    made.set("data-stage", stage.name)
    return made
