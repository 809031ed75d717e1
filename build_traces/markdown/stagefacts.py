"""`/// stagefacts | stage`: what a stage is and what it measured, at one glance."""

import ast
from xml.etree.ElementTree import Element

from build_traces.errors import FactError
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, definitions, element, missing
from build_traces.markdown.value import extremes
from build_traces.stage_view import StageView
from build_traces.vocabulary import STAGE_FACTS

MEASURED = (
    ("GPU time", "time_us"),
    ("Kernels a step", "kernel_count"),
    ("Memsets a step", "memset_count"),
    ("CPU in the forward", "cpu_us"),
    ("In a loop", "back_to_back_us"),
    ("First call", "first_call_ms"),
    ("Peak memory", "peak_mb"),
    ("HBM read and written", "hbm_mb"),
    ("Error", "error"),
    ("Ways it was launched", "draws"),
)
COLD_TERMS = {"time_us": "First step, by the wall clock"}


class StageFacts(TraceBlock):
    """The definition list of one stage."""

    NAME = "stagefacts"

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A `<dl>`: the snippet's docstring, the counts, the measurements."""
        (view,) = stages
        entries: list[tuple[str, Element | str]] = [("What it is", _docstring(view))]
        entries.append(("Launches a step", _launches(conversion, view)))
        terms = COLD_TERMS if view.stage.cold else {}
        for term, name in MEASURED:
            entries.append((terms.get(name, term), _measured(conversion, _path(view, name))))
        return figure_of(self.NAME, view, definitions(entries, class_="stagefacts"))


def _docstring(view: StageView) -> str:
    return ast.get_docstring(ast.parse(view.stage.snippet.read_bytes())) or view.stage.title


def _path(view: StageView, name: str) -> str:
    """A fact of the stage; of a cold one, of its first step where the fact can tell steps apart."""
    by_step = STAGE_FACTS[name.partition(".")[0]].by_step
    step = f".step{view.shown_step}" if view.stage.cold and by_step else ""
    return f"{view.stage.name}{step}.{name}"


def _launches(conversion: Conversion, view: StageView) -> Element:
    """`7: cudaMemsetAsync 2, cuLaunchKernelEx 3, cudaLaunchKernel 2`."""
    said = _measured(conversion, _path(view, "launch_count"))
    if said.get("class") == "missing":
        return said
    for position, name in enumerate(view.launches_by_name(view.shown_step)):
        append(said, ", " if position else ": ")
        append(said, element("code", name))
        append(said, " ")
        append(said, conversion.fact(_path(view, f"launch_count.{name}")))
    return said


def _measured(conversion: Conversion, path: str) -> Element:
    try:
        fact = conversion.facts.get(path)
    except FactError as error:
        return missing(error.message)
    said = element("span", conversion.value(fact), f" {fact.unit}" if fact.unit else "")
    if fact.spread is not None:
        append(said, " ")
        append(said, extremes(fact.spread, path=path))
    return said
