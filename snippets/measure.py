"""How a stage is profiled and timed: the loops of the recorder, and `show` to run them by hand."""

import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function, schedule

Step = Callable[[], Tensor]
Stage = Callable[[], Step]


def warm_up(step: Step, steps: int = 20) -> None:
    """Run steps that nobody looks at: they pay for compiling, loading and choosing kernels."""
    for _ in range(steps):
        step()
    torch.cuda.synchronize()


# --8<-- [start:profile]
def profile_steps(step: Step, label: str, wait: int = 1, warmup: int = 2, active: int = 3) -> profile:
    """Profile `active` steps, after `wait` steps without and `warmup` steps with a profiler."""
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=1),
        record_shapes=True,
    ) as prof:
        for _ in range(wait + warmup + active):
            with record_function(label):
                step()
            # Without this, kernels of one step still run when the next one begins.
            torch.cuda.synchronize()
            prof.step()
    return prof


# --8<-- [end:profile]


FLUSH_BYTES = 2**30
"""Many times the L2; and filling it takes the GPU long enough for the CPU to launch a whole step behind it."""


# --8<-- [start:time]
def time_steps(step: Step, steps: int = 100) -> list[float]:
    """GPU time of each step in µs, by CUDA events, from a cold L2 and without a profiler."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    starts = [torch.cuda.Event(enable_timing=True) for _ in range(steps)]
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(steps)]
    for start, end in zip(starts, ends, strict=True):
        flush.zero_()
        start.record()
        step()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in zip(starts, ends, strict=True)]


def time_back_to_back(step: Step, steps: int = 100) -> float:
    """Wall-clock time of one step in µs when steps follow each other without a pause."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e6


# --8<-- [end:time]


def time_first_steps(step: Step, steps: int = 5) -> list[float]:
    """Wall-clock time of each of the first steps in µs, the very first included."""
    times = []
    for _ in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    return times


def profiler_table(prof: profile) -> str:
    """The profiler's own table, most GPU time first."""
    return str(prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=30))


def show(stage: Stage, label: str, cold: bool = False) -> None:
    """Profile a stage as the recorder does and print the profiler's table."""
    step = stage()
    if cold:
        prof = profile_steps(step, label, wait=0, warmup=0)
    else:
        warm_up(step)
        prof = profile_steps(step, label)
    print(profiler_table(prof))
