"""What differs between two traces, or between two recordings: kernels gone, new and changed, and the time of each.

A trace is compared by the kind of step that it runs most often, a recording stage by stage. Work is the same where
kind and name are; it has changed where it ran another number of times, or with another grid or block.
"""

import statistics
from pathlib import Path
from typing import Literal

import msgspec

from build_traces import imported, ladder, recording
from build_traces.errors import RecordingError
from build_traces.inspection import MAX_NAME, Inspection, Spread, StepKind, inspect, short_name, to_ns
from build_traces.ladder import Ladder
from build_traces.recording import Recording
from build_traces.stage_view import StageView
from build_traces.trace import MAX_BYTES, ActivityKind, Progress

ALL_KINDS: tuple[ActivityKind, ...] = ("kernel", "memset", "memcpy")
Change = Literal["gone", "new", "changed", "same"]


class Shape(msgspec.Struct, frozen=True):
    """How often work of a name ran in a step with this grid and block."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    count: int


class Side(msgspec.Struct, frozen=True):
    """Work of a name in one step of one side; `us` is the summed time, None where no process measured it."""

    count: int
    us: float | None
    shapes: tuple[Shape, ...]


class WorkChange(msgspec.Struct, frozen=True):
    """Work of a name on both sides."""

    kind: ActivityKind
    name: str
    short: str
    change: Change
    a: Side | None
    b: Side | None


class CountChange(msgspec.Struct, frozen=True):
    """How often a step makes a launch on both sides."""

    call: str
    a: int
    b: int


class TimeChange(msgspec.Struct, frozen=True):
    """A time of a step on both sides, None where a side has none."""

    what: str
    a: Spread | None
    b: Spread | None


class FieldChange(msgspec.Struct, frozen=True):
    """Something of the machine or the file that differs."""

    what: str
    a: str
    b: str


class StepDifference(msgspec.Struct, frozen=True):
    """One step of A against one of B; `stage` is "" for traces. Work is in the order of A, what is new behind it."""

    stage: str
    a: str
    b: str
    times: tuple[TimeChange, ...]
    work: tuple[WorkChange, ...]
    launches: tuple[CountChange, ...]


class Difference(msgspec.Struct, frozen=True):
    """Everything that differs; `only_a` and `only_b` are stages that the other recording does not have."""

    a: str
    b: str
    fields: tuple[FieldChange, ...]
    steps: tuple[StepDifference, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


class _Step(msgspec.Struct, frozen=True):
    """One step as it is compared."""

    label: str
    times: dict[str, Spread]
    work: dict[tuple[ActivityKind, str], Side]
    launches: dict[str, int]


Source = Inspection | tuple[Recording, Ladder]


def open_source(path: Path, snippets: Path, max_bytes: int = MAX_BYTES, progress: Progress | None = None) -> Source:
    """A folder is a recording; a file is an export or a trace, told apart by how it begins.

    Raises TraceError, RecordingError, LadderError.
    """
    if path.is_dir():
        found, rungs = recording.open_recording(path), ladder.load(snippets)
        there = tuple(stage for stage in rungs.stages if found.path(stage.name, recording.STAGE_FILE).is_file())
        return found, Ladder(snippets, there)
    if imported.is_export(path):
        return imported.read(path)
    return inspect(path, max_bytes, progress)


def between(a: Source, b: Source, name_a: str, name_b: str) -> Difference:
    """What differs between two of a kind. Raises RecordingError for a trace and a recording."""
    if isinstance(a, Inspection) and isinstance(b, Inspection):
        fields = _fields(_about(a), _about(b))
        return Difference(name_a, name_b, fields, (_compare("", _typical(a), _typical(b)),), (), ())
    if isinstance(a, Inspection) or isinstance(b, Inspection):
        hint = "compare a trace with a stage's trace, RECORDING/STAGE/trace.json.gz"
        raise RecordingError("", "one of the two is a trace and the other a recording", hint=hint)
    in_a, in_b = _stages(*a), _stages(*b)
    return Difference(
        a=name_a,
        b=name_b,
        fields=_fields(_environment(a[0]), _environment(b[0])),
        steps=tuple(_compare(name, step, in_b[name]) for name, step in in_a.items() if name in in_b),
        only_a=tuple(name for name in in_a if name not in in_b),
        only_b=tuple(name for name in in_b if name not in in_a),
    )


# Traces


def _typical(inspection: Inspection) -> _Step:
    kind = max(inspection.kinds, key=lambda kind: (bool(kind.work), len(kind.steps)))
    times = {"step": kind.step_us, "GPU work": kind.gpu_us}
    sides: dict[tuple[ActivityKind, str], Side] = {}
    for work in kind.work:
        mine = Side(work.count, work.us.median, (Shape(work.grid, work.block, work.count),))
        sides[work.kind, work.name] = _both(sides.get((work.kind, work.name)), mine)
    launches = {launches.call: launches.count for launches in kind.launches}
    return _Step(_label(kind, inspection), times, sides, launches)


def _label(kind: StepKind, inspection: Inspection) -> str:
    if inspection.whole_file:
        return "the whole file"
    number, steps = len(kind.steps), len(inspection.steps)
    return f"{number} of {steps} steps, from step {kind.steps[0]}"


def _about(inspection: Inspection) -> dict[str, str]:
    about = inspection.about
    return {
        "GPUs": ", ".join(gpu.name or f"GPU {gpu.device}" for gpu in about.gpus),
        **{name.replace("_", " "): str(number) for name, number in about.versions.items()},
        "steps": "none" if inspection.whole_file else str(len(inspection.steps)),
    }


# Recordings


def _stages(source: Recording, rungs: Ladder) -> dict[str, _Step]:
    return {stage.name: _recorded(StageView(source, stage, rungs)) for stage in rungs.stages}


def _recorded(view: StageView) -> _Step:
    sides: dict[tuple[ActivityKind, str], Side] = {}
    for row in view.work_rows(ALL_KINDS):
        us = None if row.us is None else to_ns(row.count * row.us.median)
        mine = Side(row.count, us, (Shape(row.grid, row.block, row.count),))
        sides[row.kind, row.name] = _both(sides.get((row.kind, row.name)), mine)
    times = {
        "GPU time": view.time_us(),
        "GPU work in the trace": view.work_us(ALL_KINDS, None),
        "CPU in the forward": view.over_processes(lambda process: statistics.median(process.cpu_us)),
    }
    return _Step(
        label=view.stamp,
        times={what: Spread(to_ns(us.median), to_ns(us.low), to_ns(us.high)) for what, us in times.items()},
        work=sides,
        launches=view.launches_by_name(),
    )


def _environment(source: Recording) -> dict[str, str]:
    environment = source.environment
    names = ("gpu", "driver", "cuda", "torch", "triton", "kernels", "liger_kernel", "python", "date")
    return {name: str(getattr(environment, name)) for name in names}


# Both


def _both(a: Side | None, b: Side) -> Side:
    """Rows of one name together."""
    if a is None:
        return b
    us = None if a.us is None or b.us is None else to_ns(a.us + b.us)
    return Side(a.count + b.count, us, a.shapes + b.shapes)


def _fields(a: dict[str, str], b: dict[str, str]) -> tuple[FieldChange, ...]:
    names = dict.fromkeys([*a, *b])
    return tuple(FieldChange(name, a.get(name, ""), b.get(name, "")) for name in names if a.get(name) != b.get(name))


def _compare(stage: str, a: _Step, b: _Step) -> StepDifference:
    return StepDifference(
        stage=stage,
        a=a.label,
        b=b.label,
        times=tuple(TimeChange(what, a.times.get(what), b.times.get(what)) for what in a.times | b.times),
        work=tuple(_change(key, a.work.get(key), b.work.get(key)) for key in a.work | b.work),
        launches=tuple(
            CountChange(call, a.launches.get(call, 0), b.launches.get(call, 0)) for call in a.launches | b.launches
        ),
    )


def _change(key: tuple[ActivityKind, str], a: Side | None, b: Side | None) -> WorkChange:
    kind, name = key
    short = short_name(name) if kind == "kernel" else name[:MAX_NAME]
    return WorkChange(kind, name, short, _how(a, b), a, b)


def _how(a: Side | None, b: Side | None) -> Change:
    if b is None:
        return "gone"
    if a is None:
        return "new"
    return "same" if set(a.shapes) == set(b.shapes) else "changed"
