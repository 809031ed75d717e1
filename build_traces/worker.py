"""The fresh process that runs one job on the GPU: `python -m build_traces.worker JOB.json`.

For `record`, which starts it, lets it import torch while the process before it still measures,
and then writes `go` to its standard input. Everything it says besides its answer is its log.
"""

import importlib
import inspect
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import torch
from torch import Tensor

from build_traces import sweep_worker
from build_traces.jobs import (
    ANSWER_FILE,
    GO,
    NO_GPU,
    RAW_TRACE_FILE,
    READY_FILE,
    TABLE_FILE,
    CeilingSample,
    Job,
    Probe,
    Role,
    Timing,
)
from build_traces.sweep_record import SweepProcess

COMPILER = ("torch._dynamo", "torch._inductor.compile_fx")
"""What a compiled stage imports while it waits, so that its first call holds the compile and no import."""
COPY_BYTES = 2 * 2**30
GEMM_SIZE = 8192


def probe(_: Job) -> Probe:
    """What GPU and which versions this process has. Raises RuntimeError without a GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError(NO_GPU)
    properties = torch.cuda.get_device_properties(0)
    triton = importlib.import_module("triton")
    return Probe(
        gpu=properties.name,
        driver=_driver(),
        cuda=str(torch.version.cuda),
        torch=str(torch.__version__),
        triton=triton.__version__,
        python=platform.python_version(),
        l2_bytes=properties.L2_cache_size,
        hbm_bytes=properties.total_memory,
        sm_count=properties.multi_processor_count,
    )


def _driver() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()


def ceilings(job: Job) -> CeilingSample:
    """The GPU's limits, timed by the loops that time the stages."""
    measure = _import("measure", job)
    copy_us = _median_us(measure, _copy())
    gemm = _gemm()
    gemm_us = _median_us(measure, gemm)
    back_to_back_us = measure.time_back_to_back(gemm)
    flops = 2 * GEMM_SIZE**3
    return CeilingSample(
        copy_bytes_per_s=2 * COPY_BYTES / (copy_us * 1e-6),
        gemm_flops_per_s=flops / (gemm_us * 1e-6),
        gemm_back_to_back_flops_per_s=flops / (back_to_back_us * 1e-6),
    )


