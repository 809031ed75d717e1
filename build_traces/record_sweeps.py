"""Record sweeps: fresh processes that make the same calls in the same order, and what they have in common.

For `record`. Times are each process's own; what was compiled and which kernels ran must not be mixed up over them.
"""

import gzip
import json
import os
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from build_traces import trace
from build_traces.errors import RecordingError
from build_traces.jobs import TORCH_TRACE_FOLDER, Job, Role, sweep_trace_file
from build_traces.keep import keep
from build_traces.ladder import digest
from build_traces.processes import CACHE_FOLDER, Batch, Workplace, decode_answer
from build_traces.recording import SWEEP_FILE, Environment, Spread, encode, read_sweep, record_command, spread
from build_traces.reporting import Reporter
from build_traces.sweep_record import SWEEP_PROTOCOL, CallRecord, SweepProcess, SweepRecord
from build_traces.sweeps import Sweep

PROCESSES = 3
"""A sweep's counts are the same in each process, and its first calls differ by factors of a hundred."""
COMPILE_STARTS_FILE = "compile_starts.jsonl.gz"


@dataclass(frozen=True)
class SweepPlan:
    """The jobs of one sweep, in the order they run; `sha256` as of a stage's plan."""

    sweep: Sweep
    sha256: str
    measured: tuple[Job, ...]
    fill: Job | None
    log: Job | None

    @property
    def jobs(self) -> list[Job]:
        """One process each."""
        return [job for job in (self.fill, *self.measured, self.log) if job]


def plan(sweep: Sweep, processes: int, workplace: Workplace) -> SweepPlan:
    """What is run for a sweep."""

    def job(role: Role, number: int = 1) -> Job:
        made = workplace.job(role, f"{sweep.name}/{role.value}-{number}", sweep.name)
        return msgspec.structs.replace(made, snippet=sweep.snippet.stem, setup=sweep.setup)

    return SweepPlan(
        sweep=sweep,
        sha256=digest(sweep),
        measured=tuple(job(Role.SWEEP, number) for number in range(1, processes + 1)),
        fill=job(Role.FILL_CACHES) if sweep.caches == "warm" else None,
        log=job(Role.LOG_COMPILES) if sweep.log else None,
    )


def waves(plans: list[SweepPlan]) -> Iterator[list[SweepPlan]]:
    """Plans whose processes import side by side: no more than there are cores, but for a sweep that has more."""
    wave: list[SweepPlan] = []
    for one in plans:
        if wave and sum(len(other.jobs) for other in (*wave, one)) > (os.cpu_count() or 1):
            yield wave
            wave = []
        wave.append(one)
    if wave:
        yield wave


def record_sweep(
    plan: SweepPlan, batch: Batch, folder: Path, environment: Environment, reporter: Reporter
) -> SweepRecord:
    """Run a sweep's processes one after the other and put what they saw into its folder. Raises RecordingError."""
    sweep = plan.sweep
    if plan.fill:
        _run(plan.fill, batch, "the process that fills the caches", reporter)
        for job in plan.measured:
            shutil.copytree(plan.fill.path(CACHE_FOLDER), job.path(CACHE_FOLDER), dirs_exist_ok=True)
    processes = []
    for number, job in enumerate(plan.measured, start=1):
        what = f"process {number} of {len(plan.measured)}"
        answer = _run(job, batch, what, reporter)
        processes.append(_process(sweep, job, decode_answer(answer, SweepProcess, sweep.name, what)))
    artefacts = {}
    if plan.log:
        _run(plan.log, batch, "the process that logs its compiles", reporter)
        artefacts[COMPILE_STARTS_FILE] = gzip.compress(compile_starts(sweep, plan.log), mtime=0)
    made = SweepRecord(
        sweep=sweep.name,
        protocol=SWEEP_PROTOCOL,
        sha256=plan.sha256,
        command=record_command(sweep.name),
        recorded=environment.date,
        commit=environment.commit,
        machine=environment.machine,
        processes=tuple(processes),
        artefacts=tuple(artefacts),
    )
    keep(sweep, plan.sha256, folder, {**artefacts, SWEEP_FILE: encode(made)})
    return made


def _run(job: Job, batch: Batch, what: str, reporter: Reporter) -> bytes:
    reporter.running(f"{job.stage} · {what}")
    answer = batch.run(job, what)
    reporter.process_done()
    return answer


def _process(sweep: Sweep, job: Job, seen: SweepProcess) -> SweepProcess:
    """What a process answered, with the kernels from its traces."""
    calls = [_with_kernels(sweep, job, number, call) for number, call in enumerate(seen.calls, start=1)]
    return msgspec.structs.replace(seen, calls=tuple(calls))


def _with_kernels(sweep: Sweep, job: Job, number: int, call: CallRecord) -> CallRecord:
    path = job.path(sweep_trace_file(number))
    seen = trace.read(path)
    names = tuple(kernel.name for step in seen.steps for kernel in seen.kernels(step.number))
    if not names:
        raise RecordingError(
            sweep.name,
            f"the trace of its call {call.name} holds no kernel",
            hint="another profiler may hold the GPU: end it and record again",
        )
    return msgspec.structs.replace(call, kernels=names)


def compile_starts(sweep: Sweep, job: Job) -> bytes:
    """The lines of torch's structured log that begin a compile, without the stack and the head of each line.

    Those name this machine's files, its process and its clock; what is left is as torch wrote it.
    """
    lines = []
    for path in sorted(job.path(TORCH_TRACE_FOLDER).glob("*.log")):
        for line in path.read_text(encoding="utf-8").splitlines():
            _, brace, payload = line.partition("] {")
            if not brace or not line.startswith("V"):
                continue
            entry: dict[str, Any] = json.loads("{" + payload)
            if "dynamo_start" in entry:
                lines.append(json.dumps(entry | {"dynamo_start": {}}))
    if not lines:
        raise RecordingError(
            sweep.name,
            "torch's structured log names no compile",
            hint="record a sweep that compiles, or drop log = true",
        )
    return ("\n".join(lines) + "\n").encode()


def summary(record: SweepRecord) -> tuple[int, Spread]:
    """The graphs that the first process compiled, and what all first calls took together in each process."""
    graphs = sum(len(call.compiled) for call in record.processes[0].calls)
    return graphs, spread([sum(call.call_ms[0] for call in process.calls) for process in record.processes])


def recorded_seconds(sweep: Sweep, recordings: Path) -> float:
    """How long one process of it took, in the recordings there are; as the ladder guesses where none has it."""
    took = []
    for path in recordings.glob(f"*/{sweep.name}/{SWEEP_FILE}"):
        took += [process.seconds for process in read_sweep(path, sweep.name).processes]
    return statistics.median(took) if took else sweep.seconds
