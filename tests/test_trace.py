"""build_traces.trace: real traces against literals and a second reader, tiny ones against sums done by hand."""

import functools
import gzip
import json
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import second_method

from build_traces import trace
from build_traces.errors import TraceError
from build_traces.trace import NONE, Activity, Call, Op, Trace

TRACES = Path(__file__).parent / "traces"
FILES = sorted(p.relative_to(TRACES).as_posix() for p in TRACES.rglob("*.json*"))
PROBE = [f for f in FILES if f.startswith("h200_probe/")]
Row = dict[str, Any]
every_file = pytest.mark.parametrize("file", FILES)


@functools.cache
def first(file: str) -> Trace:
    return trace.read(TRACES / file)


@functools.cache
def second(file: str) -> second_method.Reading:
    return second_method.read(TRACES / file)


def rows(raw: bytes) -> list[Row]:
    events: list[Row] = json.loads(raw)["traceEvents"]
    return events


def key(event: Op | Call | Activity) -> second_method.Key:
    return event.name, event.start_us, event.dur_us


def named(number: int) -> int | None:
    return None if number == NONE else number


# --- real traces: literals -------------------------------------------------------------------------------------

# kernel, gpu_memset, gpu_memcpy, cuda_runtime, cuda_driver, cpu_op, user_annotation (ProfilerSteps among them).
# Counted by the second method, and again with grep in the raw text for mlp_eager, alexnet, amd_mi250 and the cut.
COUNTS = {
    "alexnet.json.gz": (79, 3, 16, 361, 0, 359, 8),
    "amd_mi250.json.gz": (14, 0, 2, 21, 0, 70, 3),
    "backward_thread.json": (1, 0, 0, 1, 0, 3, 2),
    "cpu_only.json.gz": (0, 0, 0, 0, 0, 4, 11),
    "h200_probe/linear_compiled.json.gz": (3, 3, 0, 4, 3, 15, 9),
    "h200_probe/linear_eager.json.gz": (3, 3, 0, 4, 3, 21, 6),
    "h200_probe/linear_nobias.json.gz": (3, 3, 0, 4, 3, 27, 6),
    "h200_probe/matmul_add.json.gz": (6, 3, 0, 7, 3, 18, 6),
    "h200_probe/mlp_compiled.json.gz": (12, 6, 0, 7, 12, 24, 9),
    "h200_probe/mlp_cudagraph.json.gz": (16, 6, 0, 10, 0, 15, 9),
    "h200_probe/mlp_eager.json.gz": (15, 6, 0, 13, 9, 87, 6),
    "h200_probe/mlp_liger.json.gz": (12, 6, 0, 7, 12, 99, 6),
    "h200_probe/mlp_liger_compiled.json.gz": (12, 6, 0, 7, 12, 24, 9),
    "h200_probe/mlp_max_autotune.json.gz": (12, 6, 0, 7, 12, 24, 9),
    "ns_resolution_one_step.json.gz": (870, 29, 320, 2585, 0, 4782, 14),
    "triton_example.json.gz": (1, 0, 0, 1, 1, 3, 1),
}

STEPS = {
    "alexnet.json.gz": [],
    "amd_mi250.json.gz": [1, 2],
    "backward_thread.json": [552],
    "cpu_only.json.gz": [551],
    **{f: [3, 4, 5] for f in COUNTS if f.startswith("h200_probe/")},
    "ns_resolution_one_step.json.gz": [101],
    "triton_example.json.gz": [1],
}

GPUS = {
    "alexnet.json.gz": "NVIDIA A100-PG509-200",
    "amd_mi250.json.gz": "AMD Radeon Graphics",
    "backward_thread.json": "",
    "cpu_only.json.gz": "",
    **{f: "NVIDIA H200" for f in COUNTS if f.startswith("h200_probe/")},
    "ns_resolution_one_step.json.gz": "Tesla V100-SXM2-32GB",
    "triton_example.json.gz": "NVIDIA A100-PG509-200",
}

GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
GEMM_BIAS = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"
GEMM_DOWN = "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT"
GELU_MUL = "triton_poi_fused__unsafe_view_gelu_mul_0"
LIGER = "_geglu_tanh_forward_kernel"

_ADD = (
    "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> >"
    "(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1}"
)
ADD = f"void at::native::elementwise_kernel<128, 4, {_ADD}>(int, {_ADD})"
_GELU = (
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}"
    "::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul>"
)
GELU = f"void at::native::vectorized_elementwise_kernel<8, {_GELU} >(int, {_GELU})"
_MUL = (
    "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16,"
    " at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>"
)
MUL = f"void at::native::vectorized_elementwise_kernel<8, {_MUL} >(int, {_MUL})"
_LIST = "at::native::(anonymous namespace)::TensorListMetadata<2>"
_COPY = (
    "at::native::(anonymous namespace)::UnaryOpFunctor<c10::BFloat16, 2, 1, 1>,"
    " at::native::Copy<c10::BFloat16, c10::BFloat16>"
)
COPY = f"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<{_LIST}, {_COPY} >({_LIST}, {_COPY})"

