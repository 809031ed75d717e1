"""What the recorder asks of a fresh process, and what that process answers: values both sides share."""

from enum import Enum
from pathlib import Path

import msgspec

GO = "go"
"""The line on standard input that lets a waiting process work."""
NO_GPU = "torch sees no GPU"
"""The error of a process that finds none; `processes` knows what to do about it."""


class Role(Enum):
    """What a fresh process is for."""

    ENVIRONMENT = "environment"
    CEILINGS = "ceilings"
    MEASURE = "measure"
    TIME_COLD = "time-cold"
    PROFILE_COLD = "profile-cold"
    COUNT_BYTES = "count-bytes"
    SWEEP = "sweep"
    FILL_CACHES = "fill-caches"
    LOG_COMPILES = "log-compiles"


class Job(msgspec.Struct, frozen=True):
    """One fresh process. `folder` is its own, empty; the answer and the trace go there.

    `snippet` and `setup` (`module.function`) are of a sweep; the snippet of a stage has the stage's name.
    """

    role: Role
    folder: str
    snippets: str = ""
    stage: str = ""
    snippet: str = ""
    setup: str = ""

    def path(self, name: str) -> Path:
        return Path(self.folder) / name


ANSWER_FILE = "answer.json"
JOB_FILE = "job.json"
READY_FILE = "ready"
"""Made by a process that has imported and waits for its turn."""
RAW_TRACE_FILE = "trace.json"
TABLE_FILE = "profile.txt"
TORCH_TRACE_FOLDER = "torch-trace"
"""Where torch writes its structured log, in a process that is asked for it."""


def sweep_trace_file(number: int) -> str:
    """The trace of a sweep's call, counted from 1."""
    return f"trace-{number}.json"


class Probe(msgspec.Struct, frozen=True):
    """The answer to ENVIRONMENT: what the process found itself on."""

    gpu: str
    driver: str
    cuda: str
    torch: str
    triton: str
    python: str
    l2_bytes: int
    hbm_bytes: int
    sm_count: int


class CeilingSample(msgspec.Struct, frozen=True):
    """The answer to CEILINGS."""

    copy_bytes_per_s: float
    gemm_flops_per_s: float
    gemm_back_to_back_flops_per_s: float


class Timing(msgspec.Struct, frozen=True):
    """The answer to MEASURE and TIME_COLD; units as in recording.Process."""

    first_call_ms: float
    time_us: tuple[float, ...]
    back_to_back_us: float | None
    peak_bytes: int
    error: float
    flops: int
    output_shape: tuple[int, ...]
