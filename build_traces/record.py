"""Record stages and sweeps: run each in fresh processes on the GPU and keep what the profiler saw.

For the operator of a GPU machine, through `python -m build_traces record`. This side never
imports torch: the processes it starts do (worker.py).
"""

import gzip
import os
import shutil
import statistics
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from build_traces import counters, kernel_packages, machine, record_sweeps, trace
from build_traces.errors import RecordingError
from build_traces.freshness import State, status
from build_traces.half_made import write_whole
from build_traces.jobs import RAW_TRACE_FILE, TABLE_FILE, Job, Role, Timing
from build_traces.keep import keep
from build_traces.ladder import Ladder, Recorded, Stage, digest
from build_traces.processes import CACHE_FOLDER, WORKER, Batch, Limits, Workplace, decode_answer
from build_traces.recording import (
    ENVIRONMENT_FILE,
    PROFILE_FILE,
    PROTOCOL,
    STAGE_FILE,
    TRACE_FILE,
    Environment,
    GpuWork,
    Process,
    StageRecord,
    encode,
    open_recording,
    record_command,
    recording_name,
    spread,
    step_time_us,
)
from build_traces.reporting import Outcome, Reporter, Tally
from build_traces.sweeps import Sweep

PROCESSES = 5
"""One compile is one draw: fewer would not show how far apart the draws lie."""
LOGS = Path(".record-logs")
INDUCTOR_CODE = ("async_compile", "def call(")
"""What a Python file of Inductor's cache holds if it is the code of a whole graph."""


@dataclass(frozen=True)
class Request:
    """What to record, where to, and how much of it."""

    ladder: Ladder
    out: Path
    stages: tuple[Recorded, ...]
    everything: bool = False
    processes: int = PROCESSES
    sweep_processes: int = record_sweeps.PROCESSES
    limits: Limits = field(default_factory=Limits)
    ncu: Path | None = field(default_factory=counters.find_ncu)
    logs: Path = LOGS
    worker: tuple[str, ...] = WORKER


@dataclass(frozen=True)
class Plan:
    """The jobs of one stage: one process a job, two for a cold stage (timed, then profiled).

    `sha256` is taken before any of them imports the snippet: an edit from then on is noticed.
    """

    stage: Stage
    sha256: str
    timing: tuple[Job, ...]
    profiling: tuple[Job, ...]

    @property
    def jobs(self) -> list[Job]:
        if self.timing is self.profiling:
            return list(self.timing)
        return [job for pair in zip(self.timing, self.profiling, strict=True) for job in pair]


def record(request: Request, reporter: Reporter) -> Outcome:
    """Record what is stale (or everything) of the request's stages.

    A failed stage does not keep the others from being recorded; its old recording stays whole.
    Raises RecordingError where nothing can be recorded at all.
    """
    machine.require_installed("torch", "triton", "kernels", "liger-kernel")
    if min(request.processes, request.sweep_processes) < 1:
        raise RecordingError("", f"{request.processes} processes measure nothing", hint="give --processes 1 or more")
    commit = machine.source_commit()
    with _workplace(request) as workplace:
        probe = machine.look(workplace)
        folder = request.out / recording_name(probe.gpu, probe.torch)
        environment = machine.environment(probe, commit, request.ncu)
        before = _environment_of(folder, environment.machine)
        todo = due(request, folder, environment.machine)
        if before:
            _require_one_origin(folder, before, environment, request, todo)
        known = None if request.everything else before
        plans = [_plan(stage, request.processes, workplace) for stage in todo if isinstance(stage, Stage)]
        sweeps = [
            record_sweeps.plan(sweep, request.sweep_processes, workplace) for sweep in todo if isinstance(sweep, Sweep)
        ]
        processes = sum(len(plan.jobs) + 1 for plan in plans) + (0 if known else request.processes)
        processes += sum(len(plan.jobs) for plan in sweeps)
        reporter.planned(folder.name, len(todo), processes)
        if known:
            ceilings = known.ceilings
        else:
            ceilings = machine.measure_ceilings(workplace, request.processes, reporter.running, reporter.process_done)
        environment = msgspec.structs.replace(environment, ceilings=ceilings)
        tally = Tally(workplace, reporter)
        _record_stages(plans, tally, folder, environment, request.ncu)
        _record_sweeps(sweeps, tally, folder, environment)
        return Outcome(folder, tuple(tally.recorded), tuple(tally.failed))