# Kernels of one step by start time, and the names of the calls that started GPU work in it. A call that starts
# a memset is one of them: mlp_eager has 5 kernels and 2 memsets from 2 + 3 + 2 calls.
KERNELS = {
    "h200_probe/linear_compiled.json.gz": [GEMM_BIAS],
    "h200_probe/linear_eager.json.gz": [GEMM_BIAS],
    "h200_probe/linear_nobias.json.gz": [GEMM],
    "h200_probe/matmul_add.json.gz": [GEMM, ADD],
    "h200_probe/mlp_compiled.json.gz": [GEMM, GEMM, GELU_MUL, GEMM_DOWN],
    "h200_probe/mlp_cudagraph.json.gz": [COPY, GEMM, GEMM, GELU_MUL, GEMM_DOWN],
    "h200_probe/mlp_eager.json.gz": [GEMM, GELU, GEMM, MUL, GEMM_DOWN],
    "h200_probe/mlp_liger.json.gz": [GEMM, GEMM, LIGER, GEMM_DOWN],
    "h200_probe/mlp_liger_compiled.json.gz": [GEMM, GEMM, LIGER, GEMM_DOWN],
    "h200_probe/mlp_max_autotune.json.gz": [GEMM, GEMM, GELU_MUL, GEMM_DOWN],
}
MEMSETS = {f: 1 if f.startswith(("h200_probe/linear", "h200_probe/matmul")) else 2 for f in KERNELS}
OPS = {
    "h200_probe/linear_compiled.json.gz": ["aten::addmm"],
    "h200_probe/linear_eager.json.gz": ["aten::addmm"],
    "h200_probe/linear_nobias.json.gz": ["aten::mm"],
    "h200_probe/matmul_add.json.gz": ["aten::mm", "aten::add"],
    "h200_probe/mlp_compiled.json.gz": ["aten::mm", "aten::mm", GELU_MUL, "aten::mm"],
    "h200_probe/mlp_cudagraph.json.gz": ["aten::_foreach_copy_", *["Torch-Compiled Region: 1/2"] * 4],
    "h200_probe/mlp_eager.json.gz": ["aten::mm", "aten::gelu", "aten::mm", "aten::mul", "aten::mm"],
    "h200_probe/mlp_liger.json.gz": ["aten::mm", "aten::mm", "LigerGELUMulFunction", "aten::mm"],
    "h200_probe/mlp_liger_compiled.json.gz": ["aten::mm", "aten::mm", "_geglu_tanh_forward_kernel_0", "aten::mm"],
    "h200_probe/mlp_max_autotune.json.gz": ["aten::mm", "aten::mm", GELU_MUL, "aten::mm"],
}
LAUNCHES: dict[str, dict[int | None, dict[str, int]]] = {
    "alexnet.json.gz": {None: {"cudaMemcpyAsync": 16, "cudaLaunchKernel": 79, "cudaMemsetAsync": 3}},
    "amd_mi250.json.gz": {1: {"hipMemcpyWithStream": 2, "hipLaunchKernel": 12, "hipExtModuleLaunchKernel": 2}},
    "backward_thread.json": {552: {"cudaLaunchKernel": 1}},
    "cpu_only.json.gz": {},
    "ns_resolution_one_step.json.gz": {101: {"cudaLaunchKernel": 870, "cudaMemcpyAsync": 320, "cudaMemsetAsync": 29}},
    "triton_example.json.gz": {1: {"cuLaunchKernel": 1}},
}
for _file, _calls in {
    "linear_compiled": {"cudaMemsetAsync": 1, "cuLaunchKernelEx": 1},
    "linear_eager": {"cudaMemsetAsync": 1, "cuLaunchKernelEx": 1},
    "linear_nobias": {"cudaMemsetAsync": 1, "cuLaunchKernelEx": 1},
    "matmul_add": {"cudaMemsetAsync": 1, "cuLaunchKernelEx": 1, "cudaLaunchKernel": 1},
    "mlp_compiled": {"cudaMemsetAsync": 2, "cuLaunchKernelEx": 3, "cuLaunchKernel": 1},
    "mlp_cudagraph": {"cudaLaunchKernel": 1, "cudaGraphLaunch": 1},
    "mlp_eager": {"cudaMemsetAsync": 2, "cuLaunchKernelEx": 3, "cudaLaunchKernel": 2},
    "mlp_liger": {"cudaMemsetAsync": 2, "cuLaunchKernelEx": 4},
    "mlp_liger_compiled": {"cudaMemsetAsync": 2, "cuLaunchKernelEx": 4},
    "mlp_max_autotune": {"cudaMemsetAsync": 2, "cuLaunchKernelEx": 3, "cuLaunchKernel": 1},
}.items():
    LAUNCHES[f"h200_probe/{_file}.json.gz"] = dict.fromkeys((3, 4, 5), _calls)


def test_every_trace_file_has_its_expected_values() -> None:
    assert set(FILES) == set(COUNTS) == set(STEPS) == set(GPUS) == set(LAUNCHES)
    assert set(PROBE) == set(KERNELS) == set(OPS)


@every_file
def test_both_readers_find_the_number_of_events_written_here(file: str) -> None:
    assert tuple(second(file).counts[c] for c in second_method.CATEGORIES) == COUNTS[file]
    found = first(file)
    assert (
        len(found.kernels()),
        len(found.of_kind("memset")),
        len(found.of_kind("memcpy")),
        sum(call.api == "runtime" for call in found.calls),
        sum(call.api == "driver" for call in found.calls),
        sum(op.kind == "op" for op in found.ops),
        sum(op.kind == "annotation" for op in found.ops) + len(found.steps),
    ) == COUNTS[file]
    assert len(found.activities) == sum(COUNTS[file][:3])


@every_file
def test_both_readers_find_the_steps_written_here(file: str) -> None:
    assert second(file).steps == STEPS[file]
    assert [step.number for step in first(file).steps] == STEPS[file]


@every_file
def test_the_gpu_is_the_one_named_in_the_file(file: str) -> None:
    assert first(file).gpu == GPUS[file]


@every_file
def test_both_readers_find_the_launches_written_here(file: str) -> None:
    assert second(file).launches == LAUNCHES[file]
    found: dict[int | None, Counter[str]] = {}
    for call in first(file).launches():
        found.setdefault(named(call.step), Counter())[call.name] += 1
    assert found == LAUNCHES[file]
    for step, names in LAUNCHES[file].items():
        assert Counter(call.name for call in first(file).launches(NONE if step is None else step)) == names


@pytest.mark.parametrize("file", PROBE)
@pytest.mark.parametrize("step", [3, 4, 5])
def test_a_step_of_the_probe_has_the_kernels_written_here(file: str, step: int) -> None:
    kernels = first(file).kernels(step)
    assert second(file).names("kernel", step) == [k.name for k in kernels] == KERNELS[file]
    assert len(first(file).of_kind("memset", step)) == len(second(file).names("gpu_memset", step)) == MEMSETS[file]
    assert [named_op(first(file), k).name for k in kernels] == OPS[file]


def named_op(found: Trace, activity: Activity) -> Op:
    """The innermost op around the launch, annotations left out."""
    return next(op for op in found.ancestors(activity.op) if op.kind == "op")


def test_the_kernel_left_over_from_warmup_belongs_to_no_step_of_the_cuda_graph_trace() -> None:
    # The first kernel starts at …571083.425, before ProfilerStep#3; the cudaGraphLaunch 268745 is not in the file.
    stray = [k for k in first("h200_probe/mlp_cudagraph.json.gz").kernels() if k.step == NONE]
    assert [(k.name, k.correlation, k.call, k.op) for k in stray] == [(GEMM_DOWN, 268745, NONE, NONE)]


def test_the_last_kernel_of_an_eager_step_runs_in_the_next_step_and_still_belongs_to_its_own() -> None:
    # mlp_eager, in µs after …400000: step 3 is 18391.7–18672.2, its cuLaunchKernelEx 2011 is called at 18640.8,
    # the kernel runs 18704.0–18756.1, inside step 4 (18685.7–18963.2).
    found = first("h200_probe/mlp_eager.json.gz")
    last = found.kernels(3)[-1]
    assert last.correlation == 2011
    assert found.step(3).end_us < found.step(4).start_us < last.start_us < last.end_us < found.step(4).end_us


def test_a_real_kernel_row_is_read_field_by_field() -> None:
    # mlp_cudagraph.json.gz, correlation 268751, read off the raw text.
    found = first("h200_probe/mlp_cudagraph.json.gz")
    kernel = next(k for k in found.kernels() if k.correlation == 268751)
    assert (kernel.start_us, kernel.dur_us, kernel.device, kernel.stream) == (5233437571395.711, 16.16, 0, "7")
    assert (kernel.grid, kernel.block, kernel.registers, kernel.shared_memory_bytes) == ((96, 1, 1), (512, 1, 1), 30, 0)
    assert kernel.bytes is None
    memset = found.of_kind("memset")[0]
    assert (memset.start_us, memset.dur_us, memset.bytes, memset.grid) == (5233437571431.295, 0.8, 4, ())
    assert memset.registers is memset.shared_memory_bytes is None


# --- real traces: the second method, event by event ------------------------------------------------------------


