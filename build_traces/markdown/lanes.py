"""A step of a stage as bars in rows: what a timeline draws, in µs and row numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from build_traces.kernel_names import decode
from build_traces.stage_view import StageView
from build_traces.trace import Activity, Call, Op
from build_traces.work_kinds import work_kind


@dataclass(frozen=True)
class Bar:
    """`kind` is op, annotation, call or a kind of GPU work; times from the start of the step."""

    kind: str
    name: str
    label: str
    row: int
    start_us: float
    dur_us: float

    @property
    def end_us(self) -> float:
        """When it ends."""
        return self.start_us + self.dur_us


@dataclass(frozen=True)
class Link:
    """From a launch to what it started."""

    launch: Bar
    started: Bar


@dataclass(frozen=True)
class Lane:
    """A named group of rows: a CPU thread or a GPU stream."""

    name: str
    row: int
    rows: int


@dataclass(frozen=True)
class Lanes:
    """Everything drawn of one stage."""

    stage: str
    step_us: float
    lanes: tuple[Lane, ...]
    cpu_bars: tuple[Bar, ...]
    gpu_bars: tuple[Bar, ...]
    links: tuple[Link, ...]
    first_gpu_row: int = 0

    @property
    def rows(self) -> int:
        """All rows of all lanes."""
        return sum(lane.rows for lane in self.lanes)

    @property
    def end_us(self) -> float:
        """When the last thing drawn ends."""
        return max([self.step_us, *(bar.end_us for bar in (*self.cpu_bars, *self.gpu_bars))])


def lanes_of(view: StageView) -> Lanes:
    """The lanes of a stage's shown step: first each CPU thread, then each GPU stream. Raises FactError."""
    trace = view.trace
    (step,) = view.steps(view.shown_step)
    ops = [op for op in trace.ops if op.step == step.number]
    calls = [call for call in trace.calls if call.step == step.number]
    activities = [activity for activity in trace.activities if activity.step == step.number]
    lanes: list[Lane] = []
    op_bars: list[Bar] = []
    call_bars: dict[int, Bar] = {}
    gpu_bars: dict[int, Bar] = {}
    row = 0
    threads = sorted({op.thread for op in ops} | {call.thread for call in calls})
    for position, thread in enumerate(threads, start=1):
        mine = [op for op in ops if op.thread == thread]
        made = [call for call in calls if call.thread == thread]
        top = min((op.depth for op in mine), default=0)
        call_row = row + max((op.depth - top + 1 for op in mine), default=0)
        packed = pack([(call.start_us, call.end_us) for call in made])
        op_bars += [_op_bar(op, row + op.depth - top, step.start_us) for op in mine]
        call_bars |= {c.index: _call_bar(c, call_row + at, step.start_us) for c, at in zip(made, packed, strict=True)}
        rows = call_row - row + max(packed, default=-1) + 1
        lanes.append(Lane("CPU" if len(threads) == 1 else f"CPU thread {position}", row, rows))
        row += rows
    first_gpu_row = row
    devices = {a.device for a in activities}
    for device, stream in sorted({(a.device, a.stream) for a in activities}):
        on_stream = [a for a in activities if (a.device, a.stream) == (device, stream)]
        gpu_bars |= {a.index: _gpu_bar(a, row, step.start_us) for a in on_stream}
        lanes.append(Lane(f"GPU stream {stream}" if len(devices) == 1 else f"GPU {device} stream {stream}", row, 1))
        row += 1
    links = [Link(call_bars[a.call], gpu_bars[a.index]) for a in activities if a.call in call_bars]
    return Lanes(
        stage=view.stage.name,
        step_us=step.dur_us,
        lanes=tuple(lanes),
        cpu_bars=(*op_bars, *call_bars.values()),
        gpu_bars=tuple(gpu_bars.values()),
        links=tuple(links),
        first_gpu_row=first_gpu_row,
    )


def pack(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """For each interval, by start, the first row on which it overlaps none before it."""
    ends: list[float] = []
    rows = []
    for start, end in intervals:
        row = next((n for n, taken in enumerate(ends) if taken <= start), len(ends))
        ends[row : row + 1] = [end]
        rows.append(row)
    return rows


def idle_spans(bars: Sequence[Bar]) -> list[tuple[float, float]]:
    """From when to when none of these bars is, between the first one's start and the last one's end."""
    spans, reached = [], None
    for bar in sorted(bars, key=lambda bar: bar.start_us):
        if reached is not None and bar.start_us > reached:
            spans.append((reached, bar.start_us))
        reached = bar.end_us if reached is None else max(reached, bar.end_us)
    return spans


def idle_share(bars: Sequence[Bar]) -> float:
    """The share of the time between the first bar's start and the last bar's end in which no bar is."""
    span = max(bar.end_us for bar in bars) - min(bar.start_us for bar in bars)
    return sum(end - start for start, end in idle_spans(bars)) / span if span else 0.0


def plural(count: int, word: str) -> str:
    """`1 kernel`, `5 kernels`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _op_bar(op: Op, row: int, origin_us: float) -> Bar:
    return Bar(op.kind, op.name, op.name, row, op.start_us - origin_us, op.dur_us)


def _call_bar(call: Call, row: int, origin_us: float) -> Bar:
    return Bar("call", call.name, call.name, row, call.start_us - origin_us, call.dur_us)


def _gpu_bar(activity: Activity, row: int, origin_us: float) -> Bar:
    label = decode(activity.name).short if activity.kind == "kernel" else activity.kind
    return Bar(
        work_kind(activity.kind, activity.name),
        activity.name,
        label,
        row,
        activity.start_us - origin_us,
        activity.dur_us,
    )
