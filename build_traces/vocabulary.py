"""The vocabulary of facts: what may be asked of a recording, and how each value is derived.

Three tables and the small functions they name; `facts` resolves paths against them, and the
reference page of the site is generated from them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from build_traces.errors import FactError
from build_traces.kernel_fields import kernel_field
from build_traces.query import MB, Query, Raw
from build_traces.recording import Recording, Spread, middle_nine_tenths, short_commit, spread
from build_traces.stage_view import StageView


@dataclass(frozen=True)
class Definition:
    """An entry of the vocabulary.

    `key` describes the key the fact takes: "" none, "[x]" optional, "x" required. `by_step` says whether
    it can be asked of one profiled step.
    """

    unit: str
    about: str
    derive: Callable[[Query], Raw]
    key: str = ""
    by_step: bool = False


def _tflops(q: Query) -> Spread:
    _refuse_cold(q)
    return _inverse(q.view.record.flops / 1e6, _time(q))


def _inverse(work: float, time: Spread) -> Spread:
    return Spread(work / time.median, work / time.high, work / time.low)


def _refuse_cold(q: Query) -> None:
    if q.view.stage.cold:
        raise FactError(f"stage {q.view.stage.name} is cold: its time is the CPU's, which no rate can be made of")


def _time(q: Query) -> Spread:
    return q.view.time_us()


def _ceiling_share(q: Query) -> float:
    return 100 * _tflops(q).median * 1e12 / q.view.recording.environment.ceilings.best_gemm_flops_per_s


def _back_to_back(q: Query) -> Spread:
    times = [p.back_to_back_us for p in q.view.record.processes if p.back_to_back_us is not None]
    if not times:
        raise FactError(f"stage {q.view.stage.name} is cold: its steps are not run back to back")
    return spread(times)


def _hbm(q: Query, field: str) -> float:
    return float(sum(getattr(kernel, f"{field}_bytes") for kernel in q.view.hbm())) / MB


def _profiled_steps(q: Query) -> int:
    return len(q.view.steps(None))


def _speedup(q: Query) -> float:
    _refuse_cold(q)
    return q.view.against.time_us().median / _time(q).median


def _pays_off_after(q: Query) -> float:
    """Calls after the first until its cost, beyond what the other stage's first call costs, has come back."""
    _refuse_cold(q)
    saved_us = q.view.against.time_us().median - _time(q).median
    if saved_us <= 0:
        raise FactError(f"stage {q.view.stage.name} is not faster than {q.view.stage.against}: it never pays off")
    return max(0.0, (_first_call(q.view).median - _first_call(q.view.against).median) * 1000 / saved_us)


def _first_call(view: StageView) -> Spread:
    return view.over_processes(lambda p: p.first_call_ms)


def _intensity(q: Query) -> float:
    return q.view.record.flops / ((_hbm(q, "read") + _hbm(q, "write")) * MB)


def _within(q: Query) -> Spread:
    """The middle nine tenths of each process's timed steps, as a length."""
    _refuse_cold(q)
    return q.view.over_processes(lambda p: middle_nine_tenths(p.time_us)[1] - middle_nine_tenths(p.time_us)[0])


OCCUPANCY_QUERY = re.compile(r"(cuda|cu|hip)Occupancy")

