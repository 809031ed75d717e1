"""Read an export back: a `Recording` like one on disk, so that both are read by the same code.

For those who bring another machine's recording. A file comes from anywhere: one of another schema, and one in which
something does not fit together, is refused with a sentence that says what.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from build_traces import sweep_export
from build_traces.errors import FactError, NotRecordedError, RecordingError
from build_traces.export_format import (
    FORMAT,
    SCHEMA,
    ActivityRow,
    CallRow,
    Export,
    OpRow,
    ProcessRows,
    StageRows,
    StepRow,
    TraceRows,
    WorkRow,
)
from build_traces.ladder import Ladder, Stage
from build_traces.profiler_table import ProfilerTable
from build_traces.recording import PROTOCOL, GpuWork, KernelBytes, Process, Recording, StageRecord, inconsistency
from build_traces.sweep_export import SweepRows
from build_traces.sweep_record import SweepRecord
from build_traces.trace import NONE, Activity, Call, Op, Step, Trace

MAX_BYTES = 20_000_000
"""Of an export, unpacked; the largest real one is a hundredth of this."""
GZIP = b"\x1f\x8b"
BEGIN = re.compile(rb'\s*\{\s*"format"\s*:\s*"build-traces recording"')


@dataclass(frozen=True)
class ImportedRecording(Recording):
    """A recording that came as an export; `folder` has its name, and is nowhere on the disk."""

    exported: Export

    @cached_property
    def _stages(self) -> dict[str, StageRows]:
        return {stage.rung.name: stage for stage in self.exported.stages}

    @cached_property
    def _sweeps(self) -> dict[str, SweepRows]:
        return {sweep.name: sweep for sweep in self.exported.sweeps or ()}

    def _rows(self, stage: str) -> StageRows:
        if stage not in self._stages:
            raise self._left_out(stage)
        return self._stages[stage]

    def _left_out(self, name: str) -> NotRecordedError:
        why = self.exported.left_out.get(name, "the export does not say why")
        return NotRecordedError(name, f"not in the export of {self.name}: {why}", hint="record it, and export again")

    def stage(self, stage: str) -> StageRecord:
        return _record(self._rows(stage), self.exported)

    def sweep(self, sweep: str) -> SweepRecord:
        if sweep not in self._sweeps:
            raise self._left_out(sweep)
        return sweep_export.record(self._sweeps[sweep], self.exported.names)

    def trace(self, stage: str) -> Trace:
        return _typed(self._rows(stage), self.exported.names, f"{self.name}: {stage}")

    def profile(self, stage: str) -> str:
        raise RecordingError(stage, "an export holds the rows of the profiler's table, and not its text")

    def profiler_table(self, stage: str) -> ProfilerTable:
        rows = self._rows(stage)
        if rows.table is None:
            raise FactError(rows.table_missing)
        names = self.exported.names
        return ProfilerTable(tuple((names[row.name], row.self_cuda_us) for row in rows.table.rows), rows.table.total_us)


def is_export(path: Path) -> bool:
    """Whether a file begins as exports do; False for one that cannot be read."""
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP)) == GZIP
            file.seek(0)
            begin = (gzip.GzipFile(fileobj=file) if packed else file).read(200)
    except (OSError, EOFError, zlib.error):
        return False
    return BEGIN.match(begin) is not None


def read(path: Path) -> tuple[ImportedRecording, Ladder]:
    """The recording that a file holds, and the ladder it was made by. Raises RecordingError."""
    try:
        return parse(_bytes(path))
    except DamageError as error:
        hint = "export it again: python -m build_traces export"
        raise RecordingError("", f"{path} is no export of a recording: {error}", hint=hint) from error
    except OSError as error:
        raise RecordingError(
            "", f"{path} cannot be read: {error.strerror}", hint="give the path of an export"
        ) from error


def parse(raw: bytes) -> tuple[ImportedRecording, Ladder]:
    """The same from the file's text. Raises DamageError."""
    try:
        stamp = msgspec.json.decode(raw, type=_Stamp)
        if stamp.format != FORMAT:
            raise DamageError(f"it calls itself {stamp.format[:100]!r}")
        if (stamp.schema, stamp.protocol) != (SCHEMA, PROTOCOL):
            known = f"this reader knows schema {SCHEMA} and protocol {PROTOCOL}"
            raise DamageError(f"it is of schema {stamp.schema} and protocol {stamp.protocol}; {known}")
        exported = msgspec.json.decode(raw, type=Export)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamageError(str(error)) from error
    _check(exported)
    rungs = [stage.rung for stage in exported.stages]
    stages = tuple(Stage(r.name, r.title, r.against, r.cold, Path(f"{r.name}.py"), r.chapter, r.rung) for r in rungs)
    folder, environment = Path(exported.recording), exported.environment
    sweeps = tuple(map(sweep_export.entry, exported.sweeps or ()))
    return ImportedRecording(folder, environment, exported), Ladder(Path(), stages, sweeps)


