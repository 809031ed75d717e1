"""Write the test vectors: what the Python reader says of each input, for every other reader to say too.

    PYTHONPATH=. python tests/vectors/make.py

The inputs are listed here; the answers are computed, and a change of one is seen in the diff. tests/test_vectors.py
runs them in Python; README.md says what stands in a file.
"""

import base64
import gzip
import json
import random
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

from build_traces import difference, expressions, imported, inspection, kernel_names  # noqa: E402
from build_traces.errors import BuildTracesError, FactError  # noqa: E402
from build_traces.facts import CALL_FIELDS, RECORDING_FACTS, STAGE_FACTS, SWEEP_FACTS, Fact, Facts  # noqa: E402
from build_traces.kernel_fields import KERNEL_FIELDS  # noqa: E402
from build_traces.markdown.value import shown  # noqa: E402
from build_traces.work_kinds import work_kind  # noqa: E402

H200 = "docs/recordings/nvidia-h200_torch-2.11.0"
STAGES = ("linear_small_cold", "mlp_eager")
SWEEPS = ("batch_static",)
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
    return made | {
        "export": export_vector(),
        "difference": difference_vector(),
        "shown": shown_vector(),
        "expressions": expressions_vector(),
        "names": names_vector(),
    }


def difference_vector() -> Any:
    """Two traces, with work that is gone, new, changed and the same, and one of a name in two shapes."""
    first = trace(
        step(1, 0, 100),
        *(launch(n, n, 1) for n in range(1, 7)),
        kernel("same", 1, 10, 5),
        kernel("gone", 2, 20, 5),
        kernel("more", 3, 30, 5),
        kernel("shape", 4, 40, 5),
        kernel("two", 5, 50, 5),
        kernel("two", 6, 60, 5, block=(64, 1, 1)),
    )
    second = trace(
        step(1, 0, 100),
        *(launch(n, n, 1) for n in range(1, 8)),
        kernel("same", 1, 10, 7),
        kernel("more", 2, 20, 5),
        kernel("more", 3, 30, 5),
        kernel("shape", 4, 40, 5, block=(256, 1, 1)),
        kernel("two", 5, 50, 5, block=(64, 1, 1)),
        kernel("two", 6, 60, 5),
        kernel("new", 7, 70, 5),
    )
    traces = [first, second]
    changes = differences(traces)
    return {"about": "What is gone, new, changed and the same.", "traces": traces, "changes": changes}


def differences(traces: list[Any]) -> Any:
    """Name, change and count on both sides, as `diff` tells them."""
    with tempfile.TemporaryDirectory() as folder:
        read = []
        for n, one in enumerate(traces):
            path = Path(folder) / f"{n}.json"
            path.write_text(json.dumps(one), encoding="utf-8")
            read.append(inspection.inspect(path))
    (found,) = difference.between(read[0], read[1], "a", "b").steps
    return [[w.name, w.change, w.a and w.a.count, w.b and w.b.count] for w in found.work]


SPECS = ("", ".0f", ".1f", ".2f", ",.0f", ",.2f", ".5f", ".12f", ".3e", ".3g", "g", "+.1f", " .2f", "08.2f", ">9.1f",
         "*^11,.1f", "%", ".1%", "_.1f", "z.1f", "#.3g", "n", "e", "012,.1f", ".0e", ".0%", "E", "<8")  # fmt: skip
INT_SPECS = ("", "d", ",", "05d", "x", "#b", "_d", ",d", "+d", ".1f", ",.2f", "e", "%", ">6", "=+8d", "#X", "o", ".2d")
TEXT_SPECS = ("", "s", ">9", "*^9", ".2", "<9.3", "d", ",", "09")
FLOATS = (0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 0.125, 0.375, 1e-7, 1.2e-5, 0.00012345, 0.0001, 0.00009995, 9.995, 99.95,
          999.5, 1000.5, 1234.5, 1235.0, 123456.789, 1e15, 1e16, 1e21, 1.5e300, 5e-324, 36.9, 100.0, 3.0,
          1 / 3, 2 / 3, 56.649999999999999, 0.045, 1e22, 123456789012345680.0)  # fmt: skip


