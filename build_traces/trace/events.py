"""From JSON text to the profiler's events, piece by piece.

A large file is cut between two events into pieces that are JSON documents of their own, so at no time is more
than one of them decoded. A piece that the typed decoder refuses (an old version's spelling, a name that is no
valid JSON) is read the slow way, and only that piece.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import compress
from operator import or_
from types import GenericAlias
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from build_traces.errors import TraceError
from build_traces.trace.values import ACTIVITY_KINDS, CALL_APIS, NONE, OP_KINDS, STEP_NAME

PIECE_BYTES = 1 << 17
MAX_EVENT_BYTES = 64 << 20
"""The most text without the end of an event in it; a name of some MB is fine."""
MAX_FAULT_BYTES = 1 << 20
"""The most text that is read on, in the hope that what looks malformed is a cut in the wrong place."""
MAX_EVENTS = 20_000_000


class Args(msgspec.Struct, gc=False):
    """What is asked of an event's arguments where names, times and ties count."""

    correlation: int = NONE
    stream: int | str | None = None
    device: int = 0
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    bytes: int | None = None


class FullArgs(Args, gc=False):
    """The same, and what typed events keep beside it."""

    registers: int | None = msgspec.field(default=None, name="registers per thread")
    shared_memory: int | None = msgspec.field(default=None, name="shared memory")
    blocks_per_sm: float | None = msgspec.field(default=None, name="blocks per SM")
    occupancy: float | None = msgspec.field(default=None, name="est. achieved occupancy %")
    input_dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"[]"), name="Input Dims")


Category = Literal[
    "",
    "cpu_op",
    "user_annotation",
    "cuda_runtime",
    "cuda_driver",
    "kernel",
    "gpu_memset",
    "gpu_memcpy",
    "gpu_user_annotation",
    "cuda_sync",
    "overhead",
    "python_function",
    "Trace",
]


