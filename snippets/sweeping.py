"""How a sweep is run by hand: `python snippets/sweep_batch.py dynamic` prints what each call costs."""

import importlib
import sys
from collections.abc import Callable, Iterator

from measure import Step, time_first_steps
from setups import Setup
from torch._dynamo.utils import get_compilation_metrics

Calls = Iterator[tuple[str, Step]]
Sweep = Callable[[Setup], Calls]


def graphs_compiled() -> int:
    """How many graphs torch.compile has made in this process: what else torch keeps metrics of has no guards."""
    return sum(metrics.guard_count is not None for metrics in get_compilation_metrics())


def show_sweep(sweep: Sweep) -> None:
    """Make the calls of a sweep in the set-up that the command line names, and print what they cost."""
    setup = getattr(importlib.import_module("setups"), sys.argv[1] if len(sys.argv) > 1 else "compiled")
    for name, step in sweep(setup):
        times_us = time_first_steps(step, 10)
        print(f"{name:>8}  first {times_us[0] / 1e3:9.2f} ms   tenth {times_us[9] / 1e3:6.2f} ms", end="   ")
        print(f"{graphs_compiled()} graphs so far")