@every_file
def test_each_op_has_the_parent_that_the_second_method_finds(file: str) -> None:
    ops = first(file).ops
    assert Counter((key(op), key(ops[op.parent]) if op.parent != NONE else None) for op in ops) == second(file).parents


@every_file
def test_each_call_has_the_op_and_the_step_that_the_second_method_finds(file: str) -> None:
    found = first(file)
    mine = Counter(
        (key(call), key(found.ops[call.op]) if call.op != NONE else None, named(call.step)) for call in found.calls
    )
    assert mine == second(file).calls


@every_file
def test_each_gpu_event_has_the_launch_op_and_step_that_the_second_method_finds(file: str) -> None:
    found = first(file)
    category = {kind: name for name, kind in trace.ACTIVITY_KINDS.items()}
    mine: Counter[Any] = Counter()
    for activity in found.activities:
        around = list(found.ancestors(activity.op))
        mine[
            category[activity.kind],
            key(activity),
            key(found.calls[activity.call]) if activity.call != NONE else None,
            next((key(op) for op in around), None),
            next((key(op) for op in around if op.kind == "op"), None),
            named(activity.step),
        ] += 1
    assert mine == second(file).activities


# alexnet and backward_thread number by another scheme: there the id is no op's.
@pytest.mark.parametrize("file", [f for f in FILES if f not in ("alexnet.json.gz", "backward_thread.json")])
def test_each_gpu_event_has_the_op_that_the_profiler_itself_gave_it_by_external_id(file: str) -> None:
    raw = rows(trace.load(TRACES / file))
    ops = {r["args"]["External id"]: r for r in raw if r.get("cat") == "cpu_op"}
    wanted: Counter[Any] = Counter()
    for row in raw:
        if row.get("cat") in trace.ACTIVITY_KINDS and "External id" in row["args"]:
            op = ops[row["args"]["External id"]]
            wanted[row["name"], row["ts"], op["name"], op["ts"]] += 1
    found = first(file)
    tied = [(a, named_op(found, a)) for a in found.activities if a.op != NONE]
    assert Counter((a.name, a.start_us, op.name, op.start_us) for a, op in tied) == wanted


@every_file
def test_lists_are_ordered_by_start_and_an_index_is_a_position(file: str) -> None:
    found = first(file)
    for events in (found.ops, found.calls, found.activities):
        assert [event.index for event in events] == list(range(len(events)))
        assert [event.start_us for event in events] == sorted(event.start_us for event in events)


@every_file
def test_what_a_call_starts_and_who_started_it_say_the_same(file: str) -> None:
    found = first(file)
    forth = {(call.index, started) for call in found.calls for started in call.starts}
    assert forth == {(a.call, a.index) for a in found.activities if a.call != NONE}
    for activity in found.activities:
        if activity.call != NONE:
            call = found.calls[activity.call]
            assert (activity.op, activity.step, activity.correlation) == (call.op, call.step, call.correlation)


@every_file
def test_depth_children_and_ancestors_follow_the_parents(file: str) -> None:
    found = first(file)
    for op in found.ops:
        assert op.depth == len(list(found.ancestors(op.index))) - 1
        assert op.parent < op.index
    for op in found.ops[:50]:
        assert [child.index for child in found.children(op)] == [o.index for o in found.ops if o.parent == op.index]


# --- tiny traces written by hand -------------------------------------------------------------------------------

MAIN, BACKWARD = 10, 20


def event(cat: str, name: str, ts: float, dur: float, tid: int | str = MAIN, pid: int = MAIN, **args: object) -> Row:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def step(number: int, ts: float, dur: float) -> Row:
    return event("user_annotation", f"ProfilerStep#{number}", ts, dur)


def op(name: str, ts: float, dur: float, tid: int = MAIN) -> Row:
    return event("cpu_op", name, ts, dur, tid)


def launch(correlation: int, ts: float, dur: float = 4, tid: int = MAIN, name: str = "cudaLaunchKernel") -> Row:
    return event("cuda_runtime", name, ts, dur, tid, correlation=correlation)


def kernel(name: str, correlation: int, ts: float, dur: float = 10, **args: object) -> Row:
    return event("kernel", name, ts, dur, 7, 0, correlation=correlation, stream=7, device=0, **args)


def parse(*events: Row, **top: object) -> Trace:
    return trace.parse(json.dumps({"traceEvents": events, **top}).encode(), "tiny.json")


def parent_names(found: Trace) -> dict[str, str | None]:
    return {o.name: found.ops[o.parent].name if o.parent != NONE else None for o in found.ops}


def test_a_kernel_whose_launch_is_not_in_the_file_has_no_step_and_no_op_whatever_ran_then() -> None:
    # Kernel 20–30 lies inside step 1 (0–100) and inside aten::mm (10–50); launch 6 is there, launch 5 is not.
    found = parse(step(1, 0, 100), op("aten::mm", 10, 40), launch(6, 15), kernel("stray", 5, 20), kernel("own", 6, 32))
    stray, own = found.activities
    assert (stray.name, stray.call, stray.op, stray.step) == ("stray", NONE, NONE, NONE)
    assert (own.name, own.call, own.op, own.step) == ("own", 0, 0, 1)
    assert [k.name for k in found.kernels(1)] == ["own"]
    assert [k.name for k in found.kernels()] == ["stray", "own"]
    assert found.calls[0].starts == (1,)


def test_a_kernel_without_a_correlation_id_is_not_tied_to_a_call_without_one() -> None:
    found = parse(step(1, 0, 100), event("cuda_runtime", "cudaMalloc", 5, 3), event("kernel", "k", 8, 4, 7, 0))
    assert (found.activities[0].call, found.activities[0].step, found.calls[0].starts) == (NONE, NONE, ())


def test_a_kernel_belongs_to_the_step_and_the_op_of_its_launch_not_of_its_own_time() -> None:
    # Launched at 90 in step 1 (0–100) by a (80–95); runs 130–140 in step 2 (100–200), beside b (120–150).
    found = parse(
        step(1, 0, 100), step(2, 100, 100), op("a", 80, 15), op("b", 120, 30), launch(1, 90), kernel("k", 1, 130)
    )
    assert (found.activities[0].step, found.ops[found.activities[0].op].name) == (1, "a")
    assert (found.kernels(2), found.launches(2)) == ([], [])


def test_one_graph_launch_starts_three_kernels() -> None:
    # One call at 20 inside "graph" (10–40); two kernels and a memset with its id, one more kernel launched alone.
    found = parse(
        step(1, 0, 100),
        op("graph", 10, 30),
        launch(1, 20, name="cudaGraphLaunch"),
        kernel("one", 1, 50),
        kernel("two", 1, 60),
        event("gpu_memset", "Memset (Device)", 70, 1, 7, 0, correlation=1, bytes=4),
        kernel("three", 1, 80),
        launch(2, 45),
        kernel("alone", 2, 95, 3),
    )
    graph, single = found.launches(1)
    assert (graph.name, graph.starts, single.starts) == ("cudaGraphLaunch", (0, 1, 2, 3), (4,))
    assert [found.activities[i].name for i in graph.starts] == ["one", "two", "Memset (Device)", "three"]
    assert {found.activities[i].op for i in graph.starts} == {0}
    assert found.activities[4].op == NONE
    assert [k.name for k in found.kernels(1)] == ["one", "two", "three", "alone"]