def _copy() -> Callable[[], Tensor]:
    source = torch.randn(COPY_BYTES // 2, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _gemm() -> Callable[[], Tensor]:
    a, b = (torch.randn(GEMM_SIZE, GEMM_SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def _median_us(measure: ModuleType, step: Callable[[], Tensor]) -> float:
    measure.warm_up(step)
    return float(statistics.median(measure.time_steps(step)))


def measure_stage(job: Job) -> Timing:
    """First call, error, peak memory, trace, then times: one process's whole share of a stage."""
    snippet, measure = _import(job.stage, job), _import("measure", job)
    say("building the stage")
    step = snippet.stage()
    say("first call")
    first_call_ms, output = _first_call(step)
    say("error against float64")
    error, shape = relative_error(output, snippet.reference()), tuple(output.shape)
    del output
    say("warm-up")
    measure.warm_up(step)
    peak_bytes = _peak_bytes(step)
    say("profiling")
    # A snippet about profiling brings its own loop.
    prof = getattr(snippet, "profile_steps", measure.profile_steps)(step, job.stage)
    say("timing")
    measure.warm_up(step)
    time_us = measure.time_steps(step)
    back_to_back_us = measure.time_back_to_back(step)
    _write_profile(job, measure, prof)
    return Timing(
        first_call_ms=first_call_ms,
        time_us=tuple(round(us, 3) for us in time_us),
        back_to_back_us=round(back_to_back_us, 3),
        peak_bytes=peak_bytes,
        error=error,
        flops=snippet.FLOPS,
        output_shape=shape,
    )


def time_cold(job: Job) -> Timing:
    """Wall-clock times of the first steps, with nothing run before them."""
    snippet, measure = _import(job.stage, job), _import("measure", job)
    step = snippet.stage()
    times = measure.time_first_steps(step)
    output = step()
    return Timing(
        first_call_ms=times[0] / 1e3,
        time_us=tuple(round(us, 3) for us in times),
        back_to_back_us=None,
        peak_bytes=_peak_bytes(step),
        error=relative_error(output, snippet.reference()),
        flops=snippet.FLOPS,
        output_shape=tuple(output.shape),
    )


def profile_cold(job: Job) -> None:
    """A profile from the first step on."""
    snippet, measure = _import(job.stage, job), _import("measure", job)
    _write_profile(job, measure, measure.profile_steps(snippet.stage(), job.stage, wait=0, warmup=0))


def count_bytes(job: Job) -> None:
    """One step between cudaProfilerStart and -Stop, from a cold L2: what Nsight Compute counts."""
    snippet, measure = _import(job.stage, job), _import("measure", job)
    say("building the stage")
    step = snippet.stage()
    say("warm-up")
    measure.warm_up(step)
    say("counting")
    torch.empty(measure.FLUSH_BYTES, dtype=torch.int8, device="cuda").zero_()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    step()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def measure_sweep(job: Job) -> SweepProcess:
    """Every call of a sweep, one process's whole share of it."""
    return sweep_worker.measure_sweep(job, *_sweep_of(job), _import("measure", job), say)


def log_compiles(job: Job) -> None:
    """The same calls, once each, for what they leave in the compile caches or in torch's log."""
    sweep_worker.log_sweep(*_sweep_of(job))


def _sweep_of(job: Job) -> tuple[sweep_worker.Sweep, Callable[..., Any]]:
    """The sweep, and the set-up that it is made in."""
    module, _, function = job.setup.partition(".")
    return _import(job.snippet, job).sweep, getattr(_import(module, job), function)


def relative_error(output: Tensor, reference: Tensor) -> float:
    """‖output − reference‖ / ‖reference‖ in float64. Raises ValueError if shapes differ or it is not finite."""
    if output.shape != reference.shape:
        raise ValueError(f"the output has shape {tuple(output.shape)}, the reference {tuple(reference.shape)}")
    difference = torch.linalg.vector_norm(output.double() - reference)
    error = float(difference / torch.linalg.vector_norm(reference))
    if not error < float("inf"):
        raise ValueError("the output is not finite")
    return error


def _first_call(step: Callable[[], Tensor]) -> tuple[float, Tensor]:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    output = step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3, output


def _peak_bytes(step: Callable[[], Tensor]) -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated())


def _write_profile(job: Job, measure: ModuleType, prof: torch.profiler.profile) -> None:
    job.path(TABLE_FILE).write_text(measure.profiler_table(prof), encoding="utf-8")
    prof.export_chrome_trace(str(job.path(RAW_TRACE_FILE)))


def _import(module: str, job: Job) -> ModuleType:
    if job.snippets not in sys.path:
        sys.path.insert(0, job.snippets)
    return importlib.import_module(module)


ROLES: dict[Role, Callable[[Job], msgspec.Struct | None]] = {
    Role.ENVIRONMENT: probe,
    Role.CEILINGS: ceilings,
    Role.MEASURE: measure_stage,
    Role.TIME_COLD: time_cold,
    Role.PROFILE_COLD: profile_cold,
    Role.COUNT_BYTES: count_bytes,
    Role.SWEEP: measure_sweep,
    Role.FILL_CACHES: log_compiles,
    Role.LOG_COMPILES: log_compiles,
}


def say(doing: str) -> None:
    """A line for the log: where the process is, should it hang."""
    print(f"{time.process_time():7.1f} s CPU  {time.strftime('%H:%M:%S')}  {doing}", flush=True)


def _import_ahead(job: Job) -> None:
    """Import what the job will need; nothing here touches the GPU."""
    source: ModuleType | Callable[..., Any] | None = None
    if job.setup:
        _, source = _sweep_of(job)
    elif job.stage:
        source = _import(job.stage, job)
    if source and "torch.compile" in inspect.getsource(source):
        for module in COMPILER:
            importlib.import_module(module)


def main(job_file: Path) -> None:
    """Import, wait for `go`, run the job and write its answer beside it."""
    job = msgspec.json.decode(job_file.read_bytes(), type=Job)
    _import_ahead(job)
    job.path(READY_FILE).touch()
    say("waiting")
    if sys.stdin.readline().strip() != GO:
        return  # the recorder gave up before this process's turn
    say("started")
    answer = ROLES[job.role](job)
    if answer is not None:
        job.path(ANSWER_FILE).write_bytes(msgspec.json.encode(answer))
    say("done")
    if job.role is not Role.COUNT_BYTES:  # Nsight Compute writes its report when the process ends in order
        os._exit(0)  # Inductor's compile workers take seconds to end in order


if __name__ == "__main__":
    main(Path(sys.argv[1]))
