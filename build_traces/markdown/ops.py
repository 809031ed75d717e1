"""`/// ops | stage`: the dispatch chain, ops inside ops, with the calls they made and what those started."""

from itertools import groupby
from typing import ClassVar
from xml.etree.ElementTree import Element

from build_traces.kernel_names import decode
from build_traces.markdown.block import STEP_OPTION, TraceBlock, figure_of, origin
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, wrapping
from build_traces.markdown.value import shown
from build_traces.stage_view import OpNode, StageView
from build_traces.trace import NONE, Call, Trace
from build_traces.work_kinds import work_kind


class Ops(TraceBlock):
    """The op tree of one stage's shown step."""

    NAME = "ops"
    OPTIONS: ClassVar[dict[str, list[object]]] = STEP_OPTION

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """Nested lists; at the end, calls that no op encloses."""
        (view,) = stages
        (step,) = view.steps(view.shown_step)
        outside = [call for call in view.trace.calls if call.step == step.number and call.op == NONE]
        chain = element("ul", class_="ops")
        for item in _in_order(view.trace, view.op_tree(), outside):
            append(chain, item)
        return figure_of(self.NAME, view, chain, caption=(f"{origin(view)}; µs on the CPU, with the profiler on.",))


def _in_order(trace: Trace, nodes: list[OpNode], calls: list[Call]) -> list[Element]:
    """Ops and calls of one level by start time."""
    entries: list[OpNode | Call] = sorted([*nodes, *calls], key=_start)
    items = []
    for idle, group in groupby(entries, key=_idle_call):
        if idle is None:
            items += [_call(trace, e) if isinstance(e, Call) else _op(trace, e) for e in group]
        else:
            items.append(_idle_calls(idle, [e for e in group if isinstance(e, Call)]))
    return items


def _start(entry: OpNode | Call) -> float:
    return entry.start_us if isinstance(entry, Call) else entry.op.start_us


def _idle_call(entry: OpNode | Call) -> str | None:
    """The name of a call that starts nothing; equal ones in a row share a line."""
    return entry.name if isinstance(entry, Call) and not entry.starts else None


def _op(trace: Trace, node: OpNode) -> Element:
    item = element("li", wrapping(node.op.name), class_=f"op op--{node.op.kind}")
    if node.op.kind == "annotation":
        append(item, element("span", " annotation", class_="kind"))
    append(item, _us(node.op.dur_us))
    inside = _in_order(trace, list(node.children), list(node.calls))
    if inside:
        append(item, element("ul", *inside))
    return item


def _call(trace: Trace, call: Call) -> Element:
    item = element("li", wrapping(call.name), class_="call")
    append(item, _us(call.dur_us))
    for index in call.starts:
        activity = trace.activities[index]
        name = decode(activity.name).short if activity.kind == "kernel" else activity.name
        kind = work_kind(activity.kind, activity.name)
        append(item, element("span", " → ", wrapping(name), class_=f"started started--{kind}"))
    return item


def _idle_calls(name: str, calls: list[Call]) -> Element:
    item = element("li", wrapping(name), class_="call call--idle")
    if len(calls) > 1:
        append(item, element("span", f" × {len(calls)}", class_="times"))
    append(item, _us(sum(call.dur_us for call in calls)))
    return item


def _us(us: float) -> Element:
    return element("span", f" {shown(us)} µs", class_="us")
