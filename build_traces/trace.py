"""Read a PyTorch profiler trace: the one module that knows the profiler's JSON.

For everybody who asks what happened on the GPU. `read` takes a Chrome trace as
`torch.profiler.profile.export_chrome_trace` writes it (JSON or gzipped JSON, from
torch 1.13 on) and returns a `Trace` of typed events. A kernel is tied to its launch
by correlation id, and to its op and its step through that launch; where the launch
is not in the file the kernel has neither, whatever ran at that time.

Times are microseconds on the trace's own clock.
"""

import bisect
import gzip
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from build_traces.errors import TraceError

NONE = -1
"""Index or step number of something that is not there."""

OpKind = Literal["op", "annotation"]
ActivityKind = Literal["kernel", "memset", "memcpy"]

OP_KINDS: dict[str, OpKind] = {"cpu_op": "op", "user_annotation": "annotation"}
CALL_APIS = {"cuda_runtime": "runtime", "cuda_driver": "driver"}
ACTIVITY_KINDS: dict[str, ActivityKind] = {
    "kernel": "kernel",
    "gpu_memset": "memset",
    "gpu_memcpy": "memcpy",
}
STEP_NAME = re.compile(r"ProfilerStep#(\d{1,18})")


class Step(msgspec.Struct, frozen=True, gc=False):
    """One `ProfilerStep#number` on the CPU."""

    number: int
    start_us: float
    dur_us: float

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Op(msgspec.Struct, frozen=True, gc=False):
    """An op or a user annotation on a CPU thread; `parent` indexes `Trace.ops`."""

    index: int
    parent: int
    depth: int
    kind: OpKind
    name: str
    thread: int
    step: int
    start_us: float
    dur_us: float
    input_dims: msgspec.Raw

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Call(msgspec.Struct, frozen=True, gc=False):
    """A runtime or driver call on the CPU; a launch if `starts` is not empty.

    `op` indexes the innermost op or annotation around it, `starts` the activities it started.
    """

    index: int
    name: str
    api: str
    thread: int
    op: int
    step: int
    start_us: float
    dur_us: float
    correlation: int
    starts: tuple[int, ...]

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Activity(msgspec.Struct, frozen=True, gc=False):
    """A kernel, memset or memcpy on the GPU.

    `call` indexes its launch; `op`, that launch's innermost op or annotation, and `step` come from it.
    `blocks_per_sm` and `occupancy_percent` are the profiler's estimates, as it wrote them.
    """

    index: int
    kind: ActivityKind
    name: str
    device: int
    stream: str
    call: int
    op: int
    step: int
    start_us: float
    dur_us: float
    correlation: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    registers: int | None
    shared_memory_bytes: int | None
    bytes: int | None
    blocks_per_sm: float | None = None
    occupancy_percent: float | None = None

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Trace(msgspec.Struct, frozen=True):
    """Everything read from one file, each list ordered by start time."""

    source: str
    gpu: str
    steps: tuple[Step, ...]
    ops: tuple[Op, ...]
    calls: tuple[Call, ...]
    activities: tuple[Activity, ...]

    def kernels(self, step: int | None = None) -> list[Activity]:
        return self.of_kind("kernel", step)

    def of_kind(self, kind: ActivityKind, step: int | None = None) -> list[Activity]:
        return [a for a in self.activities if a.kind == kind and step in (None, a.step)]

    def launches(self, step: int | None = None) -> list[Call]:
        """The calls that started GPU work."""
        return [c for c in self.calls if c.starts and step in (None, c.step)]

    def children(self, op: Op) -> list[Op]:
        return [child for child in self.ops if child.parent == op.index]

    def ancestors(self, op_index: int) -> Iterator[Op]:
        """The op itself and every op around it, innermost first."""
        while op_index != NONE:
            op = self.ops[op_index]
            yield op
            op_index = op.parent

    def step(self, number: int) -> Step:
        """Raises KeyError for a step that is not in the trace."""
        for step in self.steps:
            if step.number == number:
                return step
        raise KeyError(number)


