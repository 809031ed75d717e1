"""A second, slow way to read a trace, for the tests to hold `build_traces.trace` against.

Plain `json` and loops over the raw events, and no line of the module under test. An
event is known by (name, ts, dur); where two events agree in all three, the counters
below still hold both.
"""

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[str, float, float]

CATEGORIES = ("kernel", "gpu_memset", "gpu_memcpy", "cuda_runtime", "cuda_driver", "cpu_op", "user_annotation")
GPU_CATEGORIES = ("kernel", "gpu_memset", "gpu_memcpy")
CALL_CATEGORIES = ("cuda_runtime", "cuda_driver")


@dataclass
class Reading:
    """What the loops below found in one file; None where there is nothing to point to."""

    counts: Counter[str]
    steps: list[int]
    parents: Counter[tuple[Key, Key | None]]
    """Each op and annotation with what encloses it."""
    calls: Counter[tuple[Key, Key | None, int | None]]
    """Each runtime and driver call with what encloses it and its step."""
    launches: dict[int | None, Counter[str]]
    """Names of the calls that started GPU work, by step."""
    activities: Counter[tuple[str, Key, Key | None, Key | None, Key | None, int | None]]
    """Category, GPU event, its launch, what encloses the launch, the op among those, the launch's step."""

    def names(self, category: str, step: int | None) -> list[str]:
        """GPU events of a step, by start time."""
        rows = [(k[1], k[0]) for c, k, _, _, _, s in self.activities.elements() if (c, s) == (category, step)]
        return [name for _, name in sorted(rows)]


def read(path: Path) -> Reading:
    """Read a trace that is valid JSON, packed or not."""
    raw = path.read_bytes()
    data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    events: list[Row] = data if isinstance(data, list) else data["traceEvents"]
    rows = [e for e in events if e["ph"] == "X" and e.get("cat") in CATEGORIES]
    for position, row in enumerate(rows):
        row["position"] = position

    steps = [r for r in rows if r["cat"] == "user_annotation" and r["name"].startswith("ProfilerStep#")]
    ops_of_thread: dict[tuple[Any, Any], list[Row]] = defaultdict(list)
    for row in rows:
        if row["cat"] in ("cpu_op", "user_annotation") and row not in steps:
            ops_of_thread[row["pid"], row["tid"]].append(row)
    calls = [r for r in rows if r["cat"] in CALL_CATEGORIES]
    gpu = [r for r in rows if r["cat"] in GPU_CATEGORIES]

    call_by_correlation = {c["args"]["correlation"]: c for c in calls}
    assert len(call_by_correlation) == len(calls), "two calls share a correlation id: the tie is not one to one"
    started = {g["args"]["correlation"] for g in gpu}

    launches: dict[int | None, Counter[str]] = defaultdict(Counter)
    for call in calls:
        call["around"] = around(call["ts"], ops_of_thread[call["pid"], call["tid"]])
        call["step"] = step_of(call["ts"], steps)
        if call["args"]["correlation"] in started:
            launches[call["step"]][call["name"]] += 1

    activities: Counter[Any] = Counter()
    for row in gpu:
        launch = call_by_correlation.get(row["args"]["correlation"])
        inner = shortest(launch["around"]) if launch else None
        op = shortest([o for o in launch["around"] if o["cat"] == "cpu_op"]) if launch else None
        step = launch["step"] if launch else None
        activities[row["cat"], key(row), known(launch), known(inner), known(op), step] += 1

    return Reading(
        counts=Counter(r["cat"] for r in rows),
        steps=sorted(int(s["name"].split("#")[1]) for s in steps),
        parents=Counter((key(op), known(parent(op, ops))) for ops in ops_of_thread.values() for op in ops),
        calls=Counter((key(c), known(shortest(c["around"])), c["step"]) for c in calls),
        launches=dict(launches),
        activities=activities,
    )


def around(moment: float, ops: list[Row]) -> list[Row]:
    """The ops whose interval contains the moment: their end no longer belongs to it, their start does."""
    return [o for o in ops if o["ts"] <= moment and (moment < o["ts"] + o["dur"] or moment == o["ts"])]


def parent(op: Row, ops: list[Row]) -> Row | None:
    """The shortest interval around the op's start. Equal starts: the longer is outer, then the one written first."""
    earlier = (op["ts"], -op["dur"], op["position"])
    return shortest([o for o in around(op["ts"], ops) if (o["ts"], -o["dur"], o["position"]) < earlier])


def shortest(ops: list[Row]) -> Row | None:
    """The innermost of ops that all contain one moment."""
    return min(ops, key=lambda o: (o["dur"], -o["ts"], -o["position"]), default=None)


def step_of(moment: float, steps: list[Row]) -> int | None:
    """The number of the step that contains the moment, both ends included; of two, the later."""
    inside = [s for s in steps if s["ts"] <= moment <= s["ts"] + s["dur"]]
    return int(max(inside, key=lambda s: s["ts"])["name"].split("#")[1]) if inside else None


def key(row: Row) -> Key:
    """What an event is known by."""
    return row["name"], row["ts"], row["dur"]


def known(row: Row | None) -> Key | None:
    """The same, and nothing for no event."""
    return key(row) if row else None