class DamageError(Exception):
    """What in an export does not fit together."""


class _Stamp(msgspec.Struct):
    format: str
    schema: int
    protocol: int


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        try:
            raw = (gzip.GzipFile(fileobj=file) if packed else file).read(MAX_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DamageError(f"the gzip data is damaged or cut short ({error})") from error
    if len(raw) > MAX_BYTES:
        raise DamageError(f"it holds more than {MAX_BYTES / 1e6:.0f} MB")
    return raw


def _record(rows: StageRows, exported: Export) -> StageRecord:
    names = exported.names
    return StageRecord(
        stage=rows.rung.name,
        protocol=exported.protocol,
        sha256=rows.sha256,
        command=rows.command,
        recorded=rows.recorded,
        commit=rows.commit,
        machine=rows.machine,
        flops=rows.flops,
        processes=tuple(_process_of(process, rows.work, names) for process in rows.processes),
        published_process=rows.published_process,
        hbm=None
        if rows.hbm is None
        else tuple(KernelBytes(names[kernel.name], kernel.read_bytes, kernel.write_bytes) for kernel in rows.hbm),
        hbm_missing=rows.hbm_missing,
        artefacts=rows.artefacts,
    )


def _process_of(process: ProcessRows, work: Sequence[WorkRow], names: Sequence[str]) -> Process:
    return Process(
        first_call_ms=process.first_call_ms,
        time_us=process.time_us,
        back_to_back_us=process.back_to_back_us,
        peak_bytes=process.peak_bytes,
        error=process.error,
        cpu_us=process.cpu_us,
        step_us=process.step_us,
        work=tuple(
            GpuWork(row.kind, names[row.name], row.grid, row.block, one.us)
            for one in process.work
            for row in [work[one.work]]
        ),
    )


def _typed(rows: StageRows, names: Sequence[str], source: str) -> Trace:
    trace = rows.trace
    starts: dict[int, list[int]] = {}
    for at, activity in enumerate(trace.activities):
        starts.setdefault(activity.call, []).append(at)
    calls = [_call(index, row, trace, names, starts.get(index, [])) for index, row in enumerate(trace.calls)]
    return Trace(
        source=source,
        gpu=trace.gpu,
        steps=tuple(Step(row.number, _at(row, trace), row.dur_ns / 1000) for row in trace.steps),
        ops=tuple(_ops(trace, names)),
        calls=tuple(calls),
        activities=tuple(
            _activity(index, row, rows, names, calls[row.call] if row.call != NONE else None)
            for index, row in enumerate(trace.activities)
        ),
    )


def _at(row: StepRow | OpRow | CallRow | ActivityRow, trace: TraceRows) -> float:
    return (trace.origin_ns + row.start_ns) / 1000


def _ops(trace: TraceRows, names: Sequence[str]) -> Iterator[Op]:
    depths: list[int] = []
    for index, row in enumerate(trace.ops):
        depths.append(0 if row.parent == NONE else depths[row.parent] + 1)
        yield Op(
            index=index,
            parent=row.parent,
            depth=depths[index],
            kind=row.kind,
            name=names[row.name],
            thread=row.thread,
            step=row.step,
            start_us=_at(row, trace),
            dur_us=row.dur_ns / 1000,
            input_dims=msgspec.Raw(b"[]"),
        )


def _call(index: int, row: CallRow, trace: TraceRows, names: Sequence[str], starts: list[int]) -> Call:
    return Call(
        index=index,
        name=names[row.name],
        api=row.api,
        thread=row.thread,
        op=row.op,
        step=row.step,
        start_us=_at(row, trace),
        dur_us=row.dur_ns / 1000,
        correlation=NONE,
        starts=tuple(starts),
    )


def _activity(index: int, row: ActivityRow, rows: StageRows, names: Sequence[str], call: Call | None) -> Activity:
    work = rows.work[row.work]
    return Activity(
        index=index,
        kind=work.kind,
        name=names[work.name],
        device=work.device,
        stream=names[work.stream],
        call=row.call,
        op=NONE if call is None else call.op,
        step=NONE if call is None else call.step,
        start_us=_at(row, rows.trace),
        dur_us=row.dur_ns / 1000,
        correlation=NONE,
        grid=work.grid,
        block=work.block,
        registers=work.registers,
        shared_memory_bytes=work.shared_memory_bytes,
        bytes=work.bytes,
        blocks_per_sm=work.blocks_per_sm,
        occupancy_percent=work.occupancy_percent,
    )


# Whether a file fits together

LARGEST = 10**21
"""No number of a recording is larger: times since 1970 in ns have nineteen digits, operations a second fifteen."""


def _check(exported: Export) -> None:
    """Raises DamageError for what a reader of the recording would trip over."""
    _check_numbers(msgspec.to_builtins(exported))
    sweeps = exported.sweeps or ()
    _must(bool(exported.stages), "there is no stage in it")
    names = [stage.rung.name for stage in exported.stages] + [sweep.name for sweep in sweeps]
    _must(len(set(names)) == len(names), "a stage is in it twice")
    _must(all(map(str.isidentifier, names)), "a stage's name is no name of a Python module")
    for stage in exported.stages:
        try:
            _check_stage(stage, len(exported.names))
        except DamageError as error:
            raise DamageError(f"stage {stage.rung.name[:100]!r}: {error}") from error
        if wrong := inconsistency(_record(stage, exported)):
            raise DamageError(f"stage {stage.rung.name[:100]!r}: {wrong}")
    for sweep in sweeps:
        if wrong := sweep_export.wrong(sweep, exported.names):
            raise DamageError(f"sweep {sweep.name[:100]!r}: {wrong}")


def _check_numbers(value: object) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            _check_numbers(one)
    elif isinstance(value, int | float):
        _must(-LARGEST < value < LARGEST, f"{value:g} is too large for anything that is measured")


def _check_stage(stage: StageRows, names: int) -> None:
    trace, steps = stage.trace, len(stage.trace.steps)
    named = [row.name for listed in (stage.work, trace.ops, trace.calls) for row in listed]
    named += [row.name for row in stage.hbm or ()]
    named += [row.name for row in (stage.table.rows if stage.table else ())]
    _must(all(0 <= name < names for name in named), "a name is not in the list of names")
    in_trace = [stage.work[row.work] for row in trace.activities if 0 <= row.work < len(stage.work)]
    _must(len(in_trace) == len(trace.activities), "an activity points to no work")
    _must(all(0 <= row.stream < names for row in in_trace), "a stream is not in the list of names")
    _must(all(NONE <= op.parent < at for at, op in enumerate(trace.ops)), "an op is inside one that is not before it")
    _must(all(NONE <= call.op < len(trace.ops) for call in trace.calls), "a call points to no op")
    _must(all(NONE <= one.call < len(trace.calls) for one in trace.activities), "an activity points to no call")
    for listed in (trace.steps, trace.ops, trace.calls, trace.activities):
        starts = [row.start_ns for row in listed]
        _must(starts == sorted(starts), "events are not in the order of their start")
        _must(all(row.dur_ns >= 0 for row in listed), "an event ends before it begins")
    for process in stage.processes:
        lengths = {steps, len(process.cpu_us), len(process.step_us), *(len(one.us) for one in process.work)}
        _must(len(lengths) == 1 and steps > 0, "a process has times of other steps than the trace")
        _must(all(0 <= one.work < len(stage.work) for one in process.work), "a process ran work that is not listed")
        _must(all(us > 0 for us in process.time_us), "a step took no time")


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DamageError(otherwise)
