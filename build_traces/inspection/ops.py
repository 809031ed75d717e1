"""Ops that launch nothing, memcpys that block, and GPU work without a launch."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from build_traces.inspection.seen import Names, Seen, to_ns
from build_traces.inspection.values import BlockingMemcpy, SilentOp, Unlaunched
from build_traces.trace import ACTIVITY_KINDS, NONE, Event

_name = attrgetter("name")


@dataclass
class _Sum:
    """How much there is of something; `first` is the position of the first."""

    first: int
    count: int = 0
    us: float = 0.0
    bytes: int = 0


def silent_ops(seen: Seen) -> tuple[SilentOp, ...]:
    """Those that take the most time first."""
    ops, parents = seen.ties.ops, seen.ties.op_parent
    found: dict[str, _Sum] = {}
    launching: list[str] = []
    silent = bytearray(len(ops) + 1)  # the last is for NONE
    for at, (event, step, launched) in enumerate(zip(ops, seen.op_step, seen.launched, strict=True)):
        if silent[parents[at]]:
            found[ops[parents[at]].name].us -= event.dur
        if step == NONE or event.cat != "cpu_op":
            continue
        if launched:
            launching.append(event.name)
        else:
            silent[at] = True
            mine = found.get(event.name) or found.setdefault(event.name, _Sum(at))
            mine.count += 1
            mine.us += event.dur
    others = Counter(launching)
    rows = [
        SilentOp(name, mine.count, mine.count + others[name], to_ns(max(0.0, mine.us))) for name, mine in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.us, row.name)))


def blocking_memcpys(seen: Seen) -> tuple[BlockingMemcpy, ...]:
    """Those that the CPU waits for longest first."""
    ties = seen.ties
    sums: dict[tuple[str, str, str, str], _Sum] = {}
    for at, waits in _waits(seen):
        work, launch = ties.work[at], ties.calls[ties.work_call[at]]
        row = (work.name, *seen.launcher(at), waits.name)
        blocking = sums.get(row) or sums.setdefault(row, _Sum(at))
        blocking.count += 1
        blocking.bytes += work.args.bytes or 0
        blocking.us += waits.ts + waits.dur - launch.ts
    rows = [BlockingMemcpy(*row, found.count, found.bytes, to_ns(found.us)) for row, found in sums.items()]
    return tuple(sorted(rows, key=lambda row: (-row.us, row.name, row.op, row.call, row.waits_in)))


def _waits(seen: Seen) -> Iterator[tuple[int, Event]]:
    """Each memcpy that blocks, with the call that waits for it.

    A copy blocks if its own call ends no earlier than the copy. It blocks too if the next call on its thread that
    launches or waits is one that waits ("…Synchronize"), in the same op, and that ends no earlier.
    """
    ties = seen.ties
    both = enumerate(zip(ties.work, ties.work_call, strict=True))
    copy_of = {call: at for at, (event, call) in both if event.cat == "gpu_memcpy"}
    copy_of.pop(NONE, None)
    if not copy_of:
        return
    waiting = {name for name in set(map(_name, ties.calls)) if "ynchronize" in name}
    pending: dict[tuple[int | str, int | str], int] = {}  # by thread, the last launch if it is a copy
    for at, (call, started) in enumerate(zip(ties.calls, seen.started, strict=True)):
        if not started and (not pending or call.name not in waiting):
            continue
        launch = at if started else pending.get((call.pid, call.tid), NONE)
        copy = copy_of.get(launch)
        if pending:
            pending.pop((call.pid, call.tid), None)
        if copy is None or seen.call_step[launch] == NONE or ties.call_op[launch] != ties.call_op[at]:
            continue
        if call.ts + call.dur >= ties.work[copy].ts + ties.work[copy].dur:
            yield copy, call
        elif started:
            pending[call.pid, call.tid] = launch


def unlaunched(seen: Seen, named: Names) -> tuple[Unlaunched, ...]:
    """In the order of the first of each."""
    found: dict[tuple[str, str], _Sum] = {}
    for at, (event, call) in enumerate(zip(seen.ties.work, seen.ties.work_call, strict=True)):
        if call == NONE:
            row = event.cat, event.name
            one = found.get(row) or found.setdefault(row, _Sum(at))
            one.count += 1
            one.us += event.dur
    return tuple(
        Unlaunched(
            kind=ACTIVITY_KINDS[category],
            name=name,
            short=named.of(category, name)[0],
            count=one.count,
            us=to_ns(one.us),
            first_us=to_ns(seen.ties.work[one.first].ts - seen.origin_us),
        )
        for (category, name), one in found.items()
    )