def test_a_call_that_starts_nothing_on_the_gpu_is_no_launch() -> None:
    found = parse(step(1, 0, 100), launch(1, 10, name="cudaDeviceSynchronize"), launch(2, 20), kernel("k", 2, 30))
    assert [call.name for call in found.calls] == ["cudaDeviceSynchronize", "cudaLaunchKernel"]
    assert [call.name for call in found.launches()] == ["cudaLaunchKernel"]


def test_steps_are_the_cpu_rows_though_the_gpu_has_fewer() -> None:
    # The GPU row of step 2 is missing (nothing ran), and the one of step 1 is longer and later than the CPU's.
    gpu = event("gpu_user_annotation", "ProfilerStep#1", 60, 500, 7, 0)
    found = parse(step(1, 0, 100), gpu, step(2, 100, 50), launch(1, 20), kernel("k", 1, 300))
    assert [(s.number, s.start_us, s.end_us) for s in found.steps] == [(1, 0, 100), (2, 100, 150)]
    assert (found.kernels(1)[0].name, found.kernels(2), found.ops) == ("k", [], ())
    assert found.step(2).dur_us == 50
    with pytest.raises(KeyError):
        found.step(3)


def test_a_moment_between_two_steps_belongs_to_none_and_a_shared_edge_to_the_later_step() -> None:
    # Steps 0–100, 100–200, gap, 250–300; both ends of a step are inside it.
    found = parse(
        step(1, 0, 100),
        step(2, 100, 100),
        step(3, 250, 50),
        *(launch(n, ts) for n, ts in enumerate((0, 100, 225, 250, 299, 300, 301))),
    )
    assert [call.step for call in found.calls] == [1, 2, NONE, 3, 3, 3, NONE]


def test_all_lists_are_ordered_by_time_though_the_file_is_not() -> None:
    found = parse(
        kernel("late", 1, 150),
        kernel("early", 2, 60),
        kernel("middle", 1, 140),
        launch(1, 120),
        launch(2, 20),
        op("b", 110, 40),
        op("a", 10, 40),
        step(12, 100, 100),
        step(11, 0, 100),
    )
    assert [s.number for s in found.steps] == [11, 12]
    assert [o.name for o in found.ops] == ["a", "b"]
    assert [(call.correlation, call.op, call.step, call.starts) for call in found.calls] == [
        (2, 0, 11, (0,)),
        (1, 1, 12, (1, 2)),
    ]
    assert [(k.name, k.call, k.op, k.step) for k in found.activities] == [
        ("early", 0, 0, 11),
        ("middle", 1, 1, 12),
        ("late", 1, 1, 12),
    ]


def test_a_launch_on_the_backward_thread_belongs_to_the_step_and_to_an_op_of_its_own_thread() -> None:
    # Step 1 is 0–100 on the main thread. At 62 the main thread is in "wait" (61–66, the shortest of all), the
    # backward thread in aten::mm (60–80) inside MmBackward0 (55–90). The launch at 62 is the backward thread's.
    found = parse(
        step(1, 0, 100),
        op("loss.backward", 50, 45),
        op("wait", 61, 5),
        op("MmBackward0", 55, 35, BACKWARD),
        op("aten::mm", 60, 20, BACKWARD),
        launch(1, 62, tid=BACKWARD),
        kernel("k", 1, 70),
    )
    assert found.activities[0].step == 1
    assert [o.name for o in found.ancestors(found.activities[0].op)] == ["aten::mm", "MmBackward0"]
    assert parent_names(found) == {
        "loss.backward": None,
        "MmBackward0": None,
        "aten::mm": "MmBackward0",
        "wait": "loss.backward",
    }
    threads = {o.name: o.thread for o in found.ops}
    assert threads["aten::mm"] == threads["MmBackward0"] == found.calls[0].thread != threads["wait"]


def test_the_same_thread_number_in_two_processes_is_two_threads() -> None:
    found = parse(event("cpu_op", "a", 0, 100, 5, 1), event("cpu_op", "b", 10, 10, 5, 2))
    assert parent_names(found) == {"a": None, "b": None}


def test_of_ops_that_start_together_the_longer_is_the_outer_one() -> None:
    # All start at 10; written innermost first: 10–15 in 10–20 in 10–40. The launch at 10 is in all three.
    found = parse(op("inner", 10, 5), op("middle", 10, 10), op("outer", 10, 30), launch(1, 10, 2), kernel("k", 1, 50))
    assert parent_names(found) == {"outer": None, "middle": "outer", "inner": "middle"}
    assert [(o.name, o.depth) for o in found.ops] == [("outer", 0), ("middle", 1), ("inner", 2)]
    assert found.ops[found.activities[0].op].name == "inner"


def test_of_ops_with_one_interval_the_first_written_is_the_outer_one() -> None:
    found = parse(op("aten::reshape", 10, 2), op("aten::view", 10, 2), op("next", 12, 2))
    assert parent_names(found) == {"aten::reshape": None, "aten::view": "aten::reshape", "next": None}


@pytest.mark.parametrize("dur", [2, 3])
def test_a_call_never_encloses_an_op_though_it_starts_with_it_and_is_written_first(dur: float) -> None:
    # Microseconds cut off: op and call both start at 10 and last 2 (or 3); only the op can be the outer one.
    found = parse(op("outer", 0, 50), launch(1, 10, dur), op("aten::mm", 10, 2), kernel("k", 1, 20))
    assert found.ops[found.activities[0].op].name == "aten::mm"


def test_an_op_that_ends_after_its_parent_by_rounding_is_still_inside_it() -> None:
    # child 15–20.25 starts in parent 10–20 and outlasts it by a quarter; grandchild 16–18; the launch at 19 is the
    # child's, the one at 21 nobody's, and "next" at 20.25 is a sibling.
    found = parse(
        op("parent", 10, 10),
        op("child", 15, 5.25),
        op("grandchild", 16, 2),
        launch(1, 19, 1),
        op("next", 20.25, 5),
        launch(2, 30, 1),
    )
    assert parent_names(found) == {"parent": None, "child": "parent", "grandchild": "child", "next": None}
    assert [found.ops[call.op].name if call.op != NONE else None for call in found.calls] == ["child", None]


def test_an_op_that_starts_when_another_ends_is_its_sibling() -> None:
    found = parse(op("outer", 0, 30), op("a", 5, 10), op("b", 15, 10), launch(1, 25, 2))
    assert parent_names(found) == {"outer": None, "a": "outer", "b": "outer"}
    assert found.ops[found.calls[0].op].name == "outer"


def test_an_annotation_encloses_ops_and_a_step_does_not() -> None:
    found = parse(step(1, 0, 100), event("user_annotation", "step", 5, 80), op("aten::mm", 10, 20), launch(1, 40))
    assert [(o.name, o.kind, o.parent, o.step) for o in found.ops] == [
        ("step", "annotation", NONE, 1),
        ("aten::mm", "op", 0, 1),
    ]
    assert found.ops[found.calls[0].op].name == "step"


