"""One recorded stage seen whole: the trace and stage.json, joined into values the facts and blocks use.

Structure (what ran under what) comes from the published trace; times come from every process.
A count that differs between the profiled steps is refused: one number would be wrong for some step.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from build_traces.errors import FactError, unknown_name
from build_traces.ladder import Ladder, Stage
from build_traces.profiler_table import ProfilerTable
from build_traces.recording import GpuWork, KernelBytes, Process, Recording, Spread, StageRecord, spread, step_time_us
from build_traces.trace import NONE, Activity, ActivityKind, Call, Op, Step, Trace
from build_traces.work_kinds import WorkKind, work_kind

LONGEST_REASON = 160


@dataclass(frozen=True)
class WorkRow:
    """GPU work of a step with equal kind, name, grid and block: one row of the kernel list.

    `us` is the time of one of its `count` launches, None where no process agrees with the
    published trace on it; `draws` says in how many processes it ran so.
    """

    kind: ActivityKind
    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    count: int
    us: Spread | None
    draws: int
    hbm: KernelBytes | None


@dataclass(frozen=True)
class OpNode:
    """An op with the ops inside it and the calls that no op inside it made."""

    op: Op
    calls: tuple[Call, ...]
    children: tuple["OpNode", ...]


class StageView:
    """Everything derived from one stage of one recording; cheap to make, derived when asked."""

    def __init__(self, recording: Recording, stage: Stage, ladder: Ladder, shown: int | None = None) -> None:
        self.recording = recording
        self.stage = stage
        self.ladder = ladder
        self.chosen_step = shown

    def showing(self, step: int) -> "StageView":
        """The same stage, with pictures and lists of this step, from 1. Raises FactError if there is none."""
        self.steps(step)
        return StageView(self.recording, self.stage, self.ladder, step)

    @cached_property
    def against(self) -> "StageView":
        """The stage that this one's time is compared with."""
        return StageView(self.recording, self.ladder.stage(self.stage.against), self.ladder)

    @cached_property
    def record(self) -> StageRecord:
        return self.recording.stage(self.stage.name)

    @cached_property
    def trace(self) -> Trace:
        return self.recording.trace(self.stage.name)

    @cached_property
    def profiler_table(self) -> ProfilerTable:
        """The profiler's own table. Raises FactError if it has no GPU times."""
        return self.recording.profiler_table(self.stage.name)

    @property
    def stamp(self) -> str:
        """What every number of this stage carries."""
        return self.recording.environment.stamped(self.record.recorded, self.record.commit)

    @property
    def published(self) -> Process:
        return self.record.processes[self.record.published_process]

    # Steps

    def steps(self, step: int | None) -> tuple[Step, ...]:
        """All profiled steps, or the one counted from 1. Raises FactError."""
        steps = self.trace.steps
        if not steps:
            raise FactError(f"the trace of stage {self.stage.name} has no ProfilerStep")
        if step is None:
            return steps
        if not 1 <= step <= len(steps):
            raise FactError(f"stage {self.stage.name} has profiled steps 1 to {len(steps)}, no step {step}")
        return (steps[step - 1],)

    @cached_property
    def shown_step(self) -> int:
        """The step that pictures show, from 1: the first of a cold stage, else the one nearest the median."""
        if self.chosen_step is not None:
            return self.chosen_step
        if self.stage.cold:
            return 1
        times = self.published.step_us
        middle = statistics.median(times)
        return min(range(len(times)), key=lambda n: abs(times[n] - middle)) + 1

    def _step_number(self, step: int | None) -> int:
        return self.steps(self.shown_step if step is None else step)[0].number

    # Counts, from the trace

    def count(self, what: str, of_step: Callable[[Step], int], step: int | None) -> int:
        """A count that is the same in every step asked for. Raises FactError where it is not."""
        counts = [of_step(s) for s in self.steps(step)]
        if len(set(counts)) != 1:
            raise FactError(
                f"{what} of stage {self.stage.name} differs by step: {', '.join(map(str, counts))}",
                hint=f"say which step: {self.stage.name}.step1.{what}",
            )
        return counts[0]

    def work_count(self, kind: ActivityKind, containing: str, step: int | None) -> int:
        return self.count(
            f"{kind}_count",
            lambda s: sum(containing in a.name for a in self.trace.of_kind(kind, s.number)),
            step,
        )

    def launch_count(self, name: str, step: int | None) -> int:
        return self.count(
            "launch_count",
            lambda s: sum(name in ("", c.name) for c in self.trace.launches(s.number)),
            step,
        )

    def call_count(self, matches: Callable[[str], bool], what: str, step: int | None) -> int:
        return self.count(what, lambda s: sum(c.step == s.number and matches(c.name) for c in self.trace.calls), step)

    def op_count(self, name: str, step: int | None) -> int:
        return self.count(
            "op_count",
            lambda s: sum(op.kind == "op" and op.step == s.number and name in ("", op.name) for op in self.trace.ops),
            step,
        )

    def launched_under(self, op: str, step: int | None) -> int:
        """GPU work launched inside an op of this name, at any depth."""
        return self.count(
            f"launched_under.{op}",
            lambda s: sum(
                a.step == s.number and any(o.name == op for o in self.trace.ancestors(a.op))
                for a in self.trace.activities
            ),
            step,
        )

    @property
    def unlaunched_kernels(self) -> int:
        """Kernels of the whole trace whose launch is not in it."""
        return sum(kernel.call == NONE for kernel in self.trace.kernels())

    def launches_by_name(self, step: int | None = None) -> dict[str, int]:
        """How often a step calls each launch, in the order of first use; from the shown step if they differ."""
        number = self._step_number(step)
        return dict(Counter(c.name for c in self.trace.launches(number)))

    def nth_kernel(self, n: int, step: int | None) -> Activity:
        """The nth kernel of a step, from 1 in the order they run. Raises FactError."""
        kernels = self.trace.kernels(self._step_number(step))
        if not 1 <= n <= len(kernels):
            raise FactError(f"stage {self.stage.name} has kernels 1 to {len(kernels)} a step, no kernel {n}")
        return kernels[n - 1]

    def kernel_position(self, containing: str, step: int | None) -> int:
        """Position, from 1, of a step's first kernel whose name contains this. Raises FactError if there is none."""

        def position(s: Step) -> int:
            names = [kernel.name for kernel in self.trace.kernels(s.number)]
            found = [n for n, name in enumerate(names, start=1) if containing in name]
            if not found:
                unknown_name(f"kernel in a step of {self.stage.name} with a name that contains", containing, names)
            return found[0]

        return self.count(f"kernel_position.{containing}", position, step)

    # Times, over processes

    def over_processes(self, value: Callable[[Process], float]) -> Spread:
        return spread([value(process) for process in self.record.processes])

    def time_us(self) -> Spread:
        """How long a step takes without a profiler."""
        return self.over_processes(lambda p: step_time_us(p, self.stage.cold))

    def profiled_us(self, of_process: Callable[[Process], tuple[float, ...]], step: int | None) -> Spread:
        """A time of each profiled step: the median over steps in each process, or one step's."""
        self.steps(step)
        return self.over_processes(lambda p: _one(of_process(p), step))

    def work_us(self, kinds: tuple[ActivityKind, ...], step: int | None) -> Spread:
        """Summed time of a step's GPU work of these kinds."""
        self.steps(step)
        return self.over_processes(lambda p: _one(_sum_by_step(p, kinds), step))

    def kernel_us(self, n: int, step: int | None) -> Spread:
        """Time of the nth kernel of a step in the processes that ran the same kernels by name."""
        self.nth_kernel(n, step)
        names = _kernel_names(self.published, step)
        same = [p for p in self.record.processes if _kernel_names(p, step) == names]
        kernels = [_kernels(p, step)[n - 1] for p in same]
        times = [us for w in kernels if (us := _launch_us(w, step)) is not None]
        if not times:
            raise FactError(f"kernel {n} of stage {self.stage.name} did not run in that step")
        return spread(times)

    # Times in the published trace, of one step: the one that pictures show unless another is asked for

    def call_us(self, name: str, step: int | None) -> float:
        """Summed time of a step's calls of this name. Raises FactError if there is none."""
        number = self._step_number(step)
        return _sum_or_refuse([c for c in self.trace.calls if c.step == number], name, "call", self.stage.name)

    def op_us(self, name: str, step: int | None) -> float:
        """Summed time of a step's ops of this name, children included. Raises FactError if there is none."""
        number = self._step_number(step)
        outermost = [
            op
            for op in self.trace.ops
            if op.step == number and all(o.name != op.name for o in self.trace.ancestors(op.parent))
        ]
        return _sum_or_refuse(outermost, name, "op", self.stage.name)

    def gpu_start_us(self, step: int | None) -> float:
        """From the begin of the stage's label on the CPU to that of the step's first GPU work."""
        number = self._step_number(step)
        labels = [
            op for op in self.trace.ops if op.step == number and op.kind == "annotation" and op.name == self.stage.name
        ]
        work = [a.start_us for a in self.trace.activities if a.step == number]
        if not labels or not work:
            raise FactError(f"a step of {self.stage.name} has no label of that name, or no GPU work")
        return min(work) - labels[0].start_us

    def gap_us(self, n: int, step: int | None) -> float:
        """How long the GPU had nothing to do before the nth kernel of a step; 0 before the step's first work."""
        kernel = self.nth_kernel(n, step)
        earlier = [a.end_us for a in self.trace.activities if a.step == kernel.step and a.index < kernel.index]
        return max(0.0, kernel.start_us - max(earlier)) if earlier else 0.0

    def gpu_idle_us(self, step: int | None) -> float:
        """Between the first and the last GPU work of a step, the time in which none ran."""
        number = self._step_number(step)
        idle, busy_until = 0.0, None
        for work in (a for a in self.trace.activities if a.step == number):
            idle += max(0.0, work.start_us - (work.start_us if busy_until is None else busy_until))
            busy_until = work.end_us if busy_until is None else max(busy_until, work.end_us)
        return idle

    def us_by_kind(self) -> dict[WorkKind, float]:
        """What a step of the published process spends on each kind of GPU work, the shown step if they differ."""
        step = self.shown_step if self.steps_differ else None
        spent: dict[WorkKind, float] = {}
        for work in self.published.work:
            if (us := _launch_us(work, step)) is not None:
                kind = work_kind(work.kind, work.name)
                spent[kind] = spent.get(kind, 0.0) + us
        return spent

    @property
    def draws(self) -> int:
        """In how many ways the processes launched this stage: names, grids and blocks of a step's work."""
        return len({tuple((w.kind, w.name, w.grid, w.block) for w in p.work) for p in self.record.processes})

    # HBM

    def hbm(self) -> tuple[KernelBytes, ...]:
        """HBM bytes by kernel, in the order they run. Raises FactError where the counters could not be read."""
        if self.record.hbm is None:
            raise FactError(f"HBM bytes of stage {self.stage.name} were not measured: {self.hbm_missing}")
        return self.record.hbm

    @property
    def hbm_missing(self) -> str:
        """Why there are none, in a line: a tool that failed may have said more than a page can hold."""
        why = self.record.hbm_missing or ""
        return why if len(why) <= LONGEST_REASON else f"{why[: LONGEST_REASON - 1]}…"

    # Lists for the blocks

    @property
    def steps_differ(self) -> bool:
        """Whether a step of the published trace runs a kernel that another of its steps does not."""
        return any(None in w.us for w in self.published.work if w.kind == "kernel")

    def kernel_launches(self, step: int | None) -> list[GpuWork]:
        """The kernels of the published trace that run in a step, or in any, in the order they run."""
        return _kernels(self.published, step)

    def work_rows(self, kinds: tuple[ActivityKind, ...] = ("kernel",), step: int | None = None) -> list[WorkRow]:
        """GPU work of a step, or of all steps taken together, in the order it runs; equal launches in one row."""
        self.steps(step)
        groups: dict[tuple[str, str, tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for position, work in enumerate(self.published.work):
            if work.kind in kinds and _runs_in(work, step):
                groups.setdefault((work.kind, work.name, work.grid, work.block), []).append(position)
        return [self._row(positions, step) for positions in groups.values()]

    def _row(self, positions: list[int], step: int | None) -> WorkRow:
        published = [self.published.work[p] for p in positions]
        first = published[0]
        per_process = [
            statistics.fmean(times)
            for p in self.record.processes
            if (times := [us for w in p.work if _same_launch(w, first) and (us := _launch_us(w, step)) is not None])
        ]
        return WorkRow(
            kind=first.kind,
            name=first.name,
            grid=first.grid,
            block=first.block,
            count=len(positions),
            us=spread(per_process) if per_process else None,
            draws=len(per_process),
            hbm=self._hbm_of(positions) if first.kind == "kernel" else None,
        )

    def _hbm_of(self, positions: list[int]) -> KernelBytes | None:
        """Mean HBM bytes of the kernels at these positions of a step's work."""
        if self.record.hbm is None:
            return None
        kernel_positions = [n for n, w in enumerate(self.published.work) if w.kind == "kernel"]
        mine = [self.record.hbm[kernel_positions.index(p)] for p in positions]
        return KernelBytes(
            mine[0].name,
            round(statistics.fmean(k.read_bytes for k in mine)),
            round(statistics.fmean(k.write_bytes for k in mine)),
        )

    def op_tree(self, step: int | None = None) -> list[OpNode]:
        """The dispatch chain of one step: what ran inside the stage's label, or beside it on other threads."""
        number = self._step_number(step)
        ops = [op for op in self.trace.ops if op.step == number]
        inside = {op.index for op in ops}
        children: dict[int, list[Op]] = {}
        for op in ops:  # what encloses the whole step is no part of it
            children.setdefault(op.parent if op.parent in inside else NONE, []).append(op)
        calls: dict[int, list[Call]] = {}
        for call in self.trace.calls:
            if call.step == number:
                calls.setdefault(call.op, []).append(call)

        def node(op: Op) -> OpNode:
            return OpNode(op, tuple(calls.get(op.index, ())), tuple(node(c) for c in children.get(op.index, ())))

        return [node(op) for op in children.get(NONE, [])]


def _one(by_step: tuple[float, ...], step: int | None) -> float:
    return statistics.median(by_step) if step is None else by_step[step - 1]


def _sum_or_refuse(events: Sequence[Call | Op], name: str, what: str, stage: str) -> float:
    times = [event.dur_us for event in events if event.name == name]
    if not times:
        unknown_name(f"{what} in a step of {stage} named", name, sorted({event.name for event in events}))
    return sum(times)


def _launch_us(work: GpuWork, step: int | None) -> float | None:
    """One launch's time in a step, or its median over the steps it ran in; None if it did not run."""
    if step is not None:
        return work.us[step - 1]
    present = [us for us in work.us if us is not None]
    return statistics.median(present) if present else None


def _runs_in(work: GpuWork, step: int | None) -> bool:
    return step is None or work.us[step - 1] is not None


def _sum_by_step(process: Process, kinds: tuple[ActivityKind, ...]) -> tuple[float, ...]:
    mine = [w.us for w in process.work if w.kind in kinds]
    return tuple(sum(us[step] or 0.0 for us in mine) for step in range(len(process.step_us)))


def _kernels(process: Process, step: int | None) -> list[GpuWork]:
    return [w for w in process.work if w.kind == "kernel" and _runs_in(w, step)]


def _kernel_names(process: Process, step: int | None) -> list[str]:
    return [w.name for w in _kernels(process, step)]


def _same_launch(a: GpuWork, b: GpuWork) -> bool:
    return (a.kind, a.name, a.grid, a.block) == (b.kind, b.name, b.grid, b.block)