class _Args(msgspec.Struct, gc=False):
    correlation: int | str | None = None
    stream: int | str | None = None
    device: int | str | None = None
    grid: list[int] | str | None = None
    block: list[int] | str | None = None
    registers: int | None = msgspec.field(default=None, name="registers per thread")
    shared_memory: int | None = msgspec.field(default=None, name="shared memory")
    bytes: int | str | None = None
    blocks_per_sm: float | None = msgspec.field(default=None, name="blocks per SM")
    occupancy: float | None = msgspec.field(default=None, name="est. achieved occupancy %")
    input_dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"[]"), name="Input Dims")


class _Event(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str | None = None
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float | None = None
    dur: float | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")

    def timed(self) -> bool:
        return self.ph == "X" and self.ts is not None and self.dur is not None


class _Device(msgspec.Struct):
    name: str = ""


class _File(msgspec.Struct):
    traceEvents: list[_Event]  # noqa: N815 - the profiler's spelling
    deviceProperties: list[_Device] = []  # noqa: N815 - the profiler's spelling


_decode_file = msgspec.json.Decoder(_File, strict=False).decode
_decode_events = msgspec.json.Decoder(list[_Event], strict=False).decode
_decode_args = msgspec.json.Decoder(_Args, strict=False).decode


def read(path: Path) -> Trace:
    """Read a trace from a `.json` or `.json.gz` file, told apart by content.

    Raises TraceError, which names the file and what in it is wrong.
    """
    return parse(load(path), source=str(path))


def load(path: Path) -> bytes:
    """The JSON text of a trace file, unpacked. Raises TraceError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise TraceError(
            path, f"cannot be read: {error.strerror}", hint="give the path of a trace, .json or .json.gz"
        ) from error
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(
            path,
            f"the gzip data is damaged or cut short ({error})",
            hint="copy or export the trace again",
        ) from error


def parse(raw: bytes, source: str) -> Trace:
    """Turn a trace's JSON text into typed events. Raises TraceError."""
    file = _decode(raw, source)
    if not file.traceEvents:
        raise TraceError(
            source,
            "the trace holds no events",
            hint="call prof.step() inside the loop, once a step, until the schedule's active steps are over",
        )
    timed = [e for e in file.traceEvents if e.timed()]
    for event in timed:
        if not (math.isfinite(event.ts or 0.0) and math.isfinite(event.dur or 0.0)):
            raise _not_a_trace(source, f"ts or dur of event {event.name!r} is not finite")
    steps = _steps(timed)
    ops, calls = _cpu(timed, _StepFinder(steps), source)
    activities = _gpu(timed, calls, source)
    return Trace(
        source=source,
        gpu=file.deviceProperties[0].name if file.deviceProperties else "",
        steps=steps,
        ops=tuple(ops),
        calls=_with_starts(calls, activities),
        activities=tuple(activities),
    )


def _decode(raw: bytes, source: str) -> _File:
    decode = _decode_array if raw.lstrip()[:1] == b"[" else _decode_file
    try:
        try:
            raw.decode()  # msgspec looks at the encoding of what it keeps only, and arguments are decoded later
            return decode(raw)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, UnicodeDecodeError):
            return decode(repair(raw))
    except (msgspec.ValidationError, RecursionError) as error:
        raise _not_a_trace(source, error) from error
    except msgspec.DecodeError as error:
        raise TraceError(
            source, f"not valid JSON: {error}", hint="export the trace again; it may have been cut short"
        ) from error


def _decode_array(raw: bytes) -> _File:
    return _File(traceEvents=_decode_events(raw))


def _not_a_trace(source: str, error: Exception | str) -> TraceError:
    return TraceError(
        source,
        f"not a profiler trace: {error}",
        hint="give the file that prof.export_chrome_trace(…) or tensorboard_trace_handler wrote",
    )