def this_machine(request: Request) -> str:
    """The name that a recording made here has. Raises RecordingError without a GPU or torch."""
    machine.require_installed("torch", "triton")
    with _workplace(request) as workplace:
        probe = machine.look(workplace)
    return recording_name(probe.gpu, probe.torch)


@contextmanager
def _workplace(request: Request) -> Iterator[Workplace]:
    try:
        folder = Path(tempfile.mkdtemp(prefix="build-traces-"))
    except OSError as error:
        raise RecordingError("", f"no temporary folder can be made: {error}", hint="free disk space") from error
    try:
        yield Workplace(folder, request.ladder.snippets, request.limits, request.worker, request.logs)
    except OSError as error:
        raise RecordingError("", f"a temporary file cannot be written: {error}", hint="free disk space") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def due(request: Request, folder: Path, on: str) -> list[Recorded]:
    """What of the request is not fresh in this folder, or all of it if everything is asked for."""
    return [s for s in request.stages if request.everything or status(s, folder, on).state is not State.FRESH]


def _record_stages(plans: list[Plan], tally: Tally, folder: Path, environment: Environment, ncu: Path | None) -> None:
    batches = _Batches(plans, tally.workplace)

    def one(plan: Plan) -> None:
        made = _record_stage(plan, batches, tally.workplace, folder, environment, ncu, tally.reporter)
        _write_environment(folder, environment)
        times = [step_time_us(process, plan.stage.cold) for process in made.processes]
        tally.reporter.stage_done(plan.stage.name, spread(times))

    try:
        for plan in plans:
            tally.attempt(plan.stage.name, partial(one, plan))
    finally:
        batches.close()


def _record_sweeps(plans: list[record_sweeps.SweepPlan], tally: Tally, folder: Path, environment: Environment) -> None:
    def one(plan: record_sweeps.SweepPlan, batch: Batch) -> None:
        made = record_sweeps.record_sweep(plan, batch, folder, environment, tally.reporter)
        _write_environment(folder, environment)
        tally.reporter.sweep_done(plan.sweep.name, *record_sweeps.summary(made))

    for wave in record_sweeps.waves(plans):
        tally.reporter.running("the processes of the next sweeps import")
        with tally.workplace.batch([job for plan in wave for job in plan.jobs]) as batch:
            batch.wait_until_quiet()
            for plan in wave:
                tally.attempt(plan.sweep.name, partial(one, plan, batch))


class _Batches:
    """A batch of processes for each plan, in order; the next one can be started ahead."""

    def __init__(self, plans: list[Plan], workplace: Workplace) -> None:
        self._coming = deque(plans)
        self._workplace = workplace
        self._ahead: Batch | None = None

    def take(self) -> Batch:
        self.start_ahead()
        assert self._ahead is not None
        batch, self._ahead = self._ahead, None
        return batch

    def start_ahead(self) -> None:
        """Let the next batch import; call it when nothing on this machine is being timed."""
        if self._ahead is None and self._coming:
            self._ahead = self._workplace.batch(self._coming.popleft().jobs)

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.close()