def shown_vector() -> Any:
    """Values with formats, as pages write them."""
    chance = random.Random(7)
    floats = [*FLOATS, *(chance.uniform(-1, 1) * 10 ** chance.randint(-9, 12) for _ in range(20))]
    values = [[*typed(value), spec] for value in floats for spec in SPECS]
    values += [[*typed(value), spec] for value in (0, 5, -7, 999, 1000, 1234567, 10**18) for spec in INT_SPECS]
    values += [[*typed(value), spec] for value in ("", "NVIDIA H200", "256 × 128", "𝒦𝒦𝒦") for spec in TEXT_SPECS]
    return {"about": "Values as pages write them.", "values": values, "shown": [written(*value) for value in values]}


def typed(value: Any) -> list[Any]:
    """Its type beside it: JSON does not tell 5 from 5.0 everywhere."""
    return [type(value).__name__, value if isinstance(value, str | float | bool) else str(value)]


def untyped(kind: str, value: Any) -> Any:
    """The value back."""
    return int(value) if kind == "int" else float(value) if kind == "float" else value


def written(kind: str, value: Any, spec: str) -> str | None:
    """None where the format does not fit."""
    try:
        return shown(untyped(kind, value), spec)
    except BuildTracesError:
        return None


KNOWN = {"a.five": 5, "a.two": 2, "a.half": 0.5, "a.us": 36.9, "a.name": "nvjet_sm90", "a.zero": 0, "a.big": 10**20}
EXPRESSIONS = (
    "{a.five}", "2 * {a.five}", "{a.five} / {a.two}", "{a.five} // {a.two}", "-{a.five} // {a.two}", "{a.five} % 3",
    "-{a.five} % 3", "{a.us} % {a.half}", "-{a.us} % 7", "-{a.us} // 7", "{a.five} ** {a.two}", "2 ** -1", "-2 ** 2",
    "2 ** 3 ** 2", "{a.us} ** 0.5", "100 * ({a.us} - {a.half}) / {a.us}", "{a.five} == 5", "{a.five} == 5.0",
    "{a.five} != {a.two}", "1 < {a.two} < {a.five}", "1 < {a.five} < 3", "{a.five} == 5 and {a.two} == 2",
    "{a.five} == 4 or {a.two} == 2", "not {a.zero}", "not not {a.five}", "not {a.five} == 5", "'nvjet' in {a.name}",
    "'sm80' not in {a.name}", "{a.name} in ('x', 'nvjet_sm90')", "{a.five} in (1, 5.0)", "{a.name} == 'nvjet_sm90'",
    "{a.name} == 5", "{a.name} < 'z'", "{a.name} < 5", "{a.five} / {a.zero}", "{a.five} // 0", "{a.five} % 0",
    "0 ** -1",
    "{a.zero} and {a.five}", "{a.zero} or {a.name}", "{a.five} if {a.zero} else {a.two}", "1 if 1 else 2 if 0 else 3",
    "round({a.us})", "round({a.half})", "round(1.5)", "round(2.5)", "round({a.us}, 0)", "round(2.675, 2)",
    "round({a.five}, 1)", "round(1234, -2)", "round(1250, -2)", "round(-7 / 2)", "min(1, {a.half}, 3)", "max((1, 2))",
    "max(1, 1.0)", "abs(-{a.us})", "abs({a.name})", "min()", "round('x')", "1e3", "1_000", ".5 + 5.", "1 + 2.0",
    "{a.name} + '!'", "{a.name} % 2", "{a.big} + 1", "{a.big} / 3", "{a.big} * {a.big} ** 30",
    "9 ** 9 ** 9", "{a.none}", "{a.none} if 0 else 1", "1 +", "(1", "{", "{}", "a.five", "five", "sum(1)", "1 2",
    "lambda: 1", "[1]", "(1, 2)", "1 is 1", "~1", "1 << 2", "{a.five}.real", "True", "False or 2", "None", "1j",
    "1e999",
    "not", "1 not 2", "{a.five} not in (1,)", "()", "+{a.half}", "- - 5", "1 if 2", "{a.five} and", "'{a.five}'",
)  # fmt: skip


def expressions_vector() -> Any:
    """Expressions over a few facts, and what they come to."""
    facts = {path: typed(value) for path, value in KNOWN.items()}
    return {
        "about": "Expressions over facts.",
        "known": facts,
        "expressions": list(EXPRESSIONS),
        "come_to": [comes_to(one) for one in EXPRESSIONS],
    }


class Known:
    """Facts that are in a table."""

    def get(self, path: str) -> Fact:
        if path not in KNOWN:
            raise FactError(f"there is no {path}")
        return Fact(path, KNOWN[path], "", None, "")