STAGE_FACTS: dict[str, Definition] = {
    "kernel_count": Definition(
        "",
        "Kernels a step; with a key, those whose name contains it.",
        lambda q: q.view.work_count("kernel", q.key, q.step),
        key="[text]",
        by_step=True,
    ),
    "memset_count": Definition("", "Memsets a step.", lambda q: q.view.work_count("memset", "", q.step), by_step=True),
    "memcpy_count": Definition("", "Memcpys a step.", lambda q: q.view.work_count("memcpy", "", q.step), by_step=True),
    "kernel_position": Definition(
        "",
        "Where in a step, from 1, the first kernel runs whose name contains the text.",
        lambda q: q.view.kernel_position(q.key, q.step),
        key="text",
        by_step=True,
    ),
    "launch_count": Definition(
        "",
        "Launches a step: runtime and driver calls that start GPU work; with a key, those of that name.",
        lambda q: q.view.launch_count(q.key, q.step),
        key="[call]",
        by_step=True,
    ),
    "call_count": Definition(
        "",
        "Runtime and driver calls of that name a step, whether they start GPU work or not.",
        lambda q: q.view.call_count(q.key.__eq__, "call_count", q.step),
        key="call",
        by_step=True,
    ),
    "occupancy_queries": Definition(
        "",
        "Calls a step that ask how many blocks fit on a multiprocessor (cudaOccupancy…).",
        lambda q: q.view.call_count(lambda n: bool(OCCUPANCY_QUERY.match(n)), "occupancy_queries", q.step),
        by_step=True,
    ),
    "op_count": Definition(
        "",
        "Ops a step on the CPU; with a key, those of that name.",
        lambda q: q.view.op_count(q.key, q.step),
        key="[op]",
        by_step=True,
    ),
    "launched_under": Definition(
        "",
        "Kernels, memsets and memcpys a step launched inside an op of that name, at any depth.",
        lambda q: q.view.launched_under(q.key, q.step),
        key="op",
        by_step=True,
    ),
    "unlaunched_kernels": Definition(
        "", "Kernels in the whole trace whose launch is not in it.", lambda q: q.view.unlaunched_kernels
    ),
    "time_us": Definition(
        "µs",
        "GPU time of one step by CUDA events, without a profiler, from a cold L2, launched ahead of the GPU: "
        "the median step of each process. Of a cold stage, the first step by the wall clock.",
        _time,
    ),
    "gpu_us": Definition(
        "µs",
        "Summed time of a step's kernels, memsets and memcpys in the trace.",
        lambda q: q.view.work_us(("kernel", "memset", "memcpy"), q.step),
        by_step=True,
    ),
    "kernel_us": Definition(
        "µs",
        "Summed time of a step's kernels in the trace.",
        lambda q: q.view.work_us(("kernel",), q.step),
        by_step=True,
    ),
    "memset_us": Definition(
        "µs",
        "Summed time of a step's memsets in the trace.",
        lambda q: q.view.work_us(("memset",), q.step),
        by_step=True,
    ),
    "gpu_start_us": Definition(
        "µs",
        "From the begin of the stage's label on the CPU to that of the first GPU work of the same step, "
        "in the step that pictures show.",
        lambda q: q.view.gpu_start_us(q.step),
        by_step=True,
    ),
    "gpu_idle_us": Definition(
        "µs",
        "Between the first and the last GPU work of a step, the time in which none ran, "
        "in the step that pictures show.",
        lambda q: q.view.gpu_idle_us(q.step),
        by_step=True,
    ),
    "call_us": Definition(
        "µs",
        "Summed time of the runtime and driver calls of that name, in the step that pictures show.",
        lambda q: q.view.call_us(q.key, q.step),
        key="call",
        by_step=True,
    ),
    "op_us": Definition(
        "µs",
        "Summed time of the ops of that name, what they contain included, in the step that pictures show.",
        lambda q: q.view.op_us(q.key, q.step),
        key="op",
        by_step=True,
    ),
    "table_self_cuda_us": Definition(
        "µs",
        "Sum of the `Self CUDA` column over the rows of the profiler's table, all profiled steps together; "
        "with a key, over the rows of that name.",
        lambda q: q.view.profiler_table.self_cuda_us(q.key),
        key="[row]",
    ),
    "table_rows": Definition(
        "",
        "Rows of the profiler's table; with a key, those whose name, as printed, contains it.",
        lambda q: sum(q.key in name for name, _ in q.view.profiler_table.rows),
        key="[text]",
    ),
    "table_total_cuda_us": Definition(
        "µs",
        "The total that the profiler writes under its table.",
        lambda q: q.view.profiler_table.total_us,
    ),
    "cpu_us": Definition(
        "µs",
        "How long the CPU is in the forward of a profiled step: the length of the stage's label.",
        lambda q: q.view.profiled_us(lambda p: p.cpu_us, q.step),
        by_step=True,
    ),
    "step_us": Definition(
        "µs",
        "Length of a profiled step (ProfilerStep#n), the wait for the GPU included.",
        lambda q: q.view.profiled_us(lambda p: p.step_us, q.step),
        by_step=True,
    ),
    "back_to_back_us": Definition(
        "µs",
        "Wall-clock time of a step when steps follow each other without a pause, without a profiler.",
        _back_to_back,
    ),
    "first_call_ms": Definition(
        "ms",
        "Wall-clock time of the first forward of a fresh process, compiling included, imports not.",
        lambda q: _first_call(q.view),
    ),
    "pays_off_after": Definition(
        "forwards",
        "Forwards after which the stage's longer first call has come back, against the stage it is set against.",
        _pays_off_after,
    ),
    "within_us": Definition(
        "µs",
        "How far apart the timed steps of one process lie: the length of their middle nine tenths.",
        _within,
    ),
    "speedup": Definition(
        "×",
        "Time of the stage it is set against in ladder.toml, divided by its own.",
        _speedup,
    ),
    "tflops": Definition("TFLOP/s", "The GEMMs' operations divided by `time_us`.", _tflops),
    "gflop": Definition("GFLOP", "Operations of the stage's GEMMs.", lambda q: q.view.record.flops / 1e9),
    "intensity": Definition(
        "FLOP/B",
        "The GEMMs' operations for each HBM byte read or written.",
        _intensity,
    ),
    "ceiling_share": Definition(
        "%",
        "`tflops` as a share of the faster of the two measured GEMM ceilings.",
        _ceiling_share,
    ),
    "hbm_mb": Definition(
        "MB",
        "HBM bytes read and written by a step's kernels, by hardware counters, from a cold L2.",
        lambda q: _hbm(q, "read") + _hbm(q, "write"),
    ),
    "hbm_read_mb": Definition("MB", "HBM bytes read by a step's kernels.", lambda q: _hbm(q, "read")),
    "hbm_write_mb": Definition(
        "MB",
        "HBM bytes written while a step's kernels ran: a write counts when it leaves the L2.",
        lambda q: _hbm(q, "write"),
    ),
    "peak_mb": Definition(
        "MB",
        "Most GPU memory allocated at once during a step, weights and input included.",
        lambda q: q.view.over_processes(lambda p: p.peak_bytes / MB),
    ),
    "error": Definition(
        "",
        "Relative error of the output: ‖out − ref‖ / ‖ref‖ against the same block in float64.",
        lambda q: q.view.over_processes(lambda p: p.error),
    ),
    "processes": Definition("", "Fresh processes measured.", lambda q: len(q.view.record.processes)),
    "samples": Definition("", "Timed steps in one process.", lambda q: len(q.view.published.time_us)),
    "profiled_steps": Definition("", "Steps in the trace.", _profiled_steps),
    "draws": Definition(
        "",
        "Ways in which the processes launched the step's work (names, grids, blocks): 1 if all agree.",
        lambda q: q.view.draws,
    ),
    "kernel": Definition(
        "",
        "The nth kernel of a step, from 1 in the order they run; the fields are listed below.",
        kernel_field,
        key="n.field",
        by_step=True,
    ),
}