@pytest.mark.parametrize("start", [0, 1666149715033200, 5233437571189.082])
def test_microseconds_as_integers_and_as_floats_with_nanoseconds_read_the_same(start: float) -> None:
    # Torch up to 2.3 wrote 1666149715033200 (µs since 1970), later ones 5233437571189.082 (µs since a base time).
    # Step 0–100, op 10–50, launch 20–24, kernel 60–70, all shifted by the start.
    found = parse(
        step(1, start, 100), op("aten::mm", start + 10, 40), launch(1, start + 20), kernel("k", 1, start + 60, 10)
    )
    (activity,) = found.activities
    assert (activity.step, activity.op, activity.call) == (1, 0, 0)
    assert (found.steps[0].start_us, activity.start_us, activity.dur_us) == (start, start + 60, 10)
    assert isinstance(activity.start_us, float)


def test_one_nanosecond_apart_stays_one_nanosecond_apart() -> None:
    found = parse(op("a", 5233437571189.082, 0.001), op("b", 5233437571189.083, 0.001))
    assert [(o.start_us, o.dur_us, o.parent) for o in found.ops] == [
        (5233437571189.082, 0.001, NONE),
        (5233437571189.083, 0.001, NONE),
    ]


def test_a_file_that_is_one_array_of_events_reads_like_an_object_that_holds_it() -> None:
    events = [step(1, 0, 100), op("aten::mm", 10, 40), launch(1, 20), kernel("k", 1, 60)]
    wrapped = parse(*events)
    for raw in (json.dumps(events), "\n  " + json.dumps(events, indent=2)):
        found = trace.parse(raw.encode(), "tiny.json")
        assert (found.gpu, found.steps) == ("", wrapped.steps)
        assert (found.calls, found.activities) == (wrapped.calls, wrapped.activities)
        assert [(o.name, o.parent) for o in found.ops] == [("aten::mm", NONE)]


def test_only_complete_events_with_a_duration_of_the_known_categories_are_read() -> None:
    flow = {"ph": "s", "id": 1, "pid": MAIN, "tid": MAIN, "ts": 1, "cat": "ac2g", "name": "ac2g"}
    unfinished = {"ph": "X", "cat": "cpu_op", "name": "unfinished", "pid": MAIN, "tid": MAIN, "ts": 5}
    instant = {"ph": "i", "s": "g", "pid": "", "tid": "", "ts": 1, "name": "Record Window End"}
    begin = {**op("begin", 3, 4), "ph": "B"}
    named_step = {**step(9, 0, 50), "cat": "cpu_op"}
    found = parse(
        flow,
        unfinished,
        instant,
        begin,
        {"ph": "M", "name": "process_name", "pid": MAIN, "tid": 0, "args": {"name": "python3"}},
        event("python_function", "torch/nn.py(1): forward", 1, 5),
        event("Trace", "PyTorch Profiler (0)", 0, 99, "PyTorch Profiler"),
        event("gpu_user_annotation", "step", 1, 5),
        event("cuda_sync", "Stream Sync", 1, 5, 7, 0),
        named_step,
        op("aten::mm", 10, 4),
    )
    assert [o.name for o in found.ops] == ["aten::mm"]
    assert (found.steps, found.calls, found.activities) == ((), (), ())


def test_runtime_and_driver_calls_are_told_apart_and_both_start_kernels() -> None:
    driver = event("cuda_driver", "cuLaunchKernelEx", 20, 4, correlation=2)
    found = parse(op("aten::mm", 0, 50), launch(1, 10), driver, kernel("a", 1, 60), kernel("b", 2, 70))
    assert [(call.api, call.name, call.starts) for call in found.calls] == [
        ("runtime", "cudaLaunchKernel", (0,)),
        ("driver", "cuLaunchKernelEx", (1,)),
    ]


def test_a_gpu_event_is_read_field_by_field_from_old_and_new_spellings() -> None:
    new: Row = {"registers per thread": 168, "shared memory": 221420, "grid": [2, 66, 1], "block": [384, 1, 1]}
    old: Row = {"grid": "[2, 66, 1]", "block": "[384, 1, 1]", "stream": "7", "device": "1", "correlation": "0x2a"}
    found = parse(
        launch(42, 0),
        kernel("new", 1, 10, 2.5) | {"args": {"correlation": 1, "stream": 7, "device": 0, **new}},
        event("kernel", "old", 20, 2, "stream 7", 1) | {"args": old},
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 30, 1, 21, 0, bytes="4096", stream=21, device=3),
        event("kernel", "bare", 40, 1, "stream 9", 0),
        event("kernel", "default stream", 50, 1, 9, 0, stream=0),
    )
    a, b, c, d, e = found.activities
    assert (a.grid, a.block, a.registers, a.shared_memory_bytes) == ((2, 66, 1), (384, 1, 1), 168, 221420)
    assert (a.stream, a.device, a.correlation, a.bytes, a.end_us) == ("7", 0, 1, None, 12.5)
    assert (b.grid, b.block, b.stream, b.device, b.correlation, b.call) == ((2, 66, 1), (384, 1, 1), "7", 1, 42, 0)
    assert (c.kind, c.bytes, c.stream, c.device) == ("memcpy", 4096, "21", 3)
    assert (d.stream, d.device, d.correlation, d.grid, d.block) == ("stream 9", 0, NONE, (), ())
    assert (d.registers, d.shared_memory_bytes, d.bytes) == (None, None, None)
    assert e.stream == "0"


def test_the_shapes_of_an_op_are_kept_as_json() -> None:
    shapes = [[3072], [8192, 768], [], [[64, 128]]]
    found = parse(op("aten::addmm", 0, 5) | {"args": {"Input Dims": shapes}}, op("aten::t", 1, 2))
    assert json.loads(bytes(found.ops[0].input_dims)) == shapes
    assert json.loads(bytes(found.ops[1].input_dims)) == []


def test_the_gpu_is_the_first_device_of_the_file_and_empty_without_one() -> None:
    assert (
        parse(op("a", 0, 1), deviceProperties=[{"id": 0, "name": "NVIDIA H200"}, {"name": "other"}]).gpu
        == "NVIDIA H200"
    )
    assert parse(op("a", 0, 1), deviceProperties=[]).gpu == parse(op("a", 0, 1)).gpu == ""


def test_unknown_keys_are_no_reason_to_refuse_a_trace() -> None:
    odd = {**op("aten::mm", 0, 5), "sf": 3, "tts": "x"}
    odd["args"] = {"Concrete Inputs": ["", "[2, 3]"], "new": {"deep": [None, True, 1.5]}}
    found = parse(odd, {}, deviceProperties=[{"id": 0}], with_stack=1, extra=[{"a": None}])
    assert [o.name for o in found.ops] == ["aten::mm"]


# --- names ------------------------------------------------------------------------------------------------------

