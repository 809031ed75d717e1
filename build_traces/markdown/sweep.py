"""`/// sweep | names`: what each call of these sweeps took when it was first made, and what was compiled for it.

Without an option a picture and a table. With `show: gpu_us`, or another time of a call, a table of that.
"""

from collections.abc import Sequence
from typing import ClassVar
from xml.etree.ElementTree import Element

from build_traces.errors import FactError, unknown_name
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, row, scrolling, table
from build_traces.markdown.sweep_picture import CallBar, Panel, draw, scale_of
from build_traces.markdown.value import extremes
from build_traces.stage_view import StageView
from build_traces.sweep_view import SweepView
from build_traces.sweep_vocabulary import CALL_FIELDS

FIRST = "first_ms"
TIMES = tuple(name for name, field in CALL_FIELDS.items() if field.unit)
"""What the option `show` may name."""
KINDS = {"compiled": "a graph was compiled", "refused": "a compile was begun and given up", "plain": "no graph"}


class Sweep(TraceBlock):
    """One or more sweeps that make the same calls."""

    NAME = "sweep"
    SEARCHED = False
    OF_STAGES = False
    OPTIONS: ClassVar[dict[str, list[object]]] = {"show": [FIRST, str]}

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """Panels and a table with a call a row and a set-up a column."""
        field = str(self.options["show"])
        if field not in TIMES:
            unknown_name("time of a call", field, list(TIMES))
        views = [conversion.facts.sweep(name) for name in (self.argument or "").split()]
        calls = views[0].calls
        for view in views:
            if view.calls != calls:
                message = f"sweep {view.sweep.name} makes other calls than {views[0].sweep.name}"
                raise FactError(message, hint="show it in a block of its own")
        figure = figure_of(self.NAME, None, caption=(_caption(views, field),))
        figure.set("data-sweeps", " ".join(view.sweep.name for view in views))
        if field == FIRST:
            append(figure, _pictures(conversion, views))
        append(figure, _table(conversion, views, calls, field))
        return figure


def _caption(views: Sequence[SweepView], field: str) -> str:
    definition = CALL_FIELDS[field]
    processes = sorted({len(view.record.processes) for view in views})
    over = "–".join(map(str, processes))
    about = definition.about.partition(". ")[0].rstrip(".")
    return f"{about.replace('`', '')}, in {definition.unit}: the median of {over} fresh processes, and the extremes."


def _pictures(conversion: Conversion, views: Sequence[SweepView]) -> Element:
    panels = [_panel(view) for view in views]
    scale = scale_of(panels)
    drawn = [draw(panel, scale, conversion.new_id("sweep")) for panel in panels]
    names = ", ".join(view.sweep.name for view in views)
    region = scrolling(f"First times of {names}", element("div", *drawn, class_="sweep-panels"))
    return element("div", region, _legend(panels))


def _panel(view: SweepView) -> Panel:
    bars = (
        CallBar(call, view.over_processes(call, lambda c: c.call_ms[0]).median, _kind(view, call))
        for call in view.calls
    )
    return Panel(view.sweep.name, view.sweep.title, tuple(bars))


def _kind(view: SweepView, call: str) -> str:
    """By most of the processes, should they differ; the table says so then."""
    at = view.position(call)
    seen = [process.calls[at] for process in view.record.processes]
    compiled, begun = sum(bool(c.compiled) for c in seen), sum(bool(c.graphs) for c in seen)
    if 2 * compiled > len(seen):
        return "compiled"
    return "refused" if 2 * begun > len(seen) else "plain"


def _legend(panels: Sequence[Panel]) -> Element:
    kinds = {bar.kind for panel in panels for bar in panel.bars}
    line = element("p", class_="sweep-legend")
    for kind, name in KINDS.items():
        if kind in kinds:
            append(line, element("span", name, class_=f"sw-key sw-key--{kind}"))
            append(line, " ")
    return line


def _table(conversion: Conversion, views: Sequence[SweepView], calls: Sequence[str], field: str) -> Element:
    rows = [
        row(
            element("th", element("code", call), scope="row"), *(_cell(conversion, view, call, field) for view in views)
        )
        for call in calls
    ]
    names = ", ".join(view.sweep.name for view in views)
    unit = CALL_FIELDS[field].unit
    return table(f"{names}: {field}, {unit}", ("Call", *(view.sweep.title for view in views)), rows, class_="sweep")


def _cell(conversion: Conversion, view: SweepView, call: str, field: str) -> Element:
    path = f"{view.sweep.name}.call.{call}"
    cell = element("td", conversion.fact(f"{path}.{field}"))
    spread = conversion.facts.get(f"{path}.{field}").spread
    if spread is not None:
        cell.extend([element("br"), extremes(spread, path=f"{path}.{field}")])
    if field == FIRST:
        cell.extend([element("br"), element("small", *_graphs(conversion, path), class_="graphs")])
    return cell


def _graphs(conversion: Conversion, path: str) -> tuple[Element | str, ...]:
    """`2 graphs so far`, or that the processes differ."""
    try:
        count = conversion.facts.get(f"{path}.graphs")
    except FactError as error:
        return (error.message.rpartition(" differs by process: ")[2] + " graphs, by process",)
    return conversion.value(count), " graph" if count.value == 1 else " graphs"