def comes_to(expression: str) -> Any:
    """Type and value; None where it is refused."""
    try:
        return typed(expressions.evaluate(expression, Known()).value)  # type: ignore[arg-type]
    except BuildTracesError:
        return None


def names_vector() -> Any:
    """Names of kernels, and what is told of them."""
    names = {family.example for family in kernel_names.FAMILIES.values()}
    for path in sorted((ROOT / "tests" / "traces").rglob("*.json.gz")):
        events = json.loads(gzip.decompress(path.read_bytes()), strict=False)["traceEvents"]
        names |= {event["name"] for event in events if event.get("cat") == "kernel"}
    names |= set(HOSTILE_NAMES)
    listed = sorted(names, key=lambda name: name.encode("utf-8", "surrogatepass"))
    return {"about": "Names of kernels.", "names": listed, "decoded": [decoded(name) for name in listed]}


HOSTILE_NAMES = (
    "", "(", "x" * 500, "\x1b[2J\u202e{{ x }}</script>\x00", "𝒦" * 80, "a<" * 200, "constructor", "__proto__",
    "at::native::constructor<1>", "at::native::reduce_kernel<512, 1, at::native::toString>", "cublasLt::toString<a>",
    "triton_poi_fused_constructor_0", "triton_per_fused_add_mul_3", "triton_per_fused_mul_add_3", "triton_red_fused_",
    "triton_per_fused_add_mul_\u0663", "cutlass::Kernel<>", "cutlass::Kernel", "cutlass::Kernel<a<b>, c>(d)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, at::native::MulFunctor",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", "nvjet_hss_1_2_3", "Cijk_Ailk_Bljk_SB_MT64x64x16__",
    "void f<a, (b, c), {d}>(int)", "f<a]", "\ud800", "sm80_xmma_gemm_a_b_c_d_e_f_g_h_i_j_k_l_m_n_o_p",
)  # fmt: skip


def decoded(name: str) -> list[str]:
    """Family, short name, summary, and the kind of work that it is drawn as."""
    found = kernel_names.decode(name)
    return [found.family, found.short, found.summary, work_kind("kernel", name)]


def export_vector() -> Any:
    """An export of two stages, with facts of every kind."""
    from build_traces import export, ladder, recording

    rungs = ladder.load(ROOT / "snippets")
    found = recording.open_recording(ROOT / H200)
    whole = export.export(found, rungs)
    kept = tuple(stage for stage in whole.stages if stage.rung.name in STAGES)
    raw = export.encode(
        msgspec.structs.replace(
            whole,
            stages=kept,
            left_out={"mlp_compiled": "missing: not recorded yet"},
            sweeps=tuple(smaller(one) for one in whole.sweeps or () if one.name in SWEEPS),
        )
    )
    back, ladder_of = imported.parse(raw)
    facts = Facts(back, ladder_of)
    return {"about": f"Two stages of {found.name}.", "export": json.loads(raw), "facts": answers(facts)}


def smaller(sweep: Any) -> Any:
    """A sweep with the first calls of two processes, and few samples of each."""
    replace = msgspec.structs.replace
    return replace(
        sweep,
        processes=tuple(
            replace(p, calls=tuple(replace(call, gpu_us=call.gpu_us[:5]) for call in p.calls[:4]))
            for p in sweep.processes[:2]
        ),
    )


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
    for name in facts.ladder.sweep_names:
        paths += [f"{name}.{fact}" for fact, definition in SWEEP_FACTS.items() if not definition.key]
        calls = [*facts.sweep(name).calls, "nothing"]
        paths += [f"{name}.call.{call}.{field}" for call in calls for field in (*CALL_FIELDS, "none")]
        paths += [f"{name}.call.{calls[0]}.first_ms.{part}" for part in ("low", "high")]
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
        text = in_lines(vector) if LISTED & vector.keys() else json.dumps(vector, indent=1, ensure_ascii=True)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


LISTED = {"values", "expressions", "names"}


def in_lines(vector: dict[str, Any]) -> str:
    """Long lists of small things, one a line."""
    entries = [
        f'"{key}": [\n' + ",\n".join(f"  {json.dumps(one)}" for one in value) + "\n ]"
        if isinstance(value, list)
        else f'"{key}": {json.dumps(value)}'
        for key, value in vector.items()
    ]
    return "{\n " + ",\n ".join(entries) + "\n}"


if __name__ == "__main__":
    write()
