"""The steps of a trace: how long each took, what the GPUs did in it, and which steps ran the same."""

from collections import defaultdict
from dataclasses import dataclass, field

from build_traces.inspection.idle import Piece
from build_traces.inspection.seen import Names, Seen, percent, spread, to_ns
from build_traces.inspection.values import Busy, Launches, StepKind, StepSays, Work
from build_traces.trace import ACTIVITY_KINDS, NONE

_Row = tuple[str, str, tuple[int, ...], tuple[int, ...]]
"""Category, name, grid and block: what work has in common that stands in one row."""


@dataclass
class _Sum:
    """How much there is of something in one step; `first` is a position, `started` counts what calls started."""

    first: int
    count: int = 0
    us: float = 0.0
    started: int = 0


@dataclass(frozen=True)
class _OneStep:
    """What one step ran, by row, and the launches, by call, each in the order of the first."""

    rows: dict[_Row, _Sum] = field(default_factory=dict)
    launches: dict[str, _Sum] = field(default_factory=dict)

    def kind(self) -> tuple[frozenset[tuple[_Row, int]], frozenset[tuple[str, int, int]]]:
        """Equal for steps that did the same."""
        return (
            frozenset((row, found.count) for row, found in self.rows.items()),
            frozenset((call, found.count, found.started) for call, found in self.launches.items()),
        )

    @property
    def gpu_us(self) -> float:
        return sum(found.us for found in self.rows.values())


def steps_of(seen: Seen, named: Names, pieces: list[Piece]) -> tuple[tuple[StepSays, ...], tuple[StepKind, ...]]:
    """Each step, and the kinds of step in the order in which they first appear."""
    ran = _ran(seen)
    busy = _busy(seen, pieces)
    members: dict[object, list[int]] = {}
    for at, one in enumerate(ran):
        members.setdefault(one.kind(), []).append(at)
    kind_of = {at: kind for kind, steps in enumerate(members.values()) for at in steps}
    steps = tuple(
        StepSays(seen.number(at), kind_of[at], to_ns(window.start_us - seen.origin_us), to_ns(window.dur_us), busy[at])
        for at, window in enumerate(seen.windows)
    )
    return steps, tuple(_kind(seen, named, ran, busy, steps) for steps in members.values())


def _ran(seen: Seen) -> list[_OneStep]:
    ran = [_OneStep() for _ in seen.windows]
    for at, (event, step) in enumerate(zip(seen.ties.work, seen.work_step, strict=True)):
        if step != NONE:
            row = (event.cat, event.name, event.args.grid, event.args.block)
            found = ran[step].rows.get(row) or ran[step].rows.setdefault(row, _Sum(at))
            found.count += 1
            found.us += event.dur
    for at, (call, step, started) in enumerate(zip(seen.ties.calls, seen.call_step, seen.started, strict=True)):
        if started and step != NONE:
            found = ran[step].launches.get(call.name) or ran[step].launches.setdefault(call.name, _Sum(at))
            found.count += 1
            found.us += call.dur
            found.started += started
    return ran


def _busy(seen: Seen, pieces: list[Piece]) -> list[tuple[Busy, ...]]:
    """By step, what each GPU did."""
    idle: defaultdict[tuple[int, int], float] = defaultdict(float)
    for piece in pieces:
        idle[piece.window, piece.device] += piece.us
    return [
        tuple(_busy_of(device, window.dur_us, idle[at, device]) for device in seen.work_of)
        for at, window in enumerate(seen.windows)
    ]


def _busy_of(device: int, step_us: float, idle_us: float) -> Busy:
    return Busy(device, to_ns(max(0.0, step_us - idle_us)), to_ns(idle_us), percent(idle_us, step_us))


def _kind(seen: Seen, named: Names, ran: list[_OneStep], busy: list[tuple[Busy, ...]], steps: list[int]) -> StepKind:
    first, mine = ran[steps[0]], [ran[at] for at in steps]
    gpu_us = spread([one.gpu_us for one in mine])
    idle = [gpu.idle_percent for at in steps for gpu in busy[at]]
    work = []
    for row, found in first.rows.items():
        category, name, grid, block = row
        short, family = named.of(category, name)
        op, call = seen.launcher(found.first)
        us = spread([one.rows[row].us for one in mine])
        share = percent(us.median, gpu_us.median)
        work.append(Work(ACTIVITY_KINDS[category], name, short, family, grid, block, found.count, us, share, call, op))
    return StepKind(
        steps=tuple(seen.number(at) for at in steps),
        step_us=spread([seen.windows[at].dur_us for at in steps]),
        gpu_us=gpu_us,
        idle_percent=spread(idle) if idle else None,
        work=tuple(work),
        launches=tuple(
            Launches(call, found.count, found.started, spread([one.launches[call].us for one in mine]))
            for call, found in first.launches.items()
        ),
    )
