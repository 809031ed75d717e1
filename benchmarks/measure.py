"""Print how fast `inspect` is, beside json.load with the same work in a loop and HolisticTraceAnalysis.

    python -m benchmarks.measure [SOURCE …] [--events 1000000] [--hta-seconds 600] [--repeat 3]

Each SOURCE is a real trace; it is repeated to a large one, which every contestant reads in a process of its own.
Times are CPU seconds of the reading and the work, imports left out, the least of the repetitions; memory is the
peak of the whole process. HolisticTraceAnalysis only loads the file: it is told to keep the last step and not to
round, as its results are wrong without. All ratios come from this one run.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.repeat_trace import repeat

ROOT = Path(__file__).parents[1]
SOURCES = (
    "docs/recordings/nvidia-h200_torch-2.11.0/mlp_eager/trace.json.gz",
    "tests/traces/ns_resolution_one_step.json.gz",
)
SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)


@dataclass(frozen=True)
class Run:
    """One contestant's run; None where it was not done in time."""

    seconds: float | None
    peak_bytes: int
    said: str


def ours(path: Path) -> str:
    """`inspect`."""
    from build_traces.inspection import inspect  # noqa: PLC0415 - a contestant pays for its own imports only

    def work() -> str:
        return f"{len(inspect(path).steps):,} steps"

    return timed(work)


def plain(path: Path) -> str:
    """json.load, and the same work in a loop."""
    from benchmarks.plain import inspect  # noqa: PLC0415 - as above

    return timed(lambda: f"{len(inspect(path)['steps']):,} steps")


def load(path: Path) -> str:
    """json.load alone."""

    def work() -> str:
        with path.open(encoding="utf-8") as file:
            return f"{len(json.load(file)['traceEvents']):,} events"

    return timed(work)


def hta(path: Path) -> str:
    """HolisticTraceAnalysis, loading the file."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis  # noqa: PLC0415 - as above; only this group has it

    def work() -> str:
        found = TraceAnalysis({0: path.name}, str(path.parent), include_last_profiler_step=True)
        return f"{len(found.t.get_trace(0)):,} rows"

    return timed(work)


CONTESTANTS = {"inspect": ours, "json.load": load, "json.load and loops": plain, "HTA": hta}


def timed(work: Callable[[], str]) -> str:
    """Do it once: CPU seconds, peak memory, and what came out, as JSON."""
    start = time.process_time()
    said = work()
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return json.dumps({"seconds": seconds, "peak_bytes": peak, "said": said})


def run(contestant: str, path: Path, repetitions: int, limit: float) -> Run:
    """The best of some processes; the first that takes too long is the last."""
    runs = []
    for _ in range(repetitions):
        command = [sys.executable, "-m", "benchmarks.measure", "--contestant", contestant, str(path)]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Run(None, 0, f"not done in {limit:.0f} s")
        if done.returncode:
            return Run(None, 0, done.stderr.strip().splitlines()[-1])
        found = json.loads(done.stdout.strip().splitlines()[-1])
        runs.append(Run(found["seconds"], found["peak_bytes"], found["said"]))
    return min(runs, key=lambda one: one.seconds or 0.0)


def compare(source: Path, events: int, folder: Path, repetitions: int, hta_seconds: float) -> None:
    """The table of one source."""
    path = folder / "trace.json"
    repeat(source, events, path)
    size = path.stat().st_size
    print(f"\n{source}, repeated to {events:,} events, {size / 1e6:.0f} MB")
    print(f"{'':22}{'s':>9}{'× inspect':>12}{'peak MB':>10}{'× file':>8}  said")
    mine = run("inspect", path, repetitions, hta_seconds)
    for contestant in CONTESTANTS:
        many = 1 if contestant == "HTA" else repetitions
        one = mine if contestant == "inspect" else run(contestant, path, many, hta_seconds)
        if one.seconds is None or mine.seconds is None:
            least = f"> {hta_seconds / mine.seconds:.0f}" if mine.seconds and "not done" in one.said else ""
            print(f"{contestant:22}{'':>9}{least:>12}{'':>10}{'':>8}  {one.said}")
            continue
        ratio, memory = one.seconds / mine.seconds, one.peak_bytes / size
        peak = one.peak_bytes / 1e6
        print(f"{contestant:22}{one.seconds:9.2f}{ratio:12.1f}{peak:10.0f}{memory:8.2f}  {one.said}")


def growth(source: Path, folder: Path, repetitions: int) -> None:
    """Time and memory of `inspect` from ten thousand events to a million."""
    print(f"\n{source}, by size")
    print(f"{'events':>12}{'MB':>8}{'s':>8}{'µs an event':>13}{'peak MB':>10}{'× file':>8}")
    for events in SIZES:
        path = folder / "trace.json"
        repeat(source, events, path)
        size, one = path.stat().st_size, run("inspect", path, repetitions, 600)
        each = 1e6 * (one.seconds or 0) / events
        peak = one.peak_bytes / 1e6
        print(f"{events:12,}{size / 1e6:8.1f}{one.seconds:8.2f}{each:13.2f}{peak:10.0f}{one.peak_bytes / size:8.2f}")


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", default=[str(ROOT / source) for source in SOURCES])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--hta-seconds", type=float, default=600)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        print(CONTESTANTS[options.contestant](Path(options.sources[0])))
        return
    print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        for source in options.sources:
            compare(Path(source), options.events, Path(folder), options.repeat, options.hta_seconds)
        for source in options.sources:
            growth(Path(source), Path(folder), options.repeat)


if __name__ == "__main__":
    main()
