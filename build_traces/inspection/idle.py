"""Where a GPU runs nothing within a step, and what it waits for."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from heapq import nlargest

import msgspec

from build_traces.inspection.seen import Seen, percent, to_ns
from build_traces.inspection.values import Gap, Idle, Why
from build_traces.trace import NONE

BIGGEST_GAPS = 20


class Piece(msgspec.Struct, frozen=True, gc=False):
    """An idle time of a GPU within a step, between two pieces of work (positions, NONE at the edges)."""

    us: float
    start_us: float
    window: int
    device: int
    before: int
    after: int


def idle_pieces(seen: Seen, device: int) -> Iterator[Piece]:
    """Where nothing runs on this GPU, step by step, by time."""
    starts, ends, before, after = _idle_times(seen, device)
    for at, window in enumerate(seen.windows):
        window_end = window.end_us
        gap = bisect_right(ends, window.start_us)
        while gap < len(starts) and starts[gap] < window_end:
            start, end = max(starts[gap], window.start_us), ends[gap]
            ended = after[gap] if end <= window_end else NONE
            yield Piece(min(end, window_end) - start, start - window.start_us, at, device, before[gap], ended)
            gap += 1


def _idle_times(seen: Seen, device: int) -> tuple[list[float], list[float], list[int], list[int]]:
    """When nothing runs on this GPU, from the beginning of all time: starts, ends, the work before and after."""
    starts, ends = [-math.inf], list[float]()
    before, after = [NONE], list[int]()
    reached = -math.inf
    for at in seen.work_of[device]:
        event = seen.ties.work[at]
        start, end = event.ts, event.ts + event.dur
        if start > reached:
            ends.append(start)
            after.append(at)
            starts.append(end)
            before.append(at)
            reached = end
        elif end > reached:
            starts[-1] = reached = end
            before[-1] = at
    return starts, [*ends, math.inf], before, [*after, NONE]


def _why(seen: Seen, piece: Piece) -> Why:
    if piece.after == NONE:
        return "end"
    call = seen.ties.work_call[piece.after]
    if call == NONE:
        return "unknown"
    launch = seen.ties.calls[call]
    idle_from = seen.windows[piece.window].start_us + piece.start_us
    return "late" if launch.ts + launch.dur > idle_from else "queued"


def idle(seen: Seen, pieces: list[Piece]) -> tuple[Idle, ...]:
    """By what ended it, the longest first."""
    sums: dict[tuple[str, str, Why], list[float]] = {}
    for piece in pieces:
        op, call = seen.launcher(piece.after) if piece.after != NONE else ("", "")
        of_op = sums.setdefault((op, "" if op else call, _why(seen, piece)), [0, 0.0])
        of_op[0] += 1
        of_op[1] += piece.us
    whole = sum(us for _, us in sums.values())
    rows = [
        Idle(op, call, why, int(gaps), to_ns(us), percent(us, whole)) for (op, call, why), (gaps, us) in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.us, row.op, row.call, row.why)))


def gaps(seen: Seen, pieces: list[Piece]) -> tuple[Gap, ...]:
    """The biggest, the longest first."""
    biggest = nlargest(BIGGEST_GAPS, pieces, key=lambda piece: (piece.us, -piece.window, -piece.start_us))
    return tuple(_gap(seen, piece) for piece in biggest)


def _gap(seen: Seen, piece: Piece) -> Gap:
    op, call = seen.launcher(piece.after) if piece.after != NONE else ("", "")
    return Gap(
        step=seen.number(piece.window),
        device=piece.device,
        start_us=to_ns(piece.start_us),
        us=to_ns(piece.us),
        before="" if piece.before == NONE else seen.ties.work[piece.before].name,
        after="" if piece.after == NONE else seen.ties.work[piece.after].name,
        op=op,
        call=call,
        why=_why(seen, piece),
    )
