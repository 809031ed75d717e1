"""Compare a sweep that was run again with the recorded one, for `verify`.

Which graphs each call compiles, why, and which kernels it runs must be as in one of the recorded processes; GPU times
must lie in a band. First calls are not compared: a compile takes as long as the CPU and the disk let it.
"""

from collections.abc import Callable

from build_traces.drift import Drift, band
from build_traces.recording import Spread
from build_traces.sweep_record import CallRecord, SweepProcess
from build_traces.sweep_view import SweepView


def compare(recorded: SweepView, now: SweepView) -> list[Drift]:
    """Every drift between a recorded sweep and a new run of it."""
    if recorded.calls != now.calls:
        return [Drift("its calls", "\n".join(recorded.calls), "\n".join(now.calls))]
    return [
        *_differ("graphs compiled", recorded, now, _graphs),
        *_differ("kernels", recorded, now, _kernels),
        *(drift for call in now.calls for drift in band(f"GPU time of call {call}", *_gpu_us(call, recorded, now))),
    ]


def _differ(what: str, recorded: SweepView, now: SweepView, told: Callable[[CallRecord], list[str]]) -> list[Drift]:
    known = [_lines(process, told) for process in recorded.record.processes]
    new = [lines for process in now.record.processes if (lines := _lines(process, told)) not in known]
    return [Drift(what, known[0], lines) for lines in dict.fromkeys(new)]


def _lines(process: SweepProcess, told: Callable[[CallRecord], list[str]]) -> str:
    return "\n".join(f"{call.name}: {line}" for call in process.calls for line in told(call))


def _graphs(call: CallRecord) -> list[str]:
    return [f"{graph.compile_id} {graph.failed} {graph.reason}".rstrip() for graph in call.graphs] or ["none"]


def _kernels(call: CallRecord) -> list[str]:
    return list(call.kernels)


def _gpu_us(call: str, recorded: SweepView, now: SweepView) -> tuple[Spread, Spread]:
    return recorded.gpu_us(call), now.gpu_us(call)