def _record_stage(
    plan: Plan,
    batches: _Batches,
    workplace: Workplace,
    folder: Path,
    environment: Environment,
    ncu: Path | None,
    reporter: Reporter,
) -> StageRecord:
    stage = plan.stage
    reporter.running(f"{stage.name} · starting")
    with batches.take() as batch:
        batch.wait_until_quiet()
        timings, profiles = _run(plan, batch, reporter)
    processes = tuple(_process(stage, t, _trace(job)) for t, job in zip(timings, profiles, strict=True))
    nearest = nearest_median(processes, stage.cold)
    published = profiles[nearest]
    batches.start_ahead()  # counting bytes does not mind the noise of imports
    reporter.running(f"{stage.name} · HBM bytes")
    counted = _count(published, processes[nearest], workplace, ncu)
    reporter.process_done()
    code = _generated_code(published)
    made = StageRecord(
        stage=stage.name,
        protocol=PROTOCOL,
        sha256=plan.sha256,
        command=record_command(stage.name),
        recorded=environment.date,
        commit=environment.commit,
        machine=environment.machine,
        flops=timings[0].flops,
        processes=processes,
        published_process=nearest,
        hbm=counted.kernels,
        hbm_missing=counted.missing,
        artefacts=tuple(code),
    )
    files = {
        TRACE_FILE: gzip.compress(_raw_trace(published), mtime=0),
        PROFILE_FILE: published.path(TABLE_FILE).read_bytes(),
        **{name: text.encode() for name, text in code.items()},
        STAGE_FILE: encode(made),
    }
    keep(stage, plan.sha256, folder, files)
    return made


def _run(plan: Plan, batch: Batch, reporter: Reporter) -> tuple[list[Timing], list[Job]]:
    """Run the stage's processes; return what they timed and the jobs that hold their traces."""
    timings = []
    total = len(plan.timing)
    for n, (timing, profiling) in enumerate(zip(plan.timing, plan.profiling, strict=True), start=1):
        what = f"process {n} of {total}"
        reporter.running(f"{plan.stage.name} · {what}")
        answer = batch.run(timing, what)
        timings.append(decode_answer(answer, Timing, plan.stage.name, what))
        reporter.process_done()
        if profiling is not timing:
            batch.run(profiling, f"{what} (profiled)")
            reporter.process_done()
    return timings, list(plan.profiling)


def _raw_trace(job: Job) -> bytes:
    return trace.scrub(trace.load(job.path(RAW_TRACE_FILE)))


def _trace(job: Job) -> trace.Trace:
    return trace.parse(_raw_trace(job), source=f"{job.stage}'s trace")


def _process(stage: Stage, timing: Timing, seen: trace.Trace) -> Process:
    if not seen.kernels():
        raise RecordingError(
            stage.name, "its trace holds no kernel", hint="another profiler may hold the GPU: end it and record again"
        )
    return Process(
        first_call_ms=timing.first_call_ms,
        time_us=timing.time_us,
        back_to_back_us=timing.back_to_back_us,
        peak_bytes=timing.peak_bytes,
        error=timing.error,
        cpu_us=tuple(_label_us(stage, seen, step.number) for step in seen.steps),
        step_us=tuple(step.dur_us for step in seen.steps),
        work=gpu_work(seen),
    )


def _label_us(stage: Stage, seen: trace.Trace, step: int) -> float:
    labels = [op for op in seen.ops if op.kind == "annotation" and op.name == stage.name and op.step == step]
    if len(labels) != 1:
        raise RecordingError(stage.name, f"step {step} of its trace has {len(labels)} labels {stage.name!r}, not one")
    return labels[0].dur_us


def gpu_work(seen: trace.Trace) -> tuple[GpuWork, ...]:
    """The steps' GPU work side by side: the nth launch of equal kind, name, grid and block is one entry."""
    us: dict[tuple[trace.ActivityKind, str, tuple[int, ...], tuple[int, ...], int], list[float | None]] = {}
    for at, step in enumerate(seen.steps):
        times_seen: dict[tuple[object, ...], int] = {}
        for work in (a for a in seen.activities if a.step == step.number):
            launch = (work.kind, work.name, work.grid, work.block)
            nth = times_seen[launch] = times_seen.get(launch, 0) + 1
            us.setdefault((*launch, nth), [None] * len(seen.steps))[at] = work.dur_us
    return tuple(GpuWork(kind, name, grid, block, tuple(times)) for (kind, name, grid, block, _), times in us.items())


