"""The format of an export, schema 1: a recording as one small JSON file, for the site and for other machines.

It holds all that facts, claims and predictions ask of a recording: environment.json, every stage.json whole, the
rows of each profiler table, and the events of each published trace with their names, times and ties. A recording with
sweeps has `sweeps` too.

It leaves out what no fact asks for: shapes and other arguments of ops, correlation ids (the ties are there
instead), flow arrows and metadata of the trace files, the profiler's table as text, and the text of kept artefacts.

`names` holds every string of the traces once; where a field is a *name*, a number points into it. Rows are arrays
with the fields of the classes below, in their order. Times in traces are whole nanoseconds after the trace's
`origin_ns`. Positions count from 0; -1 is none.
"""

from typing import Literal

import msgspec

from build_traces.recording import PROTOCOL, Environment
from build_traces.sweep_export import SweepRows
from build_traces.trace import NONE, ActivityKind, OpKind

FORMAT: Literal["build-traces recording"] = "build-traces recording"
SCHEMA = 1
"""Counted up when the format changes; an export of another schema is refused."""
ApiKind = Literal["runtime", "driver"]


class WorkRow(msgspec.Struct, frozen=True, array_like=True):
    """GPU work as it was launched, which several activities of a trace share; `name` and `stream` are *names*."""

    kind: ActivityKind
    name: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    device: int = 0
    stream: int = NONE
    registers: int | None = None
    shared_memory_bytes: int | None = None
    bytes: int | None = None
    blocks_per_sm: float | None = None
    occupancy_percent: float | None = None


class StepRow(msgspec.Struct, frozen=True, array_like=True):
    """A ProfilerStep."""

    number: int
    start_ns: int
    dur_ns: int


class OpRow(msgspec.Struct, frozen=True, array_like=True):
    """An op or annotation; `parent` is a position in `ops`, `step` the number of a step."""

    kind: OpKind
    name: int
    parent: int
    thread: int
    step: int
    start_ns: int
    dur_ns: int


class CallRow(msgspec.Struct, frozen=True, array_like=True):
    """A runtime or driver call; `op` is a position in `ops`."""

    api: ApiKind
    name: int
    op: int
    thread: int
    step: int
    start_ns: int
    dur_ns: int


class ActivityRow(msgspec.Struct, frozen=True, array_like=True):
    """A kernel, memset or memcpy; `work` is a position in the stage's `work`, `call` one in `calls`."""

    work: int
    call: int
    start_ns: int
    dur_ns: int


class TraceRows(msgspec.Struct, frozen=True):
    """The published trace; each list is ordered by start."""

    gpu: str
    origin_ns: int
    steps: tuple[StepRow, ...]
    ops: tuple[OpRow, ...]
    calls: tuple[CallRow, ...]
    activities: tuple[ActivityRow, ...]


class ProcessWork(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a step's GPU work in one process: a position in `work`, and its µs by step."""

    work: int
    us: tuple[float | None, ...]


class ProcessRows(msgspec.Struct, frozen=True):
    """One fresh process, as in stage.json."""

    first_call_ms: float
    time_us: tuple[float, ...]
    back_to_back_us: float | None
    peak_bytes: int
    error: float
    cpu_us: tuple[float, ...]
    step_us: tuple[float, ...]
    work: tuple[ProcessWork, ...]


class Rung(msgspec.Struct, frozen=True):
    """The stage's entry in ladder.toml."""

    name: str
    title: str
    against: str
    cold: bool
    chapter: int
    rung: bool


class HbmRow(msgspec.Struct, frozen=True, array_like=True):
    """HBM bytes of one kernel of a step; `name` is a *name*."""

    name: int
    read_bytes: int
    write_bytes: int


class TableRow(msgspec.Struct, frozen=True, array_like=True):
    """A row of the profiler's table with its own GPU time."""

    name: int
    self_cuda_us: float


class Table(msgspec.Struct, frozen=True):
    """The profiler's table: its rows in order, and the total under it."""

    rows: tuple[TableRow, ...]
    total_us: float


class StageRows(msgspec.Struct, frozen=True):
    """One stage; `table_missing` says why there is no `table`."""

    rung: Rung
    sha256: str
    command: str
    recorded: str
    commit: str
    machine: str
    flops: int
    published_process: int
    processes: tuple[ProcessRows, ...]
    hbm: tuple[HbmRow, ...] | None
    hbm_missing: str | None
    artefacts: tuple[str, ...]
    work: tuple[WorkRow, ...]
    trace: TraceRows
    table: Table | None
    table_missing: str


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """The file. `left_out` says why a stage or sweep of the ladder is not in it."""

    format: Literal["build-traces recording"] = FORMAT
    schema: int = SCHEMA
    protocol: int = PROTOCOL
    recording: str
    environment: Environment
    names: tuple[str, ...]
    stages: tuple[StageRows, ...]
    left_out: dict[str, str]
    sweeps: tuple[SweepRows, ...] | msgspec.UnsetType = msgspec.UNSET
