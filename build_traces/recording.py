"""A recording on disk: stage.json, sweep.json and environment.json as values.

For everything after `record`; neither torch nor a GPU is needed. A recording is a folder
`docs/recordings/<gpu>_<torch>/` with environment.json and one folder a stage or sweep.
"""

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from build_traces import trace
from build_traces.errors import RecordingError
from build_traces.profiler_table import ProfilerTable, read_table
from build_traces.sweep_record import SweepRecord
from build_traces.sweep_record import inconsistency as sweep_inconsistency

PROTOCOL = 1
"""Counted up when the way a stage is recorded changes; every stage is stale then."""

RECORDINGS = Path("docs/recordings")
STAGE_FILE = "stage.json"
SWEEP_FILE = "sweep.json"
ENVIRONMENT_FILE = "environment.json"
TRACE_FILE = "trace.json.gz"
PROFILE_FILE = "profile.txt"


@dataclass(frozen=True)
class Spread:
    """A measurement over processes: the median of them, the lowest and the highest."""

    median: float
    low: float
    high: float


def spread(values: list[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def middle_nine_tenths(values: Sequence[float]) -> tuple[float, float]:
    """The 5th and the 95th percentile, between neighbors in proportion; both the value itself for a single one."""
    if len(values) == 1:
        return values[0], values[0]
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return cuts[0], cuts[-1]


class GpuWork(msgspec.Struct, frozen=True):
    """One kernel, memset or memcpy of a step in one process; `us` by profiled step, null where absent."""

    kind: trace.ActivityKind
    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    us: tuple[float | None, ...]


class Process(msgspec.Struct, frozen=True):
    """What one fresh process measured.

    `time_us`: a sample a step, by CUDA events, cold L2, no profiler; for a cold stage, wall-clock
    times of the first steps. `cpu_us` and `step_us` come from the profiled steps: how long the CPU
    was in the forward, and how long the whole step took.
    """

    first_call_ms: float
    time_us: tuple[float, ...]
    back_to_back_us: float | None
    peak_bytes: int
    error: float
    cpu_us: tuple[float, ...]
    step_us: tuple[float, ...]
    work: tuple[GpuWork, ...]


def step_time_us(process: Process, cold: bool) -> float:
    """How long a step takes in this process: its median step, or the first step of a cold stage."""
    return process.time_us[0] if cold else statistics.median(process.time_us)


class KernelBytes(msgspec.Struct, frozen=True):
    """HBM traffic of one kernel of one step, from the hardware counters."""

    name: str
    read_bytes: int
    write_bytes: int


class StageRecord(msgspec.Struct, frozen=True):
    """stage.json."""

    stage: str
    protocol: int
    sha256: str
    command: str
    recorded: str
    commit: str
    machine: str
    flops: int
    processes: tuple[Process, ...]
    published_process: int
    hbm: tuple[KernelBytes, ...] | None
    hbm_missing: str | None
    artefacts: tuple[str, ...]


class Ceilings(msgspec.Struct, frozen=True):
    """What the GPU can do at most, one value a process.

    `copy_bytes_per_s`: device-to-device copy of 2 GiB, read plus written. `gemm_flops_per_s`:
    bf16 GEMM of 8192³, one launch at a time with a cold L2, as stages are timed;
    `gemm_back_to_back_flops_per_s`: the same without pauses.
    """

    copy_bytes_per_s: tuple[float, ...]
    gemm_flops_per_s: tuple[float, ...]
    gemm_back_to_back_flops_per_s: tuple[float, ...]

    @property
    def best_gemm_flops_per_s(self) -> float:
        """The faster of the two medians: what GEMMs are held against."""
        return max(statistics.median(self.gemm_flops_per_s), statistics.median(self.gemm_back_to_back_flops_per_s))

    @property
    def usual_copy_bytes_per_s(self) -> float:
        """The median of the copies."""
        return statistics.median(self.copy_bytes_per_s)


class KernelPackage(msgspec.Struct, frozen=True):
    """Where a kernel package came from: `kind` is "hub" or "local"."""

    repo: str
    kind: str
    detail: str


class Environment(msgspec.Struct, frozen=True):
    """environment.json."""

    gpu: str
    driver: str
    cuda: str
    torch: str
    triton: str
    kernels: str
    liger_kernel: str
    python: str
    ncu: str
    date: str
    commit: str
    l2_bytes: int
    hbm_bytes: int
    sm_count: int
    ceilings: Ceilings
    kernel_packages: tuple[KernelPackage, ...]

    @property
    def machine(self) -> str:
        """What must be equal for two stages to stand in one recording."""
        return " · ".join(
            (
                self.gpu,
                f"driver {self.driver}",
                f"CUDA {self.cuda}",
                f"torch {self.torch}",
                f"triton {self.triton}",
                f"kernels {self.kernels}",
                f"liger-kernel {self.liger_kernel}",
            )
        )

    @property
    def stamp(self) -> str:
        """What every published number carries."""
        return self.stamped(self.date, self.commit)

    def stamped(self, date: str, commit: str) -> str:
        """The stamp of what was recorded on this machine on that day from that commit."""
        return f"{self.gpu} · torch {self.torch} · {date} · commit {short_commit(commit)}"


def short_commit(commit: str) -> str:
    """Ten digits of a commit, and `-dirty` where the recorder said so."""
    digits, dash, dirty = commit.partition("-")
    return digits[:10] + dash + dirty


def recording_name(gpu: str, torch_version: str) -> str:
    """`nvidia-h200_torch-2.11.0`, fit for a folder and a URL."""
    slug = re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    return f"{slug}_torch-{torch_version.partition('+')[0]}"


@dataclass(frozen=True)
class Recording:
    """All stages as one machine ran them."""

    folder: Path
    environment: Environment

    @property
    def name(self) -> str:
        return self.folder.name

    def path(self, stage: str, file: str) -> Path:
        return self.folder / stage / file

    def stage(self, stage: str) -> StageRecord:
        """Raises RecordingError if the stage is not recorded or its file is damaged."""
        return read_stage(self.path(stage, STAGE_FILE), stage)

    def sweep(self, sweep: str) -> SweepRecord:
        """Raises RecordingError if the sweep is not recorded or its file is damaged."""
        return read_sweep(self.path(sweep, SWEEP_FILE), sweep)

    def trace(self, stage: str) -> trace.Trace:
        return trace.read(self.path(stage, TRACE_FILE))

    def profile(self, stage: str) -> str:
        """The profiler's own table."""
        return self.path(stage, PROFILE_FILE).read_text(encoding="utf-8")

    def profiler_table(self, stage: str) -> ProfilerTable:
        """The same, read. Raises FactError if it has no GPU times."""
        return read_table(self.profile(stage))


def open_recording(folder: Path) -> Recording:
    """Raises RecordingError if there is no recording in this folder."""
    path = folder / ENVIRONMENT_FILE
    try:
        environment = msgspec.json.decode(path.read_bytes(), type=Environment)
    except FileNotFoundError as error:
        raise RecordingError(
            "", f"there is no recording in {folder}", hint="on a GPU machine: python -m build_traces record"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordingError("", f"{path} is damaged: {error}", hint="restore it with git checkout") from error
    return Recording(folder, environment)


def read_stage(path: Path, stage: str) -> StageRecord:
    """Raises RecordingError if the stage is not recorded or its file is damaged."""
    return _read(path, stage, StageRecord, inconsistency)


def read_sweep(path: Path, sweep: str) -> SweepRecord:
    """Raises RecordingError if the sweep is not recorded or its file is damaged."""
    return _read(path, sweep, SweepRecord, sweep_inconsistency)


R = TypeVar("R")


def _read(path: Path, name: str, kind: type[R], wrong_in: Callable[[R], str]) -> R:
    try:
        record = msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError as error:
        raise RecordingError(
            name, f"not recorded: {path} is not there", hint=f"on a GPU machine: {record_command(name)}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordingError(name, f"{path} is damaged: {error}", hint="restore it with git checkout") from error
    if wrong := wrong_in(record):
        raise RecordingError(name, f"{path} is damaged: {wrong}", hint="restore it with git checkout")
    return record


def inconsistency(record: StageRecord) -> str:
    """What a reader of this record would trip over, "" if nothing."""
    if not 0 <= record.published_process < len(record.processes):
        return f"process {record.published_process} is published, there are {len(record.processes)}"
    if not all(p.time_us and p.step_us for p in record.processes):
        return "a process has no time samples"
    kernels = sum(work.kind == "kernel" for work in record.processes[record.published_process].work)
    if record.hbm is not None and len(record.hbm) != kernels:
        return f"HBM bytes of {len(record.hbm)} kernels, the published process ran {kernels}"
    return ""


def record_command(stage: str) -> str:
    """What to type to record one stage or sweep."""
    return f"python -m build_traces record --stages {stage}"


def encode(value: msgspec.Struct) -> bytes:
    """JSON that a person can read in a diff: indented, short lists of numbers on one line."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    number = r"-?[\d.e+-]+|null"
    return (
        re.sub(
            rf"\[\s*((?:{number})(?:,\s*(?:{number}))*)\s*\]",
            lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]",
            text,
        )
        + "\n"
    ).encode()
