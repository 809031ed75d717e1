"""Write a recording as one small JSON file: the stages that are fresh, in the format of `export_format`."""

from fractions import Fraction

import msgspec

from build_traces import sweep_export
from build_traces.errors import FactError, RecordingError
from build_traces.export_format import (
    ActivityRow,
    ApiKind,
    CallRow,
    Export,
    HbmRow,
    OpRow,
    ProcessRows,
    ProcessWork,
    Rung,
    StageRows,
    StepRow,
    Table,
    TableRow,
    TraceRows,
    WorkRow,
)
from build_traces.freshness import State, status
from build_traces.ladder import Ladder, Stage
from build_traces.recording import GpuWork, Process, Recording
from build_traces.trace import Activity, Trace


def export(recording: Recording, ladder: Ladder) -> Export:
    """Every stage and sweep of the ladder whose recording is fresh. Raises RecordingError if there is no such stage."""
    names = _NameTable()
    stages, sweeps, left_out = [], [], {}
    for one in ladder.recorded:
        found = status(one, recording.folder, recording.environment.machine)
        if found.state is not State.FRESH:
            left_out[one.name] = f"{found.state.value}: {found.why}"
        elif isinstance(one, Stage):
            stages.append(_stage(recording, one, names))
        else:
            sweeps.append(sweep_export.rows(one, recording.sweep(one.name), names))
    if not stages:
        hint = "record it: python -m build_traces record"
        raise RecordingError("", f"no stage of {recording.folder} is fresh", hint=hint)
    return Export(
        recording=recording.name,
        environment=recording.environment,
        names=names.all,
        stages=tuple(stages),
        left_out=left_out,
        sweeps=tuple(sweeps) or msgspec.UNSET,
    )


def encode(exported: Export) -> bytes:
    """The file's text, ending in a line break."""
    return msgspec.json.encode(exported) + b"\n"


class _NameTable:
    """Strings with a number each, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(self._numbers)


class _WorkTable:
    """The rows of a stage's `work`. A process's work is that of the trace where the two say the same."""

    def __init__(self, names: _NameTable) -> None:
        self._names = names
        self._rows: dict[WorkRow, int] = {}
        self._first: dict[tuple[str, int, tuple[int, ...], tuple[int, ...]], int] = {}

    def activity(self, activity: Activity) -> int:
        row = WorkRow(
            kind=activity.kind,
            name=self._names(activity.name),
            grid=activity.grid,
            block=activity.block,
            device=activity.device,
            stream=self._names(activity.stream),
            registers=activity.registers,
            shared_memory_bytes=activity.shared_memory_bytes,
            bytes=activity.bytes,
            blocks_per_sm=activity.blocks_per_sm,
            occupancy_percent=activity.occupancy_percent,
        )
        number = self._number(row)
        self._first.setdefault((row.kind, row.name, row.grid, row.block), number)
        return number

    def of_process(self, work: GpuWork) -> int:
        key = work.kind, self._names(work.name), work.grid, work.block
        if key not in self._first:
            self._first[key] = self._number(WorkRow(*key))
        return self._first[key]

    def _number(self, row: WorkRow) -> int:
        return self._rows.setdefault(row, len(self._rows))

    @property
    def all(self) -> tuple[WorkRow, ...]:
        return tuple(self._rows)


def _stage(recording: Recording, stage: Stage, names: _NameTable) -> StageRows:
    record, trace = recording.stage(stage.name), recording.trace(stage.name)
    table, table_missing = _table(recording, stage.name, names)
    work = _WorkTable(names)
    trace_rows = _trace(trace, names, work)
    return StageRows(
        rung=Rung(stage.name, stage.title, stage.against, stage.cold, stage.chapter, stage.rung),
        sha256=record.sha256,
        command=record.command,
        recorded=record.recorded,
        commit=record.commit,
        machine=record.machine,
        flops=record.flops,
        published_process=record.published_process,
        processes=tuple(_process(process, work) for process in record.processes),
        hbm=None
        if record.hbm is None
        else tuple(HbmRow(names(kernel.name), kernel.read_bytes, kernel.write_bytes) for kernel in record.hbm),
        hbm_missing=record.hbm_missing,
        artefacts=record.artefacts,
        work=work.all,
        trace=trace_rows,
        table=table,
        table_missing=table_missing,
    )


def _process(process: Process, work: _WorkTable) -> ProcessRows:
    return ProcessRows(
        first_call_ms=process.first_call_ms,
        time_us=process.time_us,
        back_to_back_us=process.back_to_back_us,
        peak_bytes=process.peak_bytes,
        error=process.error,
        cpu_us=process.cpu_us,
        step_us=process.step_us,
        work=tuple(ProcessWork(work.of_process(one), one.us) for one in process.work),
    )


def _table(recording: Recording, stage: str, names: _NameTable) -> tuple[Table | None, str]:
    try:
        table = recording.profiler_table(stage)
    except FactError as error:
        return None, error.message
    return Table(tuple(TableRow(names(name), us) for name, us in table.rows), table.total_us), ""


def _trace(trace: Trace, names: _NameTable, work: _WorkTable) -> TraceRows:
    events = [event for listed in (trace.steps, trace.ops, trace.calls, trace.activities) for event in listed[:1]]
    origin = min((_ns(event.start_us) for event in events), default=0)

    def at(us: float) -> int:
        return _ns(us) - origin

    return TraceRows(
        gpu=trace.gpu,
        origin_ns=origin,
        steps=tuple(StepRow(step.number, at(step.start_us), _ns(step.dur_us)) for step in trace.steps),
        ops=tuple(
            OpRow(op.kind, names(op.name), op.parent, op.thread, op.step, at(op.start_us), _ns(op.dur_us))
            for op in trace.ops
        ),
        calls=tuple(
            CallRow(
                _API[call.api], names(call.name), call.op, call.thread, call.step, at(call.start_us), _ns(call.dur_us)
            )
            for call in trace.calls
        ),
        activities=tuple(
            ActivityRow(work.activity(one), one.call, at(one.start_us), _ns(one.dur_us)) for one in trace.activities
        ),
    )


_API: dict[str, ApiKind] = {"runtime": "runtime", "driver": "driver"}


def _ns(us: float) -> int:
    return round(Fraction(us) * 1000)