_BARE_BACKSLASH = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\\\|\\["/bfnrt]|\\u[0-9a-fA-F]{4})')
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def repair(raw: bytes) -> bytes:
    """Escape bare backslashes and control characters inside strings, and replace bad UTF-8.

    Old versions of the profiler wrote both into names as they were.
    """
    text = raw.decode("utf-8", errors="replace").encode()
    text = _BARE_BACKSLASH.sub(lambda m: m.group(1) or rb"\\", text)
    return _STRING.sub(lambda m: _escape_controls(m.group(0)), text)


def _escape_controls(string: bytes) -> bytes:
    return re.sub(rb"[\x00-\x1f]", lambda m: b"\\u%04x" % m.group(0)[0], string)


def _steps(events: Iterable[_Event]) -> tuple[Step, ...]:
    found = []
    for event in events:
        match = event.cat == "user_annotation" and STEP_NAME.fullmatch(event.name)
        if match:
            found.append(Step(int(match[1]), event.ts or 0.0, event.dur or 0.0))
    return tuple(sorted(found, key=lambda step: step.start_us))


class _StepFinder:
    """Which step a moment on the CPU belongs to."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self._starts = [step.start_us for step in steps]

    def __call__(self, ts: float) -> int:
        at = bisect.bisect_right(self._starts, ts) - 1
        if at < 0 or ts > self._steps[at].end_us:
            return NONE
        return self._steps[at].number


def _cpu(events: list[_Event], step_of: _StepFinder, source: str) -> tuple[list[Op], list[Call]]:
    """Ops and calls, nested by thread: on one thread an event starts inside what encloses it."""
    relevant = [e for e in events if (e.cat in OP_KINDS and not STEP_NAME.fullmatch(e.name)) or e.cat in CALL_APIS]
    # Equal starts: an op encloses a call, the longer op the shorter; equal in both: the outer one was written first.
    relevant.sort(key=lambda e: (e.ts or 0.0, e.cat in CALL_APIS, -(e.dur or 0.0)))
    threads: dict[tuple[int | str, int | str], int] = {}
    open_ops: dict[int, list[Op]] = {}
    ops: list[Op] = []
    calls: list[Call] = []
    for event in relevant:
        start, dur = event.ts or 0.0, event.dur or 0.0
        thread = threads.setdefault((event.pid, event.tid), len(threads))
        stack = open_ops.setdefault(thread, [])
        while stack and start >= stack[-1].end_us and start > stack[-1].start_us:
            stack.pop()
        parent = stack[-1].index if stack else NONE
        args = _args(event, source)
        if event.cat in CALL_APIS:
            calls.append(
                Call(
                    index=len(calls),
                    name=event.name,
                    api=CALL_APIS[event.cat],
                    thread=thread,
                    op=parent,
                    step=step_of(start),
                    start_us=start,
                    dur_us=dur,
                    correlation=_int(args.correlation, NONE),
                    starts=(),
                )
            )
            continue
        op = Op(
            index=len(ops),
            parent=parent,
            depth=len(stack),
            kind=OP_KINDS[event.cat or ""],
            name=event.name,
            thread=thread,
            step=step_of(start),
            start_us=start,
            dur_us=dur,
            input_dims=args.input_dims,
        )
        ops.append(op)
        stack.append(op)
    return ops, calls


def _gpu(events: list[_Event], calls: list[Call], source: str) -> list[Activity]:
    by_correlation = {call.correlation: call for call in calls if call.correlation != NONE}
    found = sorted((e for e in events if e.cat in ACTIVITY_KINDS), key=lambda e: e.ts or 0.0)
    activities = []
    for index, event in enumerate(found):
        args = _args(event, source)
        correlation = _int(args.correlation, NONE)
        call = by_correlation.get(correlation)
        activities.append(
            Activity(
                index=index,
                kind=ACTIVITY_KINDS[event.cat or ""],
                name=event.name,
                device=_int(args.device, 0),
                stream=str(args.stream if args.stream is not None else event.tid),
                call=call.index if call else NONE,
                op=call.op if call else NONE,
                step=call.step if call else NONE,
                start_us=event.ts or 0.0,
                dur_us=event.dur or 0.0,
                correlation=correlation,
                grid=_dims(args.grid),
                block=_dims(args.block),
                registers=args.registers,
                shared_memory_bytes=args.shared_memory,
                bytes=None if args.bytes is None else _int(args.bytes, 0),
                blocks_per_sm=args.blocks_per_sm,
                occupancy_percent=args.occupancy,
            )
        )
    return activities


def _with_starts(calls: list[Call], activities: list[Activity]) -> tuple[Call, ...]:
    starts: dict[int, list[int]] = {}
    for activity in activities:
        starts.setdefault(activity.call, []).append(activity.index)
    return tuple(
        msgspec.structs.replace(call, starts=tuple(starts[call.index])) if call.index in starts else call
        for call in calls
    )


def _args(event: _Event, source: str) -> _Args:
    try:
        return _decode_args(event.args)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
        raise _not_a_trace(source, f"the arguments of event {event.name!r}: {error}") from error


def _int(value: int | str | None, default: int) -> int:
    if value is None:
        return default
    try:
        return int(value, 0) if isinstance(value, str) else value
    except ValueError:
        return default


def _dims(value: list[int] | str | None) -> tuple[int, ...]:
    if isinstance(value, str):
        return tuple(int(part) for part in re.findall(r"\d{1,18}", value))
    return tuple(value or ())


PUBLISHED_KEYS = (
    "schemaVersion",
    "deviceProperties",
    "cuda_driver_version",
    "cuda_runtime_version",
    "cupti_version",
    "record_shapes",
    "with_flops",
    "with_stack",
    "with_modules",
    "profile_memory",
    "displayTimeUnit",
    "baseTimeNanoseconds",
    "traceEvents",
)
PUBLISHED_PID = 1000
"""Above every GPU number, which a trace uses as process id too."""


def scrub(raw: bytes) -> bytes:
    """A trace fit to publish: no host, user, path, process or thread id of the machine it ran on.

    `raw` is the JSON object that torch exports, whole. Raises TraceError if it is something else.
    """
    try:
        data: dict[str, Any] = msgspec.json.decode(raw, type=dict)
        events: list[dict[str, Any]] = data["traceEvents"]
    except (msgspec.DecodeError, KeyError) as error:
        raise _not_a_trace("the trace to publish", error) from error
    gpu_categories = {*ACTIVITY_KINDS, "gpu_user_annotation"}
    gpu_rows = {(e["pid"], e["tid"]) for e in events if e.get("cat") in gpu_categories}
    cpu_categories = {*OP_KINDS, *CALL_APIS}
    pids = dict.fromkeys(e["pid"] for e in events if e.get("cat") in cpu_categories)
    new_pid = {pid: PUBLISHED_PID + n for n, pid in enumerate(pids)}
    new_tid: dict[tuple[Any, Any], int] = {}
    for event in events:
        _strip_paths(event.get("args", {}))
        row = (event.get("pid"), event.get("tid"))
        if row in gpu_rows or row[0] not in new_pid:
            continue
        event["pid"] = new_pid[row[0]]
        if row[1]:  # metadata rows name the process itself with thread 0
            event["tid"] = new_tid.setdefault((row[0], row[1]), PUBLISHED_PID + len(new_tid))
        if event.get("ph") == "M":
            _rename_row(event)
    return msgspec.json.encode({key: data[key] for key in PUBLISHED_KEYS if key in data})


def _strip_paths(args: dict[str, Any]) -> None:
    for key, value in args.items():
        if isinstance(value, str) and value.startswith("/"):
            args[key] = value.rpartition("/")[2]


def _rename_row(event: dict[str, Any]) -> None:
    """Give a metadata row of the CPU the numbers it now has."""
    args = event.get("args", {})
    if event.get("name") == "thread_name":
        args["name"] = f"thread {event['tid']}"
    if "sort_index" in args:
        args["sort_index"] = event["tid"] or event["pid"]