@dataclass(frozen=True)
class RecordingDefinition:
    """An entry of the vocabulary of `recording.`."""

    unit: str
    about: str
    derive: Callable[[Recording], Raw]


def _tera(values: tuple[float, ...]) -> Spread:
    return spread([v / 1e12 for v in values])


def _liger_origin(recording: Recording) -> str:
    packages = recording.environment.kernel_packages
    return "; ".join(f"{p.repo} ({p.kind}: {p.detail})" for p in packages)


RECORDING_FACTS: dict[str, RecordingDefinition] = {
    "name": RecordingDefinition("", "The recording's folder.", lambda r: r.name),
    "gpu": RecordingDefinition("", "The GPU.", lambda r: r.environment.gpu),
    "driver": RecordingDefinition("", "The NVIDIA driver.", lambda r: r.environment.driver),
    "cuda": RecordingDefinition("", "The CUDA version torch was built for.", lambda r: r.environment.cuda),
    "torch": RecordingDefinition("", "The torch version.", lambda r: r.environment.torch),
    "triton": RecordingDefinition("", "The triton version.", lambda r: r.environment.triton),
    "kernels": RecordingDefinition("", "The version of the kernels library.", lambda r: r.environment.kernels),
    "liger_kernel": RecordingDefinition("", "The liger-kernel version.", lambda r: r.environment.liger_kernel),
    "python": RecordingDefinition("", "The Python version.", lambda r: r.environment.python),
    "ncu": RecordingDefinition("", "The Nsight Compute version.", lambda r: r.environment.ncu),
    "date": RecordingDefinition("", "The day it was recorded.", lambda r: r.environment.date),
    "commit": RecordingDefinition("", "The commit it was recorded from.", lambda r: short_commit(r.environment.commit)),
    "kernel_packages": RecordingDefinition("", "Where each kernel package came from.", _liger_origin),
    "sm_count": RecordingDefinition("", "Streaming multiprocessors of the GPU.", lambda r: r.environment.sm_count),
    "l2_mb": RecordingDefinition("MB", "L2 cache of the GPU.", lambda r: r.environment.l2_bytes / MB),
    "hbm_gb": RecordingDefinition("GB", "HBM of the GPU.", lambda r: r.environment.hbm_bytes / 1e9),
    "copy_tb_per_s": RecordingDefinition(
        "TB/s",
        "Measured copy bandwidth, bytes read plus written.",
        lambda r: _tera(r.environment.ceilings.copy_bytes_per_s),
    ),
    "gemm_tflops": RecordingDefinition(
        "TFLOP/s",
        "Measured bf16 GEMM rate at 8192³, one launch at a time from a cold L2.",
        lambda r: _tera(r.environment.ceilings.gemm_flops_per_s),
    ),
    "gemm_back_to_back_tflops": RecordingDefinition(
        "TFLOP/s",
        "The same GEMM launched without pauses.",
        lambda r: _tera(r.environment.ceilings.gemm_back_to_back_flops_per_s),
    ),
}
