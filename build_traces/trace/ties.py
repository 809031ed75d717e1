"""What belongs to what: an op to the op around it, a call to its op and its step, GPU work to its launch.

On one thread an event starts inside what encloses it. GPU work is tied to its launch by correlation id alone:
where the launch is not in the file, the work has none, whatever ran at that time.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import attrgetter, eq

from build_traces.trace.events import Event, Events, not_a_trace
from build_traces.trace.values import CALL_APIS, NONE, STEP_NAME, Step

MAX_US = 1e18
"""Beyond this (30,000 years) a time is none, and sums of such times are no numbers."""

Thread = tuple[int | str, int | str]


@dataclass(frozen=True)
class Ties:
    """Events in the order of their start, and beside each list the positions of what its events belong to.

    `op_parent` and `call_op` are positions in `ops`, `work_call` in `calls`, `op_step` and `call_step` in `steps`.
    `threads` numbers the CPU threads, each a process and a thread id, in the order in which they appear;
    `shortest_us` is the least duration, below 0 where the profiler's clocks went wrong.
    """

    threads: dict[Thread, int]
    shortest_us: float
    steps: Sequence[Step]
    ops: Sequence[Event]
    op_parent: Sequence[int]
    op_step: Sequence[int]
    calls: Sequence[Event]
    call_op: Sequence[int]
    call_step: Sequence[int]
    work: Sequence[Event]
    work_call: Sequence[int]


def tie(events: Events, source: str) -> Ties:
    """Put the events of a file in order and find what belongs to what. Raises TraceError for a time that is none."""
    numbers = _step_numbers(events.ops)
    marks = [event for event in events.ops if event.name in numbers and event.cat == "user_annotation"]
    marks.sort(key=_ts)
    steps = [Step(numbers[event.name], event.ts, event.dur) for event in marks]
    on_cpu = [event for event in events.ops if event.name not in numbers] + events.calls
    starts = _order(on_cpu)
    nested = _nest(on_cpu, starts, _steps_of(starts, steps))
    work = sorted(events.work, key=_ts)
    ends = [abs(event.ts) for listed in (marks, on_cpu, work) for event in (*listed[:1], *listed[-1:])]
    if max(ends, default=0.0) >= MAX_US or max(events.longest_us, -events.shortest_us) >= MAX_US:
        _check_times(events, source)
    ids = [call.args.correlation for call in nested.calls]
    launch_of = dict(zip(ids, range(len(ids)), strict=True))
    launch_of[NONE] = NONE
    return Ties(
        threads={thread: number for number, thread in enumerate(nested.threads)},
        shortest_us=events.shortest_us,
        steps=steps,
        ops=nested.ops,
        op_parent=nested.op_parent,
        op_step=nested.op_step,
        calls=nested.calls,
        call_op=nested.call_op,
        call_step=nested.call_step,
        work=work,
        work_call=[launch_of.get(event.args.correlation, NONE) for event in work],
    )


_ts = attrgetter("ts")


def _check_times(events: Events, source: str) -> None:
    for listed in (events.ops, events.calls, events.work):
        for event in listed:
            if max(abs(event.ts), abs(event.dur)) >= MAX_US:
                raise not_a_trace(source, f"ts or dur of event {event.name[:100]!r} is beyond all clocks")


def _step_numbers(ops: list[Event]) -> dict[str, int]:
    """The names among those of ops that mark a step, with its number."""
    return {name: int(match[1]) for name in {op.name for op in ops} if (match := STEP_NAME.fullmatch(name))}


def _order(on_cpu: list[Event]) -> list[float]:
    """By start. Equal starts: an op encloses a call, the longer op the shorter; else the outer was written first.

    Returns the starts in that order.
    """
    on_cpu.sort(key=_ts)
    starts = [event.ts for event in on_cpu]
    done = 0
    for at in [*compress(range(len(starts)), map(eq, starts, starts[1:]))]:
        if at >= done:
            done = bisect_right(starts, starts[at], lo=at)
            on_cpu[at:done] = sorted(on_cpu[at:done], key=lambda e: (e.cat in CALL_APIS, -e.dur))
    return starts


def _steps_of(starts: list[float], steps: list[Step]) -> list[int]:
    """For each start, in order, the step that it lies in, of two the later one."""
    found = [NONE] * len(starts)
    for at, step in enumerate(steps):
        first = bisect_left(starts, step.start_us)
        last = bisect_right(starts, step.end_us, lo=first)
        if at + 1 < len(steps):
            last = min(last, bisect_left(starts, steps[at + 1].start_us, lo=first))
        found[first:last] = [at] * (last - first)
    return found


@dataclass(frozen=True)
class _Nested:
    """Ops and calls apart, each with its step and the position of the innermost op around its start.

    `threads` holds of each thread the ops that are open at its end.
    """

    threads: dict[Thread, list[tuple[float, float, int]]] = field(default_factory=dict)
    ops: list[Event] = field(default_factory=list)
    op_parent: list[int] = field(default_factory=list)
    op_step: list[int] = field(default_factory=list)
    calls: list[Event] = field(default_factory=list)
    call_op: list[int] = field(default_factory=list)
    call_step: list[int] = field(default_factory=list)


OUTSIDE = (math.inf, -math.inf, NONE)
"""Below all open ops of a thread: end, start and position of what never ends."""


def _nest(on_cpu: list[Event], starts: list[float], steps: list[int]) -> _Nested:
    """Walk over the events in their order, with the open ops of each thread on a stack."""
    nested = _Nested()
    threads = nested.threads
    add_op, add_parent, add_op_step = nested.ops.append, nested.op_parent.append, nested.op_step.append
    add_call, add_around, add_call_step = nested.calls.append, nested.call_op.append, nested.call_step.append
    pid: int | str | None = None
    tid: int | str | None = None
    position = 0
    for event, start, step in zip(on_cpu, starts, steps, strict=True):
        if event.tid != tid or event.pid != pid:
            pid, tid = event.pid, event.tid
            open_ops = threads.setdefault((pid, tid), [OUTSIDE])
            end, begin, around = open_ops[-1]
        while start >= end and start > begin:
            open_ops.pop()
            end, begin, around = open_ops[-1]
        if event.cat in CALL_APIS:
            add_call(event)
            add_around(around)
            add_call_step(step)
        else:
            add_op(event)
            add_parent(around)
            add_op_step(step)
            end, begin, around = opened = start + event.dur, start, position
            open_ops.append(opened)
            position += 1
    return nested