# What stands between the quotes in the file, and the name it is.
NAMES_OF_VALID_JSON = [
    (rb"line\nbreak", "line\nbreak"),
    (rb"caf\u00e9", "café"),
    (rb"ends in a backslash \\", "ends in a backslash \\"),
    (rb"backslash, quote \\\" and on", 'backslash, quote \\" and on'),
    (rb"two \\\\", "two \\\\"),
    (rb"backslash, letter \\q \\'", r"backslash, letter \q \'"),
    (rb"\\n is no line break", "\\n is no line break"),
    (rb"\\u00e9 is no letter", "\\u00e9 is no letter"),
    (rb"\/ \b \f \r \t \"", '/ \b \f \r \t "'),
    (rb"pair \ud83d\ude00", "pair 😀"),
    ("ü 核 😀".encode(), "ü 核 😀"),
]
NAMES_OF_OLD_VERSIONS = [
    (b"line\nbreak", "line\nbreak"),
    (b"tab\there", "tab\there"),
    *((b"control %c." % n, f"control {chr(n)}.") for n in range(0x20)),
    (rb"torch\cuda\__init__.py(219): _lazy_init", r"torch\cuda\__init__.py(219): _lazy_init"),
    (rb"C:\Users\me", r"C:\Users\me"),
    (rb"\ space \1 \x41 \' \-", r"\ space \1 \x41 \' \-"),
    (rb"short \u12 \uzzzz \u", r"short \u12 \uzzzz \u"),
    (rb"three \\\q", r"three \\q"),
    (b"backslash before a line break \\\nhere", "backslash before a line break \\\nhere"),
    (b'quoted \\"\n\\"', 'quoted "\n"'),
]


def with_names(names: list[bytes]) -> bytes:
    event = b'{"ph": "X", "cat": "cpu_op", "name": "%s",\r\n\t"pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": {}}'
    return b'{"traceEvents": [\n%s\n]}' % b",\n".join(event % (name, 10 * n) for n, name in enumerate(names))


def names_in(raw: bytes) -> list[str]:
    return [o.name for o in trace.parse(raw, "tiny.json").ops]


def test_escapes_in_names_are_read_as_json_says() -> None:
    raw = with_names([text for text, _ in NAMES_OF_VALID_JSON])
    assert names_in(raw) == [name for _, name in NAMES_OF_VALID_JSON] == [r["name"] for r in rows(raw)]


@pytest.mark.parametrize(("text", "name"), NAMES_OF_OLD_VERSIONS)
def test_control_characters_and_bare_backslashes_of_old_versions_stay_in_the_name(text: bytes, name: str) -> None:
    raw = with_names([text])
    with pytest.raises(json.JSONDecodeError):
        json.loads(raw)
    assert names_in(raw) == [name]


def test_mending_one_name_leaves_the_valid_escapes_of_the_others_alone() -> None:
    both = [*NAMES_OF_VALID_JSON, *NAMES_OF_OLD_VERSIONS, *NAMES_OF_VALID_JSON]
    assert names_in(with_names([text for text, _ in both])) == [name for _, name in both]


def test_text_that_needs_no_mending_comes_back_byte_for_byte() -> None:
    for file in FILES:
        raw = trace.load(TRACES / file)
        assert trace.repair(raw) == raw, file
    raw = with_names([text for text, _ in NAMES_OF_VALID_JSON])
    assert trace.repair(raw) == raw


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"latin \xe9.", "latin \ufffd."),
        (b"cut short \xe6\xa0", "cut short \ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"before \xff after \\u00e9 \\\\", "before \ufffd after é \\"),
    ],
)
def test_bytes_that_are_not_utf8_are_replaced_and_the_rest_of_the_name_stays(text: bytes, name: str) -> None:
    assert names_in(with_names([b"good", text, "gü".encode()])) == ["good", name, "gü"]


@pytest.mark.parametrize(
    "args",
    [b'{"x": "\xff"}', b'{"\xff": 1}', b'{"stream": "\xff"}', b'{"Input Dims": ["\xff"]}', b'{"correlation": "\xff"}'],
)
@pytest.mark.parametrize("cat", [b"cpu_op", b"cuda_runtime", b"kernel"])
def test_bytes_that_are_not_utf8_in_the_arguments_do_not_lose_the_event(cat: bytes, args: bytes) -> None:
    event = b'{"ph": "X", "cat": "%s", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": %s}' % (cat, args)
    found = trace.parse(b'{"traceEvents": [%s]}' % event, "tiny.json")
    named = [o.name for o in found.ops] + [c.name for c in found.calls] + [a.name for a in found.activities]
    assert named == ["a"]


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "{{ mlp_eager.kernel_count }} {% raw %} ${x} $(x) `x`",
    "void f<A<B>, (C)1>(D const&) [clone .kd] | a | b | *c* _d_",
    "/// claim\n///",
    "'; DROP TABLE ops; --",
    "../../etc/passwd",
    "\u202egnp.exe \u200b\u2028\u2029",
    "\x00\x1b[31mred\x7f",
    "__proto__",
    "ProfilerStep#",
    "ProfilerStep#1x",
    " ProfilerStep#1",
    "ProfilerStep#-1",
    "ProfilerStep#1\n",
    "",
    "x" * 100_000,
]


def test_names_that_are_hostile_text_come_back_verbatim() -> None:
    found = parse(
        *(event("user_annotation", name, 100 * n, 50) for n, name in enumerate(HOSTILE)),
        *(launch(n, 100 * n + 10, name=name) for n, name in enumerate(HOSTILE)),
        *(kernel(name, n, 100 * n + 20) for n, name in enumerate(HOSTILE)),
        deviceProperties=[{"name": HOSTILE[0]}],
    )
    assert found.steps == ()
    assert found.gpu == HOSTILE[0]
    for events in (found.ops, found.calls, found.activities):
        assert [e.name for e in events] == HOSTILE


# --- errors -----------------------------------------------------------------------------------------------------

GOOD = json.dumps(
    {"traceEvents": [step(1, 0, 100), op("aten::mm", 10, 40), launch(1, 20), kernel("k", 1, 60)]}
).encode()
PACKED = gzip.compress(GOOD, mtime=0)


def flipped(raw: bytes, at: int, bits: int = 0xFF) -> bytes:
    return raw[:at] + bytes([raw[at] ^ bits]) + raw[at + 1 :]


