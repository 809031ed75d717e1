"""The vocabulary of facts of a sweep and of its calls, by the same rules as that of a stage."""

from collections.abc import Callable
from dataclasses import dataclass

from build_traces.errors import FactError, unknown_name
from build_traces.recording import Spread
from build_traces.sweep_record import CallRecord
from build_traces.sweep_view import SweepView

Raw = int | float | str | Spread


@dataclass(frozen=True)
class SweepDefinition:
    """An entry: a fact of a sweep, or with a key of one of its calls."""

    unit: str
    about: str
    derive: Callable[[SweepView, str], Raw]
    key: str = ""


@dataclass(frozen=True)
class CallField:
    """What may be asked of one call."""

    unit: str
    about: str
    derive: Callable[[SweepView, str], Raw]


def _reason(view: SweepView, call: str) -> str:
    reasons = view.same(call, "reason", lambda c: tuple(g.reason for g in c.graphs))
    return next((reason for reason in reversed(reasons) if reason), "")


def _compile_ms(part: Callable[[CallRecord], float]) -> Callable[[SweepView, str], Raw]:
    return lambda view, call: view.over_processes(call, part)


CALL_FIELDS: dict[str, CallField] = {
    "first_ms": CallField(
        "ms",
        "Wall-clock time of the call when it is first made in a process, the wait for the GPU included.",
        lambda view, call: view.over_processes(call, lambda c: c.call_ms[0]),
    ),
    "second_ms": CallField(
        "ms",
        "The same when it is made again. A CUDA graph is captured then.",
        lambda view, call: view.over_processes(call, lambda c: c.call_ms[1]),
    ),
    "tenth_ms": CallField(
        "ms",
        "The same of the last of its first ten times.",
        lambda view, call: view.over_processes(call, lambda c: c.call_ms[-1]),
    ),
    "gpu_us": CallField(
        "µs",
        "GPU time of the call after that, by CUDA events from a cold L2, as `time_us` of a stage.",
        lambda view, call: view.gpu_us(call),
    ),
    "graphs": CallField(
        "", "Graphs compiled so far, by this call and those before it.", lambda view, call: view.graphs_after(call)
    ),
    "new_graphs": CallField(
        "",
        "Graphs that this call compiled.",
        lambda view, call: view.same(call, "new_graphs", lambda c: len(c.compiled)),
    ),
    "refused": CallField(
        "",
        "Compiles that this call began and torch gave up.",
        lambda view, call: view.same(call, "refused", lambda c: len(c.graphs) - len(c.compiled)),
    ),
    "reason": CallField(
        "", "Why the graphs that were there did not fit, as torch words it; empty if nothing was compiled.", _reason
    ),
    "guards": CallField(
        "", "Guards of the graph that this call compiled.", lambda view, call: view.graph_of(call, "guards").guards
    ),
    "dynamo_ms": CallField(
        "ms",
        "What Dynamo took of the call's first time: tracing, and building guards.",
        _compile_ms(lambda c: sum(g.dynamo_ms for g in c.graphs)),
    ),
    "backend_ms": CallField(
        "ms",
        "What Inductor took of it: making code and compiling it, or finding it in its cache.",
        _compile_ms(lambda c: sum(g.backend_ms for g in c.graphs)),
    ),
    "cache_hits": CallField(
        "",
        "Graphs that Inductor found in its cache.",
        lambda view, call: view.same(call, "cache_hits", lambda c: c.cache_hits),
    ),
    "kernel_count": CallField(
        "", "Kernels of one call.", lambda view, call: view.same(call, "kernel_count", lambda c: len(c.kernels))
    ),
    "kernels": CallField(
        "",
        "Their names, in the order they run.",
        lambda view, call: view.same(call, "kernels", lambda c: ", ".join(c.kernels)),
    ),
}


def _call_field(view: SweepView, key: str) -> Raw:
    call, _, field = key.partition(".")
    if not field:
        raise FactError(f"{view.sweep.name}.call.{key} names no field", hint=f"the fields are {', '.join(CALL_FIELDS)}")
    if field not in CALL_FIELDS:
        unknown_name("field of a call", field, list(CALL_FIELDS), prefix=f"{view.sweep.name}.call.{call}.")
    return CALL_FIELDS[field].derive(view, call)


SWEEP_FACTS: dict[str, SweepDefinition] = {
    "graphs": SweepDefinition(
        "", "Graphs compiled when all calls are made.", lambda view, _: view.graphs_after(view.calls[-1])
    ),
    "calls": SweepDefinition("", "Named calls.", lambda view, _: len(view.calls)),
    "first_calls_ms": SweepDefinition(
        "ms",
        "What the first time of each call took, summed over the calls.",
        lambda view, _: view.together(lambda c: c.call_ms[0]),
    ),
    "processes": SweepDefinition("", "Fresh processes measured.", lambda view, _: len(view.record.processes)),
    "setup": SweepDefinition(
        "", "The set-up it is made in, as ladder.toml names it.", lambda view, _: view.sweep.setup
    ),
    "call": SweepDefinition("", "One call by its name; the fields are listed below.", _call_field, key="call.field"),
}


def unit_of(name: str, key: str) -> str:
    """The unit of a fact that was derived."""
    return CALL_FIELDS[key.partition(".")[2]].unit if name == "call" else SWEEP_FACTS[name].unit
