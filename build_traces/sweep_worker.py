"""A fresh process's share of a sweep: each named call timed, its graphs taken from torch's metrics, its kernels seen.

For `worker`, which imports the snippets and lets it begin.
"""

import re
import time
from collections.abc import Callable, Iterator
from itertools import islice
from types import ModuleType
from typing import Any

import torch
from torch._dynamo.utils import (
    CompilationMetrics,
    counters,
    get_compilation_metrics,
    set_compilation_metrics_limit,
)

from build_traces.jobs import Job, sweep_trace_file
from build_traces.sweep_record import CallRecord, Graph, SweepProcess

CALLS = 10
"""How often each call is made and timed by the wall clock."""
TIMED_STEPS = 20
"""How often it is timed on the GPU then; fewer than of a stage, since a sweep has many calls."""
KEPT_METRICS = 10_000
"""torch keeps the metrics of so many compiles; its own 64 are fewer than a long sweep could make."""
FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/:'\"]+/)+(?=[^\s/:'\"]+\.py\b)")
"""What in a reason leads to a file of this machine."""

Say = Callable[[str], None]
Sweep = Callable[[Callable[..., Any]], Iterator[tuple[str, Callable[[], Any]]]]


def measure_sweep(job: Job, sweep: Sweep, setup: Callable[..., Any], measure: ModuleType, say: Say) -> SweepProcess:
    """Make the calls of a sweep in their order, each first ten times by the wall clock."""
    set_compilation_metrics_limit(KEPT_METRICS)
    begin = time.perf_counter()
    calls = []
    for number, (name, step) in enumerate(sweep(setup), start=1):
        say(f"call {name}")
        calls.append(_measure_call(job, number, name, step, measure))
    return SweepProcess(tuple(calls), round(time.perf_counter() - begin, 1))


def log_sweep(sweep: Sweep, setup: Callable[..., Any]) -> None:
    """Make each call once: what is compiled stands in the log that TORCH_TRACE asks torch for."""
    for _, step in sweep(setup):
        step()
    torch.cuda.synchronize()


def _measure_call(job: Job, number: int, name: str, step: Callable[[], Any], measure: ModuleType) -> CallRecord:
    known, hits = len(get_compilation_metrics()), _cache_hits()
    call_us = measure.time_first_steps(step, CALLS)
    graphs = tuple(_graph(metrics) for metrics in islice(get_compilation_metrics(), known, None) if _is_frame(metrics))
    found = _cache_hits() - hits
    gpu_us = measure.time_steps(step, TIMED_STEPS)
    # By the profiler last: what it leaves behind in the process must not be in this call's times.
    measure.profile_steps(step, name, wait=0, warmup=1, active=1).export_chrome_trace(
        str(job.path(sweep_trace_file(number)))
    )
    return CallRecord(
        name=name,
        call_ms=tuple(round(us / 1e3, 4) for us in call_us),
        gpu_us=tuple(round(us, 3) for us in gpu_us),
        graphs=graphs,
        cache_hits=found,
    )


def _cache_hits() -> int:
    return int(counters["inductor"]["fxgraph_cache_hit"])


def _is_frame(metrics: CompilationMetrics) -> bool:
    """Whether these are of a frame that Dynamo compiled or gave up, and not of what ran later on its account.

    The first run of a graph's Triton kernels and each capture of a CUDA graph have an entry too.
    """
    return metrics.guard_count is not None or metrics.fail_type is not None


def _graph(metrics: CompilationMetrics) -> Graph:
    whole, backend = metrics.entire_frame_compile_time_s or 0.0, metrics.backend_compile_time_s or 0.0
    return Graph(
        compile_id=str(metrics.compile_id),
        reason=without_folders(metrics.recompile_reason or ""),
        guards=metrics.guard_count or 0,
        failed=metrics.fail_type or "",
        dynamo_ms=round((whole - backend) * 1e3, 3),
        backend_ms=round(backend * 1e3, 3),
    )


def without_folders(reason: str) -> str:
    """A reason as torch gives it, without this machine's folders in front of file names."""
    return FOLDERS.sub("", reason)
