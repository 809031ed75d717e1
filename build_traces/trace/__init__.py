"""Read a PyTorch profiler trace: the one package that knows the profiler's JSON.

For everybody who asks what happened on the GPU. `read` takes a Chrome trace as
`torch.profiler.profile.export_chrome_trace` writes it (JSON or gzipped JSON, from
torch 1.13 on) and returns a `Trace` of typed events. A kernel is tied to its launch
by correlation id, and to its op and its step through that launch; where the launch
is not in the file the kernel has neither, whatever ran at that time.

Times are microseconds on the trace's own clock.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from build_traces.trace.events import Device, Event, Events, FullArgs, collect, repair
from build_traces.trace.file import MAX_BYTES, Progress, blocks, load
from build_traces.trace.scrub import PUBLISHED_KEYS, PUBLISHED_PID, scrub
from build_traces.trace.ties import Ties, tie
from build_traces.trace.values import (
    ACTIVITY_KINDS,
    CALL_APIS,
    NONE,
    OP_KINDS,
    STEP_NAME,
    Activity,
    ActivityKind,
    Call,
    Op,
    OpKind,
    Step,
    Trace,
)

__all__ = [
    "ACTIVITY_KINDS",
    "CALL_APIS",
    "MAX_BYTES",
    "NONE",
    "OP_KINDS",
    "PUBLISHED_KEYS",
    "PUBLISHED_PID",
    "STEP_NAME",
    "Activity",
    "ActivityKind",
    "Call",
    "Device",
    "Event",
    "Events",
    "Op",
    "OpKind",
    "Progress",
    "Step",
    "Ties",
    "Trace",
    "load",
    "parse",
    "read",
    "read_ties",
    "repair",
    "scrub",
    "without_gc",
]


def read(path: Path) -> Trace:
    """Read a trace from a `.json` or `.json.gz` file, told apart by content.

    Raises TraceError, which names the file and what in it is wrong.
    """
    return _typed(collect(blocks(path), str(path), full=True), str(path))


def parse(raw: bytes, source: str) -> Trace:
    """Turn a trace's JSON text into typed events. Raises TraceError."""
    return _typed(collect([raw], source, full=True), source)


def read_ties(path: Path, max_bytes: int = MAX_BYTES, progress: Progress | None = None) -> tuple[Events, Ties]:
    """Names, times and ties alone, of a trace of any size: no more of the file is kept. Raises as `read`."""
    source = str(path)
    events = collect(blocks(path, max_bytes, progress), source, full=False)
    return events, tie(events, source)


@contextmanager
def without_gc() -> Iterator[None]:
    """Events hold no cycles, and looking for some among millions takes a while."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _typed(events: Events, source: str) -> Trace:
    ties = tie(events, source)
    numbers = [step.number for step in ties.steps] + [NONE]  # the last is the one at NONE
    return Trace(
        source=source,
        gpu=events.devices[0].name if events.devices else "",
        steps=tuple(ties.steps),
        ops=tuple(_ops(ties, numbers)),
        calls=tuple(_calls(ties, numbers)),
        activities=tuple(_activities(ties, numbers)),
    )


def _ops(ties: Ties, numbers: list[int]) -> Iterator[Op]:
    depths: list[int] = []
    for index, (event, parent, step) in enumerate(zip(ties.ops, ties.op_parent, ties.op_step, strict=True)):
        depths.append(0 if parent == NONE else depths[parent] + 1)
        yield Op(
            index=index,
            parent=parent,
            depth=depths[index],
            kind=OP_KINDS[event.cat],
            name=event.name,
            thread=ties.threads[event.pid, event.tid],
            step=numbers[step],
            start_us=event.ts,
            dur_us=event.dur,
            input_dims=_full(event).input_dims,
        )


def _calls(ties: Ties, numbers: list[int]) -> Iterator[Call]:
    starts: dict[int, list[int]] = {}
    for index, call in enumerate(ties.work_call):
        starts.setdefault(call, []).append(index)
    for index, (event, op, step) in enumerate(zip(ties.calls, ties.call_op, ties.call_step, strict=True)):
        yield Call(
            index=index,
            name=event.name,
            api=CALL_APIS[event.cat],
            thread=ties.threads[event.pid, event.tid],
            op=op,
            step=numbers[step],
            start_us=event.ts,
            dur_us=event.dur,
            correlation=event.args.correlation,
            starts=tuple(starts.get(index, ())),
        )


def _activities(ties: Ties, numbers: list[int]) -> Iterator[Activity]:
    for index, (event, call) in enumerate(zip(ties.work, ties.work_call, strict=True)):
        args = _full(event)
        yield Activity(
            index=index,
            kind=ACTIVITY_KINDS[event.cat],
            name=event.name,
            device=args.device,
            stream=str(args.stream if args.stream is not None else event.tid),
            call=call,
            op=NONE if call == NONE else ties.call_op[call],
            step=NONE if call == NONE else numbers[ties.call_step[call]],
            start_us=event.ts,
            dur_us=event.dur,
            correlation=args.correlation,
            grid=args.grid,
            block=args.block,
            registers=args.registers,
            shared_memory_bytes=args.shared_memory,
            bytes=args.bytes,
            blocks_per_sm=args.blocks_per_sm,
            occupancy_percent=args.occupancy,
        )


def _full(event: Event) -> FullArgs:
    assert isinstance(event.args, FullArgs)
    return event.args