def nearest_median(processes: tuple[Process, ...], cold: bool) -> int:
    """The process whose trace is published: nearest to the median GPU time, or first step of a cold stage."""
    times = [p.step_us[0] if cold else _gpu_us(p) for p in processes]
    middle = statistics.median(times)
    return min(range(len(times)), key=lambda n: abs(times[n] - middle))


def _gpu_us(process: Process) -> float:
    return sum(statistics.fmean(u for u in work.us if u is not None) for work in process.work)


def countable_kernels(process: Process) -> list[str] | None:
    """The kernels that every step runs, or None if some step runs others."""
    kernels = [w for w in process.work if w.kind == "kernel"]
    return None if any(None in kernel.us for kernel in kernels) else [kernel.name for kernel in kernels]


def _count(published: Job, process: Process, workplace: Workplace, ncu: Path | None) -> counters.Counted:
    kernels = countable_kernels(process)
    if kernels is None:
        return counters.Counted(None, "its steps run different kernels, and bytes are counted in one step")
    job = workplace.job(Role.COUNT_BYTES, f"{published.stage}/counters", published.stage)
    return counters.count(job, kernels, ncu, published.path(CACHE_FOLDER), workplace.limits)


def _generated_code(job: Job) -> dict[str, str]:
    """Inductor's Python file of each compiled graph, by the name it is kept under."""
    root = job.path(CACHE_FOLDER)
    texts = [p.read_text(encoding="utf-8") for p in sorted(root.rglob("*.py"))]
    graphs = sorted({_without_paths(t, root) for t in texts if all(mark in t for mark in INDUCTOR_CODE)})
    return {f"inductor_{n}.py": text for n, text in enumerate(graphs, start=1)}


def _without_paths(text: str, root: Path) -> str:
    """The code without the paths of the machine that generated it."""
    for folder in (root / "inductor", root, Path.cwd()):
        text = text.replace(f"{folder}{os.sep}", "")
    return text


def _plan(stage: Stage, processes: int, workplace: Workplace) -> Plan:
    def jobs(role: Role) -> tuple[Job, ...]:
        names = [f"{stage.name}/{role.value}-{n}" for n in range(1, processes + 1)]
        return tuple(workplace.job(role, name, stage.name) for name in names)

    if stage.cold:
        return Plan(stage, digest(stage), jobs(Role.TIME_COLD), jobs(Role.PROFILE_COLD))
    measured = jobs(Role.MEASURE)
    return Plan(stage, digest(stage), measured, measured)


def _environment_of(folder: Path, on: str) -> Environment | None:
    """What this folder was recorded on, if that is this machine."""
    try:
        known = open_recording(folder).environment
    except RecordingError:
        return None
    return known if known.machine == on else None


def _require_one_origin(
    folder: Path, before: Environment, now: Environment, request: Request, todo: list[Recorded]
) -> None:
    """What stays in a recording must have run the kernel packages that environment.json will name."""
    stays = [one.name for one in request.ladder.recorded if one not in todo and (folder / one.name).is_dir()]
    if todo and stays:
        kernel_packages.require_same(before.kernel_packages, now.kernel_packages, folder.name, len(stays))


def _write_environment(folder: Path, environment: Environment) -> None:
    """Not before a stage is there: until then the old recording stands, on the machine it names."""
    environment = msgspec.structs.replace(environment, kernel_packages=kernel_packages.current())
    try:
        write_whole(folder / ENVIRONMENT_FILE, encode(environment))
    except OSError as error:
        raise RecordingError(
            "",
            f"{folder / ENVIRONMENT_FILE} cannot be written: {error.strerror}",
            hint="free disk space or give another --out",
        ) from error