class Event(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a start and a duration."""

    name: str
    ts: float
    dur: float
    cat: str = ""
    pid: int | str = 0
    tid: int | str = 0
    args: Args = msgspec.field(default_factory=Args)


class LeanEvent(Event, gc=False, tag_field="ph", tag="X"):
    """The same, of the categories that a trace is full of; a piece with another one is read the slow way."""

    cat: Category = ""


class FullEvent(LeanEvent, gc=False, tag_field="ph", tag="X"):
    """The same, with all arguments that are kept."""

    args: FullArgs = msgspec.field(default_factory=FullArgs)


class Device(msgspec.Struct, frozen=True):
    """A GPU of the machine, as the file lists it."""

    name: str = ""
    id: int | None = None
    memory_bytes: int | None = msgspec.field(default=None, name="totalGlobalMem")
    multiprocessors: int | None = msgspec.field(default=None, name="numSms")
    major: int | None = msgspec.field(default=None, name="computeMajor")
    minor: int | None = msgspec.field(default=None, name="computeMinor")


class Distributed(msgspec.Struct, frozen=True):
    """Which of several processes wrote the file."""

    rank: int | None = None
    world_size: int | None = None
    backend: str = ""


UNSAID = Distributed()
OPTIONS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
VERSIONS = (
    "cuda_runtime_version",
    "cuda_driver_version",
    "cupti_version",
    "hip_runtime_version",
    "hip_driver_version",
)


class _Head(msgspec.Struct):
    """What stands beside the events, as text: each is read where it is asked for, and none can spoil the file."""

    deviceProperties: msgspec.Raw = msgspec.Raw()  # noqa: N815 - the profiler's spelling
    distributedInfo: msgspec.Raw = msgspec.Raw()  # noqa: N815 - the profiler's spelling
    cuda_runtime_version: msgspec.Raw = msgspec.Raw()
    cuda_driver_version: msgspec.Raw = msgspec.Raw()
    cupti_version: msgspec.Raw = msgspec.Raw()
    hip_runtime_version: msgspec.Raw = msgspec.Raw()
    hip_driver_version: msgspec.Raw = msgspec.Raw()
    record_shapes: msgspec.Raw = msgspec.Raw()
    profile_memory: msgspec.Raw = msgspec.Raw()
    with_stack: msgspec.Raw = msgspec.Raw()
    with_flops: msgspec.Raw = msgspec.Raw()
    with_modules: msgspec.Raw = msgspec.Raw()


@dataclass
class Events:
    """The events of one file by what they are, in the order of the file, and what stands beside them.

    `total` counts all of them, `annotations` those among `ops`; `shortest_us` is at most 0, `longest_us` at least.
    """

    total: int = 0
    annotations: int = 0
    ops: list[Event] = field(default_factory=list)
    calls: list[Event] = field(default_factory=list)
    work: list[Event] = field(default_factory=list)
    devices: tuple[Device, ...] = ()
    distributed: Distributed = UNSAID
    versions: dict[str, int] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    shortest_us: float = 0.0
    longest_us: float = 0.0


def collect(blocks: Iterable[bytes], source: str, *, full: bool) -> Events:
    """The ops with annotations, the calls and the GPU work of a file. Raises TraceError."""
    found = Events()
    for piece in _pieces(blocks, source, FullArgs if full else Args):
        found.total += piece.total
        if found.total > MAX_EVENTS:
            raise TraceError(source, f"it holds more than {MAX_EVENTS:,} events", hint="profile fewer steps")
        _sort_in(piece.events, found)
        _read_head(piece.head, found)
    if not found.total:
        raise TraceError(
            source,
            "the trace holds no events",
            hint="call prof.step() inside the loop, once a step, until the schedule's active steps are over",
        )
    return found


def _sort_in(events: list[Event], found: Events) -> None:
    """Put events where they belong; what runs here runs for every event, so it runs in C."""
    for event in events:
        event.name = sys.intern(event.name)  # many events, some names
    categories = [event.cat for event in events]
    durations = [event.dur for event in events]
    found.annotations += categories.count("user_annotation")
    least, most = min(durations, default=0.0), max(durations, default=0.0)
    found.shortest_us, found.longest_us = min(found.shortest_us, least), max(found.longest_us, most)
    found.ops += compress(events, map(OP_KINDS.__contains__, categories))
    found.calls += compress(events, map(CALL_APIS.__contains__, categories))
    found.work += compress(events, map(ACTIVITY_KINDS.__contains__, categories))


def _read_head(head: _Head, found: Events) -> None:
    found.devices = found.devices or _read(head.deviceProperties, tuple[Device, ...], ())
    found.distributed = _read(head.distributedInfo, Distributed, found.distributed)
    for name in VERSIONS:
        if number := _read(getattr(head, name), int, 0):
            found.versions[name] = number
    found.options += tuple(name for name in OPTIONS if _read(getattr(head, name), int, 0))


Read = TypeVar("Read")


def _read(raw: msgspec.Raw, kind: type[Read], otherwise: Read) -> Read:
    try:
        return msgspec.json.decode(raw, type=kind, strict=False) if raw else otherwise
    except (ValueError, RecursionError):  # msgspec's own errors are ValueErrors
        return otherwise


def not_a_trace(source: str, error: Exception | str) -> TraceError:
    """The file is no trace, for this reason."""
    return TraceError(
        source,
        f"not a profiler trace: {error}",
        hint="give the file that prof.export_chrome_trace(…) or tensorboard_trace_handler wrote",
    )


# Pieces


class _Piece(NamedTuple):
    """Some of a file's events: how many there are, those with a duration, and what stands beside them.

    `cut` says whether the last of them is the one that marks a cut.
    """

    total: int
    events: list[Event]
    head: _Head
    cut: bool


FIRST_EVENT = re.compile(rb'(?:\A\s*|"traceEvents"\s*:\s*)\[\s*\{')
"""The begin of the list of events; behind a backslash `"traceEvents"` would be part of a string."""
NEXT_EVENT = re.compile(rb'\}\s*(,)\s*\{\s*"[A-Za-z]')
"""A comma between two objects of a list: in a string, the quote would end it, and no letter follows a string.

It may lie in another list. So each piece gets one more event, `CUT`; where that is not the last of its events, the
piece is read together with the text behind it.
"""
CUT = "cut"


def _pieces(blocks: Iterable[bytes], source: str, args: type[Args]) -> Iterator[_Piece]:
    """Cut a file between two events wherever there is enough of it; a small file is one piece."""
    decode = _Decode(source, args)
    before, after = b"", b""
    parts, length, enough, begin = list[bytes](), 0, PIECE_BYTES, 0
    for block in blocks:
        parts.append(block)
        length += len(block)
        if length < enough:
            continue
        if not after and (first := FIRST_EVENT.search(b"".join(parts))):
            before, after = _IN_OBJECT if first[0].startswith(b'"') else _IN_ARRAY
            begin = first.end()
        cut = _last_cut(block) if after else 0
        if not cut:
            parts = [b"".join(parts)]
            cut = _last_cut(parts[0]) if after else 0
        end = parts.pop()
        done = length - len(end) + cut
        is_cut = cut and done > begin
        piece = decode.part(b"".join((*parts, memoryview(end)[:cut], after))) if is_cut else None
        if piece is None:
            decode.check_worth_waiting(length)
            parts, enough = [*parts, end], 2 * length
            continue
        yield piece
        decode.advance(done + 1 - len(before), piece.total)
        rest = before + end[cut + 1 :]
        parts, length, enough, begin = [rest], len(rest), PIECE_BYTES, 0
    yield decode.whole(b"".join(parts))


_IN_OBJECT = b'{"traceEvents":[', b',{"ph":"%s"}]}' % CUT.encode()
_IN_ARRAY = b"[", b',{"ph":"%s"}]' % CUT.encode()


def _last_cut(text: bytes) -> int:
    """Where the last comma between two events is, 0 if there is none."""
    behind = 1 << 10
    while True:
        cut = 0
        for found in NEXT_EVENT.finditer(text, max(0, len(text) - behind)):
            cut = found.start(1)
        if cut or behind >= len(text):
            return cut
        behind <<= 4


# Documents


_PHASES = [
    msgspec.defstruct(f"_Phase{number}", [], tag_field="ph", tag=phase, gc=False)
    for number, phase in enumerate([CUT, *"BECMibenstfIPNODRcvV(),"])
]
"""Events of Chrome's other phases: nothing of them is kept."""


class _SlowEvent(msgspec.Struct, gc=False):
    """An event as any version may have written it."""

    ph: str = ""
    cat: str | None = None
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float | None = None
    dur: float | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _SlowArgs(msgspec.Struct, gc=False):
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


Decoder = Callable[[bytes], tuple[list[Any], _Head]]


def _file_of(event: object, strict: bool) -> Decoder:
    """A decoder of documents, told apart by their first character, that hold such events."""
    events = GenericAlias(list, (event,))
    in_object = msgspec.defstruct("_File", [("traceEvents", events)], bases=(_Head,), kw_only=True)
    decode_object = msgspec.json.Decoder(in_object, strict=strict).decode
    decode_array = msgspec.json.Decoder(events, strict=strict).decode

    def decode(document: bytes) -> tuple[list[Any], _Head]:
        if document.lstrip()[:1] == b"[":
            return decode_array(document), _Head()
        file: Any = decode_object(document)
        return file.traceEvents, file

    return decode


_FAST: dict[type[Args], tuple[type[Event], Decoder]] = {
    Args: (LeanEvent, _file_of(reduce(or_, _PHASES, LeanEvent), True)),
    FullArgs: (FullEvent, _file_of(reduce(or_, _PHASES, FullEvent), True)),
}
_slow_file = _file_of(_SlowEvent, False)
_slow_args = msgspec.json.Decoder(_SlowArgs, strict=False).decode


class _Decode:
    """Documents into pieces; knows how far into the file it is, for what it says of a fault."""

    def __init__(self, source: str, args: type[Args]) -> None:
        self._source = source
        self._kind, self._fast = _FAST[args]
        self._byte = 0
        self._event = 0
        self._fault = ""

    def advance(self, text: int, events: int) -> None:
        """The document just read is done with."""
        self._byte += text
        self._event += events

    def part(self, document: bytes) -> _Piece | None:
        """None if this is not the begin of a document, cut between two events; more text may make it one."""
        try:
            piece = self._mended(document)
        except msgspec.DecodeError as error:
            self._fault = str(error)
            return None
        self._fault = ""
        return piece._replace(total=piece.total - 1) if piece.cut else None

    def whole(self, document: bytes) -> _Piece:
        """What must be a document."""
        try:
            return self._mended(document)
        except msgspec.DecodeError as error:
            self._fault = str(error)
            raise self._refusal() from error

    def check_worth_waiting(self, length: int) -> None:
        """Raises TraceError where so much text is no document that more would not help."""
        if self._fault and "truncated" not in self._fault and length > MAX_FAULT_BYTES:
            raise self._refusal()
        if length > MAX_EVENT_BYTES:
            what = f"there is no end of an event in {MAX_EVENT_BYTES >> 20} MB of it"
            raise not_a_trace(self._source, what)

    def _refusal(self) -> TraceError:
        """What the last document's fault was."""
        fault = re.sub(r"\(byte (\d+)\)", lambda m: f"(byte {int(m[1]) + self._byte})", self._fault)
        hint = "export the trace again; it may have been cut short"
        return TraceError(self._source, f"not valid JSON: {fault}", hint=hint)

    def _mended(self, document: bytes) -> _Piece:
        try:
            if not document.isascii():
                document.decode()  # msgspec looks at the encoding of what it keeps only
            return self._typed(document)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._typed(repair(document))

    def _typed(self, document: bytes) -> _Piece:
        try:
            events, head = self._fast(document)
        except (msgspec.ValidationError, RecursionError):
            return self._slow(document)
        timed = [event for event in events if type(event) is self._kind]
        return _Piece(len(events), timed, head, bool(events) and type(events[-1]) is _PHASES[0])

    def _slow(self, document: bytes) -> _Piece:
        try:
            events, head = _slow_file(document)
        except (msgspec.ValidationError, RecursionError) as error:
            place = re.sub(r"\[(\d+)\]", lambda m: f"[{int(m[1]) + self._event}]", str(error), count=1)
            raise not_a_trace(self._source, place) from error
        timed = [event for event in events if event.ph == "X" and event.ts is not None and event.dur is not None]
        return _Piece(
            len(events), [self._event_of(event) for event in timed], head, bool(events) and events[-1].ph == CUT
        )

    def _event_of(self, slow: _SlowEvent) -> Event:
        ts, dur, cat = slow.ts or 0.0, slow.dur or 0.0, slow.cat or ""
        if not (math.isfinite(ts) and math.isfinite(dur)):
            raise not_a_trace(self._source, f"ts or dur of event {slow.name[:100]!r} is not finite")
        kept = (cat in OP_KINDS and not STEP_NAME.fullmatch(slow.name)) or cat in CALL_APIS or cat in ACTIVITY_KINDS
        args = self._slow_args(slow) if kept else FullArgs()
        return Event(slow.name, ts, dur, cat, slow.pid, slow.tid, args)

    def _slow_args(self, event: _SlowEvent) -> FullArgs:
        try:
            args = _slow_args(event.args)
        except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
            raise not_a_trace(self._source, f"the arguments of event {event.name[:100]!r}: {error}") from error
        return FullArgs(
            correlation=_int(args.correlation, NONE),
            stream=args.stream,
            device=_int(args.device, 0),
            grid=_dims(args.grid),
            block=_dims(args.block),
            bytes=None if args.bytes is None else _int(args.bytes, 0),
            registers=args.registers,
            shared_memory=args.shared_memory,
            blocks_per_sm=args.blocks_per_sm,
            occupancy=args.occupancy,
            input_dims=args.input_dims,
        )


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