# What is in the file, and what the message must say is wrong.
DAMAGED = {
    "gzip cut short": (PACKED[:-20], "gzip .*cut short"),
    "gzip cut in its header": (PACKED[:5], "gzip .*cut short"),
    "gzip with damaged data": (flipped(PACKED, len(PACKED) // 2), "gzip .*damaged"),
    "gzip with a wrong checksum": (flipped(PACKED, len(PACKED) - 6), "gzip .*damaged"),
    "gzip of no method": (flipped(PACKED, 2), "gzip .*damaged"),
    "gzip of text": (gzip.compress(b"hello", mtime=0), "not valid JSON"),
    "text": (b"hello, this is a log file\n", "not valid JSON"),
    "html": (b"<!doctype html><title>404</title>", "not valid JSON"),
    "JSON without traceEvents": (b'{"schemaVersion": 1, "deviceProperties": []}', "not a profiler trace.*traceEvents"),
    "JSON of something else": (b'"traceEvents"', "not a profiler trace"),
    "a number": (b"3", "not a profiler trace"),
    "an array of numbers": (b"[1, 2]", "not a profiler trace"),
    "traceEvents that is no list": (b'{"traceEvents": {"ph": "X"}}', "not a profiler trace.*traceEvents"),
    "JSON cut in the middle": (GOOD[: len(GOOD) // 2], "not valid JSON"),
    "JSON cut in a name": (GOOD[: GOOD.index(b"aten::mm") + 4], "not valid JSON"),
    "JSON cut before its last brace": (GOOD[:-1], "not valid JSON"),
    "JSON with something behind it": (GOOD + b"}", "not valid JSON"),
    "no events": (b'{"traceEvents": []}', "no events"),
    "an empty array": (b"[]", "no events"),
    "a ts that is text": (GOOD.replace(b'"ts": 20', b'"ts": "soon"'), r"not a profiler trace.*traceEvents\[2\]\.ts"),
    "a ts that is a list": (GOOD.replace(b'"ts": 20', b'"ts": [20]'), r"not a profiler trace.*traceEvents\[2\]\.ts"),
    "a ts that is no number": (GOOD.replace(b'"ts": 20', b'"ts": "nan"'), "ts"),
    "a ts without end": (GOOD.replace(b'"ts": 20', b'"ts": "inf"'), "ts"),
    "a dur that is text": (
        GOOD.replace(b'"dur": 40', b'"dur": "long"'),
        r"not a profiler trace.*traceEvents\[1\]\.dur",
    ),
    "a name that is a number": (GOOD.replace(b'"aten::mm"', b"7"), r"not a profiler trace.*traceEvents\[1\]\.name"),
    "a correlation that is a list": (GOOD.replace(b'"correlation": 1', b'"correlation": [1]'), "correlation"),
    "arguments that are a list": (GOOD.replace(b'"args": {}', b'"args": []'), "arguments of event 'aten::mm'"),
    "an empty file": (b"", "empty|not valid JSON"),
    "white space": (b" \n\n", "empty|not valid JSON"),
}


def assert_helpful(error: TraceError, file: Path, wrong: str) -> None:
    """The message names the file, what is wrong, and what to do."""
    what, _, do = str(error).partition("\n  next: ")
    assert what.startswith(f"{file}: ")
    assert re.search(wrong, what.removeprefix(str(file)), re.DOTALL), what
    assert len(do.split()) > 2, f"{str(error)!r} does not say what to do"


@pytest.mark.parametrize("case", DAMAGED)
def test_a_file_that_is_no_whole_trace_is_refused_with_its_name_the_fault_and_the_next_step(
    case: str, tmp_path: Path
) -> None:
    raw, wrong = DAMAGED[case]
    assert raw != GOOD
    file = tmp_path / "given.json"
    file.write_bytes(raw)
    with pytest.raises(TraceError) as caught:
        trace.read(file)
    assert_helpful(caught.value, file, wrong)


def test_a_missing_file_is_refused_with_its_name_the_fault_and_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        trace.read(tmp_path / "missing.json.gz")
    assert_helpful(caught.value, tmp_path / "missing.json.gz", "No such file")


def test_a_directory_is_refused_with_its_name_the_fault_and_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        trace.read(tmp_path)
    assert_helpful(caught.value, tmp_path, "directory")


def test_gzip_is_told_by_content_and_not_by_the_name_of_the_file(tmp_path: Path) -> None:
    for name, raw in (
        ("packed.json", PACKED),
        ("plain.json.gz", GOOD),
        ("two.gz", gzip.compress(GOOD[:9]) + gzip.compress(GOOD[9:])),
    ):
        (tmp_path / name).write_bytes(raw)
        found = trace.read(tmp_path / name)
        assert (found.source, [k.name for k in found.kernels(1)]) == (str(tmp_path / name), ["k"])


def deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


HOSTILE_FILES = {
    "arguments nested too deep": GOOD.replace(b'"args": {}', b'"args": {"x": %s}' % deep(100_000)),
    "shapes nested too deep": GOOD.replace(b'"args": {}', b'"args": {"Input Dims": %s}' % deep(5_000)),
    "a top level nested too deep": b'{"x": %s, "traceEvents": []}' % deep(100_000),
    "an array nested too deep": deep(100_000),
    "a step number of 5000 digits": GOOD.replace(b"ProfilerStep#1", b"ProfilerStep#" + b"1" * 5000),
    "a grid of 5000 digits": GOOD.replace(b'"stream": 7', b'"stream": 7, "grid": "[%s]"' % (b"1" * 5000)),
    "a correlation of 5000 digits": GOOD.replace(b'"correlation": 1', b'"correlation": "%s"' % (b"1" * 5000)),
    "half a surrogate pair": with_names([rb"\ud800"]),
    "bytes before the JSON": b"\xef\xbb\xbf" + GOOD,
    "two bytes a letter": GOOD.decode().encode("utf-16"),
    "a ts beyond all floats": GOOD.replace(b'"ts": 20', b'"ts": 1e999'),
    "a ts of 400 digits": GOOD.replace(b'"ts": 20', b'"ts": 1' + b"0" * 400),
    "a negative duration": GOOD.replace(b'"dur": 40', b'"dur": -40'),
    "inf without quotes": GOOD.replace(b'"stream": 7', b'"stream": inf'),
    "null arguments": GOOD.replace(b'"args": {}', b'"args": null'),
    "null events": b'{"traceEvents": [null]}',
    "null devices": GOOD.replace(b'{"traceEvents"', b'{"deviceProperties": null, "traceEvents"'),
}


@pytest.mark.parametrize("case", HOSTILE_FILES)
def test_a_hostile_file_is_read_or_refused_and_nothing_else(case: str) -> None:
    raw = HOSTILE_FILES[case]
    assert raw != GOOD
    outcome(raw)


def test_a_name_full_of_escaped_quotes_in_a_cut_file_is_refused_at_once() -> None:
    # 30 kB. Searching the end of a string from each quote anew takes some 5 s.
    started = time.monotonic()
    with pytest.raises(TraceError):
        trace.parse(b'{"traceEvents": [{"name": "' + b'\\"' * 15_000, "cut.json")
    assert time.monotonic() - started < 1


def outcome(raw: bytes) -> str:
    try:
        found = trace.parse(raw, "given.json")
    except TraceError as error:
        assert str(error).startswith("given.json: ")
        return "refused"
    assert isinstance(found, Trace)
    return "read"


@pytest.mark.parametrize("file", ["triton_example.json.gz", "h200_probe/linear_eager.json.gz"])
def test_a_trace_cut_anywhere_is_refused(file: str) -> None:
    raw = trace.load(TRACES / file).rstrip()
    chosen = random.Random(1).sample(range(len(raw)), 200)
    assert Counter(outcome(raw[:at]) for at in chosen) == {"refused": 200}


@pytest.mark.parametrize("file", ["triton_example.json.gz", "h200_probe/linear_eager.json.gz"])
def test_a_trace_with_one_wrong_byte_is_read_or_refused_and_nothing_else(file: str) -> None:
    raw = trace.load(TRACES / file)
    chance = random.Random(2)
    seen = Counter(outcome(flipped(raw, chance.randrange(len(raw)), chance.randrange(1, 256))) for _ in range(200))
    assert seen["read"] > 20
    assert seen["refused"] > 20


def test_a_gzip_with_one_wrong_byte_or_cut_anywhere_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    packed = (TRACES / "triton_example.json.gz").read_bytes()
    chance = random.Random(3)
    seen: Counter[str] = Counter()
    for n in range(400):
        at = chance.randrange(2, len(packed))
        raw = packed[:at] if n % 2 else flipped(packed, at, chance.randrange(1, 256))
        (tmp_path / "given.json.gz").write_bytes(raw)
        try:
            trace.read(tmp_path / "given.json.gz")
            seen["read"] += 1
        except TraceError as error:
            assert str(error).startswith(f"{tmp_path / 'given.json.gz'}: ")
            seen["refused"] += 1
    # Only a byte of the header that says nothing about the data (time, system, name) may be wrong unnoticed.
    assert seen["refused"] > 380


# --- scrub ------------------------------------------------------------------------------------------------------

SCRUBBED = [*PROBE, "amd_mi250.json.gz"]
every_scrubbed = pytest.mark.parametrize("file", SCRUBBED)
CPU_CATEGORIES = {"cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"}


def before_and_after(file: str) -> tuple[bytes, bytes]:
    raw = trace.load(TRACES / file)
    return raw, trace.scrub(raw)


def comparable(found: Trace) -> tuple[object, ...]:
    return (
        found.gpu,
        found.steps,
        [
            (o.index, o.parent, o.depth, o.kind, o.thread, o.step, key(o), json.loads(bytes(o.input_dims)))
            for o in found.ops
        ],
        found.calls,
        found.activities,
    )


@every_scrubbed
def test_a_scrubbed_trace_reads_the_same(file: str) -> None:
    raw, scrubbed = before_and_after(file)
    assert comparable(trace.parse(scrubbed, file)) == comparable(trace.parse(raw, file))


@every_scrubbed
def test_a_scrubbed_trace_has_no_private_key(file: str) -> None:
    raw, scrubbed = before_and_after(file)
    private = {"host_name", "traceName", "trace_id", "username", "INFO", "distributedInfo"}
    assert private & set(json.loads(raw))
    assert not private & set(json.loads(scrubbed))


def test_scrubbing_removes_each_private_key_and_keeps_the_others() -> None:
    top = {"host_name": "h", "traceName": "/t", "trace_id": "i", "username": "u", "INFO": ["x"], "distributedInfo": {}}
    kept = {"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA H200"}], "cuda_driver_version": 13000}
    scrubbed = json.loads(trace.scrub(json.dumps({**top, **kept, "traceEvents": [op("a", 0, 1)]}).encode()))
    assert set(scrubbed) == {*kept, "traceEvents"}
    assert {k: scrubbed[k] for k in kept} == kept


@every_scrubbed
def test_a_scrubbed_trace_has_no_path_of_the_machine(file: str) -> None:
    # Inductor's events name the generated file: "kernel_file": "/tmp/torchinductor_USER/…".
    raw, scrubbed = before_and_after(file)
    path = re.compile(rb'"[^"]*(?:/tmp/|/home/|/root/|torchinductor_|\./logs/)[^"]*"')
    assert path.findall(raw)
    assert path.findall(scrubbed) == []


@every_scrubbed
def test_a_scrubbed_trace_has_no_process_or_thread_id_of_the_machine(file: str) -> None:
    raw, scrubbed = before_and_after(file)
    ids = {r[k] for r in rows(raw) if r.get("cat") in CPU_CATEGORIES for k in ("pid", "tid")}
    assert ids
    assert min(ids) > 15, "an id must be told apart from a GPU number, or this test proves nothing"
    after = rows(scrubbed)
    assert not ids & {r[k] for r in after for k in ("pid", "tid")}
    # Metadata rows name the thread: "thread 420 (python3)", and sort by its number.
    words = {word for r in after if r["ph"] == "M" for word in re.findall(r"\w+", json.dumps(r["args"]))}
    assert not {str(i) for i in ids} & words


@every_scrubbed
def test_scrubbing_leaves_each_gpu_row_as_it_is(file: str) -> None:
    raw, scrubbed = before_and_after(file)
    gpu = {*trace.ACTIVITY_KINDS, "gpu_user_annotation"}
    before, after = rows(raw), rows(scrubbed)
    assert len(before) == len(after)
    kept = [(b, a) for b, a in zip(before, after, strict=True) if b.get("cat") in gpu]
    assert kept
    assert all(b == a for b, a in kept)
    labels = [(b, a) for b, a in zip(before, after, strict=True) if b["ph"] == "M" and b["pid"] in range(16)]
    assert labels
    assert all(b == a for b, a in labels)


@every_scrubbed
def test_flow_arrows_of_a_scrubbed_trace_start_where_their_call_is(file: str) -> None:
    _, scrubbed = before_and_after(file)
    after = rows(scrubbed)
    calls = {r["args"]["correlation"]: r for r in after if r.get("cat") in ("cuda_runtime", "cuda_driver")}
    gpu = {(r["args"]["correlation"], r["ts"]): r for r in after if r.get("cat") in trace.ACTIVITY_KINDS}
    arrows = [r for r in after if r.get("cat") == "ac2g"]
    starts = [r for r in arrows if r["ph"] == "s" and r["id"] in calls]
    ends = [r for r in arrows if r["ph"] == "f"]
    assert starts
    assert ends
    for row in starts:
        call = calls[row["id"]]
        assert (row["pid"], row["tid"], row["ts"]) == (call["pid"], call["tid"], call["ts"])
    for row in ends:
        at = gpu.get((row["id"], row["ts"])) or calls[row["id"]]
        assert (row["pid"], row["tid"]) == (at["pid"], at["tid"])


def test_scrubbing_keeps_threads_apart_and_processes_apart() -> None:
    # Process 700 with threads 700 and 701, process 800 with a thread 701 of its own, the GPU's stream 7.
    rows_in = [
        event("cpu_op", "a", 0, 1, 700, 700),
        event("cpu_op", "b", 0, 1, 701, 700),
        event("cpu_op", "c", 0, 1, 701, 800),
        event("cuda_runtime", "d", 0, 1, 701, 700, correlation=1),
        kernel("k", 1, 5),
    ]
    a, b, c, d, k = rows(trace.scrub(json.dumps({"traceEvents": rows_in}).encode()))
    assert len({(r["pid"], r["tid"]) for r in (a, b, c, d)}) == 3
    assert (b["pid"], b["tid"]) == (d["pid"], d["tid"])
    assert a["pid"] == b["pid"] != c["pid"]
    assert k == rows_in[-1]


def test_scrubbing_process_1_of_a_container_leaves_the_rows_of_gpu_1_alone() -> None:
    # A trace uses the GPU's number as process id: here 1 is both the python process and GPU 1.
    rows_in = [
        event("cpu_op", "aten::mm", 0, 50, 1, 1),
        event("cuda_runtime", "cudaLaunchKernel", 10, 4, 1, 1, correlation=5),
        event("kernel", "k", 60, 10, 7, 1, correlation=5, device=1, stream=7),
        {"ph": "f", "id": 5, "pid": 1, "tid": 7, "ts": 60, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    ]
    op_row, call_row, kernel_row, arrow = rows(trace.scrub(json.dumps({"traceEvents": rows_in}).encode()))
    assert kernel_row == rows_in[2]
    assert arrow == rows_in[3]
    assert op_row["pid"] == call_row["pid"] != 1
