"""The recording that is shown, as plain JSON, for answers by a second route: nothing of build_traces is used here.

What is counted is counted in the first profiled step of the published trace; what is timed is the median over the
processes of stage.json, of the median over their profiled steps.
"""

import functools
import gzip
import json
import re
import statistics
from pathlib import Path
from typing import Any

Event = dict[str, Any]

ROOT = Path(__file__).parents[1]
SHOWN = re.search(r"^ +recording: (\S+)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)[1]
"""The recording that a build shows."""
FOLDER = ROOT / "docs" / "recordings" / SHOWN
CALLS = ("cuda_runtime", "cuda_driver")
WORK = {"kernel": "kernel", "memset": "gpu_memset", "memcpy": "gpu_memcpy"}


@functools.cache
def environment() -> dict[str, Any]:
    """environment.json."""
    return json.loads((FOLDER / "environment.json").read_text(encoding="utf-8"))


@functools.cache
def record(stage: str) -> dict[str, Any]:
    """stage.json."""
    return json.loads((FOLDER / stage / "stage.json").read_text(encoding="utf-8"))


@functools.cache
def events(stage: str) -> list[Event]:
    """Everything in the trace that lasts, by its begin."""
    trace = json.loads(gzip.decompress((FOLDER / stage / "trace.json.gz").read_bytes()))
    return sorted((event for event in trace["traceEvents"] if event["ph"] == "X"), key=lambda event: event["ts"])


def step(stage: str, number: int = 1) -> Event:
    """A profiled step, from 1."""
    return [e for e in events(stage) if re.fullmatch(r"ProfilerStep#\d+", e["name"]) and e["cat"][:3] == "use"][
        number - 1
    ]


def inside(stage: str, outer: Event, *categories: str) -> list[Event]:
    """What begins within an event, on any thread."""
    return [e for e in events(stage) if e.get("cat") in categories and 0 <= e["ts"] - outer["ts"] <= outer["dur"]]


def calls(stage: str, number: int = 1) -> list[Event]:
    """The runtime and driver calls of a step."""
    return inside(stage, step(stage, number), *CALLS)


def ops(stage: str, name: str, number: int = 1) -> list[Event]:
    """The ops of a step with this name."""
    return [op for op in inside(stage, step(stage, number), "cpu_op") if op["name"] == name]


def work(stage: str, kind: str = "kernel", number: int = 1) -> list[Event]:
    """The kernels, memsets or memcpys that a step launched, in the order they ran."""
    launched = {call["args"]["correlation"] for call in calls(stage, number)}
    return [e for e in events(stage) if e.get("cat") == WORK[kind] and e["args"]["correlation"] in launched]


def launch(stage: str, activity: Event) -> Event:
    """The call that started a kernel, memset or memcpy."""
    return next(
        e
        for e in events(stage)
        if e.get("cat") in CALLS and e["args"]["correlation"] == activity["args"]["correlation"]
    )


def launched_under(stage: str, op: str, number: int = 1) -> int:
    """How many kernels, memsets and memcpys a step launched inside ops of this name."""
    started = {a["args"]["correlation"] for kind in WORK for a in work(stage, kind, number)}
    return sum(
        call["args"]["correlation"] in started and call["tid"] == outer["tid"]
        for outer in ops(stage, op, number)
        for call in inside(stage, outer, *CALLS)
    )


def median(stage: str, key: str, number: int | None = None) -> float:
    """A time of stage.json, such as cpu_us: over the processes, of one profiled step or of the median step."""
    values = [process[key] for process in record(stage)["processes"]]
    return statistics.median(statistics.median(v) if number is None else v[number - 1] for v in values)


def kernel_us(stage: str, position: int) -> float:
    """The time of the nth kernel of a step, over the processes that ran the published kernels."""
    runs = [[w for w in p["work"] if w["kind"] == "kernel"] for p in record(stage)["processes"]]
    published = [w["name"] for w in runs[record(stage)["published_process"]]]
    same = [run for run in runs if [w["name"] for w in run] == published]
    return statistics.median(statistics.median(us for us in run[position - 1]["us"] if us is not None) for run in same)


def gpu_us(stage: str) -> float:
    """Summed time of a step's kernels, memsets and memcpys."""
    processes = record(stage)["processes"]
    return statistics.median(
        statistics.median(sum(us or 0 for us in of_step) for of_step in zip(*(w["us"] for w in p["work"]), strict=True))
        for p in processes
    )


def time_us(stage: str) -> float:
    """The time of a step without a profiler; of a stage that is not cold."""
    return statistics.median(statistics.median(process["time_us"]) for process in record(stage)["processes"])


def hbm_mb(stage: str, position: int, what: str = "read_bytes write_bytes") -> float:
    """HBM megabytes of the nth kernel: read, written, or both."""
    kernel = record(stage)["hbm"][position - 1]
    return sum(kernel[one] for one in what.split()) / 1e6


def scalar(stage: str, key: str) -> float:
    """A number of stage.json that a process has one of, such as first_call_ms: the median over the processes."""
    return statistics.median(process[key] for process in record(stage)["processes"])


@functools.cache
def sweep(name: str) -> list[dict[str, Any]]:
    """The processes of sweep.json."""
    return json.loads((FOLDER / name / "sweep.json").read_text(encoding="utf-8"))["processes"]


def sweep_calls(name: str, call: str) -> list[dict[str, Any]]:
    """One call of a sweep, as each process saw it."""
    return [one for process in sweep(name) for one in process["calls"] if one["name"] == call]


def graphs(name: str, call: str | None = None) -> int:
    """Graphs that a call compiled, or all calls of a sweep together: the same in every process."""
    counts = {
        sum(not graph["failed"] for one in process["calls"] if call in (None, one["name"]) for graph in one["graphs"])
        for process in sweep(name)
    }
    (count,) = counts
    return count


def nth_ms(name: str, call: str, nth: int) -> float:
    """The wall-clock time of a call's nth time, from 1."""
    return statistics.median(one["call_ms"][nth - 1] for one in sweep_calls(name, call))


def sweep_gpu_us(name: str, call: str) -> float:
    """The GPU time of a call once it is warm: the median of its steps, then over the processes."""
    return statistics.median(statistics.median(one["gpu_us"]) for one in sweep_calls(name, call))


def sweep_kernels(name: str, call: str) -> list[str]:
    """The kernels of one call by name: the same in every process."""
    first, *others = (one["kernels"] for one in sweep_calls(name, call))
    assert all(other == first for other in others)
    return first


def call_count(stage: str, name: str) -> int:
    """How often a step makes a call of this name."""
    return sum(call["name"] == name for call in calls(stage))


def launches(stage: str) -> list[str]:
    """The calls of a step that start work, by name."""
    started = {a["args"]["correlation"] for kind in WORK for a in work(stage, kind)}
    return [call["name"] for call in calls(stage) if call["args"]["correlation"] in started]


def middle_step(stage: str) -> int:
    """The profiled step, from 1, whose length is the median of the published trace's three."""
    lengths = [step(stage, number)["dur"] for number in (1, 2, 3)]
    return lengths.index(statistics.median(lengths)) + 1


def call_us(stage: str, name: str) -> float:
    """How long the calls of this name take in the middle step."""
    return sum(call["dur"] for call in calls(stage, middle_step(stage)) if call["name"] == name)


def draws(stage: str) -> int:
    """In how many ways the processes launched a step: names, grids and blocks."""
    ways = {
        json.dumps([[w[k] for k in ("kind", "name", "grid", "block")] for w in p["work"]])
        for p in record(stage)["processes"]
    }
    return len(ways)


def table_ratio(stage: str) -> float:
    """The sum of the profiler's column Self CUDA over its rows, by the total under the table."""
    text = (FOLDER / stage / "profile.txt").read_text(encoding="utf-8")
    head = next(line for line in text.splitlines() if "Self CUDA" in line)
    end = re.search(r"Self CUDA(?= )", head).end()  # type: ignore[union-attr]
    rows = [line[:end] for line in text.splitlines() if not line.startswith("Self C")]
    cells = [row.split()[-1] for row in rows if re.search(r"\d(us|ms)$", row)]
    total = re.search(r"Self CUDA time total: (\S+)", text)[1]  # type: ignore[index]
    return sum(map(_us, cells)) / _us(total)


def _us(written: str) -> float:
    return float(written[:-2]) * {"us": 1, "ms": 1000}[written[-2:]]


def ceiling(key: str) -> float:
    """A measured ceiling, in operations or bytes a second."""
    return statistics.median(environment()["ceilings"][key])
