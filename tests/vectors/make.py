"""Write the test vectors: what the Python reader says of each input, for every other reader to say too.

    PYTHONPATH=. python tests/vectors/make.py

The inputs are listed here; the answers are computed, and a change of one is seen in the diff. tests/test_vectors.py
runs them in Python; README.md says what stands in a file.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from small_traces import (  # noqa: E402
    TWO_STEPS,
    call,
    event,
    gpu,
    kernel,
    label,
    launch,
    memcpy,
    op,
    step,
    trace,
)

from build_traces import imported, inspection  # noqa: E402
from build_traces.errors import BuildTracesError  # noqa: E402
from build_traces.facts import RECORDING_FACTS, STAGE_FACTS, Facts  # noqa: E402
from build_traces.kernel_fields import KERNEL_FIELDS  # noqa: E402

H200 = "docs/recordings/nvidia-h200_torch-2.11.0"
STAGES = ("linear_small_cold", "mlp_eager")
"""Of the recording, what the export among the vectors holds."""

SAYS: dict[str, tuple[str, Any]] = {
    "two-steps": ("Two steps with a kernel left from before, a blocking memcpy and a silent op.", trace(*TWO_STEPS)),
    "no-steps": (
        "No ProfilerStep: the whole file is one step.",
        trace(op("aten::mm", 10, 20), launch(1, 12, 3), kernel("A", 1, 40, 10), kernel("W", 9, 5, 1)),
    ),
    "two-gpus": (
        "Two GPUs, and work on two streams at once, which is busy once.",
        trace(
            step(1, 0, 100),
            launch(1, 0, 1),
            launch(2, 1, 1),
            launch(3, 2, 1),
            kernel("A", 1, 10, 50),
            kernel("B", 2, 20, 60, stream=8),
            kernel("A", 3, 10, 20, 1),
            deviceProperties=[{"id": 0, "name": "X", "numSms": 7}, {"id": 1, "name": "Y", "totalGlobalMem": 10**9}],
        ),
    ),
    "overlapping-steps": (
        "A step ends where the next one begins.",
        trace(step(1, 0, 100), step(2, 60, 100), launch(1, 70, 1), kernel("A", 1, 10, 20)),
    ),
    "equal-starts": (
        "Of events that start together, a call is inside and the longer op outside; else the first written is.",
        trace(
            launch(1, 0, 5),
            op("inner", 0, 10),
            op("outer", 0, 20),
            op("first", 30, 5),
            op("second", 30, 5),
            launch(2, 30, 1),
            kernel("A", 1, 6, 1),
            kernel("B", 2, 40, 1),
        ),
    ),
    "one-id-twice": (
        "Two calls with one correlation id: the later one is the launch.",
        trace(step(1, 0, 50), launch(1, 0, 1), launch(1, 5, 1), kernel("A", 1, 10, 1), kernel("B", 1, 12, 1)),
    ),
    "negative-durations": (
        "An event that ends before it begins takes no time.",
        trace(step(1, 0, 50), op("aten::mm", 1, -2), launch(1, 1, 1), kernel("A", 1, 5, -3), kernel("B", 2, 10, 5)),
    ),
    "graph": (
        "One launch starts three kernels; a gap between them was queued.",
        trace(
            step(1, 0, 50),
            label("replay", 0, 9),
            call("cudaGraphLaunch", 1, 1, 2),
            kernel("A", 1, 5, 1),
            kernel("A", 1, 7, 1),
            gpu("gpu_memset", "Memset (Device)", 1, 9, 1),
        ),
    ),
    "outside": (
        "Work launched in no step, and an op whose thread has a label only.",
        trace(
            step(1, 10, 10),
            launch(1, 0, 1),
            kernel("A", 1, 12, 2),
            label("loader", 11, 5, 2),
            launch(2, 12, 1, 2),
            memcpy("Memcpy HtoD (Pinned -> Device)", 2, 15, 2, bytes=8),
        ),
    ),
    "hostile-names": (
        "Names are text, whatever is in them.",
        trace(
            step(1, 0, 50),
            op("<img src=x onerror=alert(1)>", 0, 9),
            launch(1, 1, 1),
            kernel("\x1b[2J\u202e{{ x }}</script>\x00", 1, 5, 9),
            launch(2, 20, 1),
            kernel("x" * 500, 2, 25, 2),
            event("python_function", "__proto__", 3, 1),
            {"ph": "X", "cat": "kernel", "name": "no time", "ts": 1},
            {"ph": "M", "name": "process_name"},
            {"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "ts": 1},
        ),
    ),
    "array": ("A file that is one array of events.", [step(1, 0, 9), launch(1, 0, 1), kernel("A", 1, 2, 3)]),
    "empty": ("Events, but none that is read.", trace({"ph": "M", "name": "x"})),
}
FILES = {
    "alexnet": "tests/traces/alexnet.json.gz",
    "amd-mi250": "tests/traces/amd_mi250.json.gz",
    "backward-thread": "tests/traces/backward_thread.json",
    "cpu-only": "tests/traces/cpu_only.json.gz",
    "triton-example": "tests/traces/triton_example.json.gz",
    "cuda-graph": "tests/traces/h200_probe/mlp_cudagraph.json.gz",
    "mlp-eager": "tests/traces/h200_probe/mlp_eager.json.gz",
}
REFUSED: dict[str, tuple[str, bytes]] = {
    "no-json": ("Text.", b"hello"),
    "cut-json": ("JSON that was cut short.", json.dumps(trace(*TWO_STEPS)).encode()[:500]),
    "cut-gzip": ("gzip that was cut short.", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"),
    "utf-16": ("Two bytes a letter.", json.dumps(trace(*TWO_STEPS)).encode("utf-16")),
    "no-events": ("No event at all.", b'{"traceEvents": []}'),
    "no-trace": ("JSON of something else.", b'{"schemaVersion": 1}'),
    "nan": ("A time that is not a number.", json.dumps(trace(kernel("a", 1, 0, 1) | {"ts": "nan"})).encode()),
    "beyond-all-clocks": ("A time of 10^18 µs.", json.dumps(trace(kernel("a", 1, 1e18, 1))).encode()),
    "deep": ("Nested too deep.", b"[" * 5_000 + b"]" * 5_000),
}  # fmt: skip


def says(path: Path) -> Any:
    """What `inspect --json` prints of a file, without its name."""
    said = json.loads(json.dumps(msgspec.to_builtins(inspection.inspect(path))))
    del said["about"]["source"]
    return said


def vectors() -> dict[str, Any]:
    """Every vector by the name of its file."""
    made: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        for name, (about, given) in SAYS.items():
            path.write_text(json.dumps(given), encoding="utf-8")
            made[name] = {"about": about, "trace": given, "says": says(path)}
        for name, file in FILES.items():
            made[name] = {"about": f"The real trace {file}.", "file": file, "says": says(ROOT / file)}
        for name, (about, raw) in REFUSED.items():
            path.write_bytes(raw)
            try:
                inspection.inspect(path)
            except BuildTracesError as error:
                sentence = error.message
            made[f"refused-{name}"] = {"about": about, "bytes": base64.b64encode(raw).decode(), "refused": sentence}
    return made | {"export": export_vector()}


def export_vector() -> Any:
    """An export of two stages, with facts of every kind."""
    from build_traces import export, ladder, recording

    rungs = ladder.load(ROOT / "snippets")
    found = recording.open_recording(ROOT / H200)
    whole = export.export(found, rungs)
    kept = tuple(stage for stage in whole.stages if stage.rung.name in STAGES)
    raw = export.encode(
        msgspec.structs.replace(whole, stages=kept, left_out={"mlp_compiled": "missing: not recorded yet"})
    )
    back, ladder_of = imported.parse(raw)
    facts = Facts(back, ladder_of)
    return {"about": f"Two stages of {found.name}.", "export": json.loads(raw), "facts": answers(facts)}


KEYS = {
    "": [""],
    "[text]": ["", "nvjet"],
    "text": ["nvjet"],
    "[call]": ["", "cudaLaunchKernel"],
    "call": ["cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemsetAsync"],
    "[op]": ["", "aten::mm", "aten::linear"],
    "op": ["aten::mm", "aten::linear"],
    "[row]": ["", "aten::mm"],
    "n.field": [f"{n}.{field}" for n in (1, 2, 5) for field in KERNEL_FIELDS],
}


def answers(facts: Facts) -> dict[str, Any]:
    """By path: the value, the extremes where it has some, and the unit; or that there is no answer."""
    paths = [f"recording.{name}" for name in RECORDING_FACTS]
    for stage in STAGES:
        for name, definition in STAGE_FACTS.items():
            for at in ("", "step1.", "step3.") if definition.by_step else ("",):
                paths += [f"{stage}.{at}{name}" + (f".{key}" if key else "") for key in KEYS[definition.key]]
    return {path: answer(facts, path) for path in paths}


def answer(facts: Facts, path: str) -> Any:
    """One of them."""
    try:
        fact = facts.get(path)
    except BuildTracesError:
        return {"refused": True}
    spread = {"low": fact.spread.low, "high": fact.spread.high} if fact.spread else {}
    return {"value": fact.value, **spread, "unit": fact.unit}


def write() -> None:
    """All files anew; one that is no vector any more goes."""
    made = vectors()
    for path in HERE.glob("*.json"):
        if path.stem not in made:
            path.unlink()
    for name, vector in made.items():
        (HERE / f"{name}.json").write_text(json.dumps(vector, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
