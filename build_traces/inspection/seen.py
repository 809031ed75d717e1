"""The ties of a trace, looked at by step, and what the parts of an inspection share."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

from build_traces.inspection.values import Spread
from build_traces.kernel_names import decode
from build_traces.trace import NONE, Step, Ties

MAX_DECODED = 5_000
"""Names taken apart at most, and characters of a name: no real trace has as many, and a hostile one may."""
MAX_NAME = 16_384


@dataclass(frozen=True)
class Seen:
    """The ties by step: for each op, call and piece of GPU work the position in `windows`, or NONE.

    `work_of` holds the positions of the work of each GPU. `started` counts what each call started;
    `launched` says of each op whether anything was started inside, at any depth.
    """

    ties: Ties
    windows: Sequence[Step]
    whole_file: bool
    work_of: dict[int, list[int]]
    op_step: Sequence[int]
    call_step: Sequence[int]
    work_step: Sequence[int]
    started: Sequence[int]
    launched: bytearray
    op_around: dict[int, int] = field(default_factory=dict)
    """Of annotations asked for, the position of the innermost op around."""

    @property
    def origin_us(self) -> float:
        return self.windows[0].start_us

    @property
    def outside(self) -> list[int]:
        """Work that was launched in no step."""
        both = zip(self.work_step, self.ties.work_call, strict=True)
        return [at for at, (step, call) in enumerate(both) if step == NONE and call != NONE]

    def number(self, window: int) -> int | None:
        return None if self.whole_file else self.windows[window].number

    def launcher(self, work: int) -> tuple[str, str]:
        """The innermost op around the launch of this work and the call that launched it, "" where there is none."""
        call = self.ties.work_call[work]
        if call == NONE:
            return "", ""
        return self.op_at(self.ties.call_op[call]), self.ties.calls[call].name

    def op_at(self, position: int) -> str:
        """The name of this op, or of the innermost op around it if it is an annotation."""
        passed = []
        while position != NONE and self.ties.ops[position].cat != "cpu_op":
            if position in self.op_around:
                position = self.op_around[position]
                break
            passed.append(position)
            position = self.ties.op_parent[position]
        self.op_around.update(dict.fromkeys(passed, position))
        return "" if position == NONE else self.ties.ops[position].name


def look(ties: Ties) -> Seen:
    """By step, or with the whole file as one where there is none."""
    whole_file = not ties.steps
    started = [0] * (len(ties.calls) + 1)  # the last is for NONE
    for call in ties.work_call:
        started[call] += 1
    started.pop()
    launched = bytearray(len(ties.ops))
    for around in compress(ties.call_op, started):
        op = around
        while op != NONE and not launched[op]:
            launched[op] = True
            op = ties.op_parent[op]
    if whole_file:
        windows: Sequence[Step] = [_whole(ties)]
        op_step, call_step, work_step = ([0] * len(events) for events in (ties.ops, ties.calls, ties.work))
    else:
        windows, op_step, call_step = _windows(ties.steps), [*ties.op_step], [*ties.call_step]
        step_of = [*call_step, NONE]
        work_step = [step_of[call] for call in ties.work_call]
    work_of: dict[int, list[int]] = {}
    for at, event in enumerate(ties.work):
        work_of.setdefault(event.args.device, []).append(at)
    work_of = {device: work_of[device] for device in sorted(work_of)}
    return Seen(ties, windows, whole_file, work_of, op_step, call_step, work_step, started, launched)


def _windows(steps: Sequence[Step]) -> list[Step]:
    """Each step up to the start of the next one at most, as events belong to the later of two."""
    nexts = [step.start_us for step in steps[1:]] + [math.inf]
    return [
        step
        if step.dur_us >= 0 and step.end_us <= following
        else Step(step.number, step.start_us, max(0.0, min(step.end_us, following) - step.start_us))
        for step, following in zip(steps, nexts, strict=True)
    ]


def _whole(ties: Ties) -> Step:
    """From the start of the first event to the end of the last."""
    both = [events for events in (ties.ops, ties.calls, ties.work) if events]
    if not both:
        return Step(NONE, 0.0, 0.0)
    start = min(events[0].ts for events in both)
    end = max(event.ts + event.dur for events in both for event in events)
    return Step(NONE, start, end - start)


class Names:
    """Decoded names of kernels, each decoded once and not more than is sensible."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def of(self, category: str, name: str) -> tuple[str, str]:
        """The name cut to what tells kernels apart, and its family."""
        if category != "kernel":
            return name[:MAX_NAME], ""
        if name not in self._known:
            if len(self._known) >= MAX_DECODED:
                return name[:MAX_NAME], "unknown"
            self._known[name] = _decoded(name)
        return self._known[name]


def _decoded(name: str) -> tuple[str, str]:
    if len(name) > MAX_NAME:
        return name[:MAX_NAME], "unknown"
    found = decode(name)
    return found.short, found.family


def short_name(name: str) -> str:
    """A kernel's name cut to what tells kernels apart."""
    return _decoded(name)[0]


def to_ns(us: float) -> float:
    """Microseconds, rounded to a nanosecond."""
    return round(us, 3)


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    return Spread(to_ns(statistics.median(values)), to_ns(min(values)), to_ns(max(values)))


def percent(part: float, whole: float) -> float:
    """A share, 0 of nothing."""
    return round(100 * part / whole, 3) if whole else 0.0
