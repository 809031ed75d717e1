"""The vocabulary, fact by fact, on the small repository of conftest.py; each value worked out by hand.

Counts are the trace's. In every one of the three steps of h200_probe/mlp_eager.json.gz, as
`jq '[.traceEvents[] | select(.cat == "kernel")] | length'` and its likes say (15, 6 and 21 for three steps):
5 kernels (3 nvjet, 2 elementwise), 2 memsets, 0 memcpys; 7 launches: cudaMemsetAsync 2,
cuLaunchKernelEx 3, cudaLaunchKernel 2; 29 ops. Times are conftest's `process`.
"""

from collections.abc import Callable

import msgspec
import pytest

from build_traces.errors import BuildTracesError, FactError, RecordingError
from build_traces.facts import KERNEL_FIELDS, RECORDING_FACTS, STAGE_FACTS, Fact
from build_traces.kernel_names import decode
from build_traces.recording import KernelBytes, Spread

NAME = "nvidia-h200_torch-2.11.0"
STAMP = "NVIDIA H200 · torch 2.11.0+cu130 · 2026-12-01 · commit 0123456789"

NVJET = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"

OF_MLP_EAGER: dict[str, object] = {
    "kernel_count": 5,
    "kernel_count.nvjet": 3,
    "kernel_count.elementwise": 2,
    "kernel_count.triton": 0,
    "kernel_position.nvjet": 1,  # gate GEMM, GELU, up GEMM, mul, down GEMM
    "kernel_position.GeluCUDAKernelImpl": 2,
    "kernel_position.192x128": 5,
    "memset_count": 2,
    "memcpy_count": 0,
    "launch_count": 7,
    "launch_count.cudaMemsetAsync": 2,
    "launch_count.cuLaunchKernelEx": 3,
    "launch_count.cudaLaunchKernel": 2,
    "call_count.cudaLaunchKernel": 2,
    "occupancy_queries": 0,
    "launched_under.aten::linear": 5,  # three GEMMs and the two memsets before them
    "launched_under.aten::mm": 5,
    "launched_under.aten::gelu": 1,
    "launched_under.aten::t": 0,
    "unlaunched_kernels": 0,
    "memset_us": Spread(2.0, 2.0, 2.0),
    # Of step 3, which pictures show, by a ten-line script over the JSON; op_us without what lies outside the op.
    "op_us.aten::gelu": 14.144,
    "op_us.aten::linear": 104.744,
    "step1.op_us.aten::linear": 148.415,
    "call_us.cudaLaunchKernel": 11.478,  # 6.227 + 5.251
    # Step 3: gaps of 6.336, 1.345, 1.025, 2.593, 1.216 and 1.280 between its seven pieces of work.
    "gpu_idle_us": 13.795,
    "table_self_cuda_us": 550.0,  # 300 + 250 of conftest's PROFILE
    "table_self_cuda_us.kernel": 250.0,
    "table_rows": 2,
    "table_rows.ern": 1,
    "table_total_cuda_us": 250.0,
    "op_count": 29,
    "op_count.aten::mm": 3,
    "op_count.aten::gelu": 1,
    "op_count.aten::m": 0,  # a whole name, not a part of one
    "time_us": Spread(112.0, 110.0, 114.0),  # median of t, t-10, t+20 is t = 110 + n
    "gpu_us": Spread(242.0, 232.0, 252.0),
    "step1.gpu_us": Spread(237.0, 227.0, 247.0),
    "kernel_us": Spread(240.0, 230.0, 250.0),
    "cpu_us": Spread(312.0, 310.0, 314.0),
    "step2.cpu_us": Spread(312.0, 310.0, 314.0),
    "step3.cpu_us": Spread(332.0, 330.0, 334.0),
    "step_us": Spread(452.0, 450.0, 454.0),
    "back_to_back_us": Spread(202.0, 200.0, 204.0),
    "first_call_ms": Spread(102.0, 100.0, 104.0),
    "speedup": 1.0,
    # 1.12 GFLOP in 112 µs is 10 TFLOP/s; the slowest process is the low end: 1120 / 114, 1120 / 110.
    "tflops": Spread(10.0, 1120 / 114, 1120 / 110),
    "gflop": 1.12,
    "ceiling_share": 40.0,  # of 25 TFLOP/s, the median of the faster ceiling
    "intensity": 1.12e9 / 537e6,
    "hbm_mb": 537.0,  # 325 + 212
    # Sorted samples t-10, t, t+20: a twentieth of the way from the lowest is t-9, from the highest t+18.
    "within_us": Spread(27.0, 27.0, 27.0),
    "hbm_read_mb": 325.0,  # 60 + 50 + 60 + 100 + 55
    "hbm_write_mb": 212.0,  # 50 + 50 + 50 + 50 + 12
    "peak_mb": Spread(152.0, 150.0, 154.0),
    "error": Spread(0.006, 0.004, 0.008),
    "processes": 5,
    "samples": 3,
    "profiled_steps": 3,
    "draws": 1,
    "kernel.1.name": NVJET,
    "kernel.1.short": decode(NVJET).short,
    "kernel.1.family": "nvjet",
    "kernel.1.us": Spread(60.0, 58.0, 62.0),
    "step1.kernel.1.us": Spread(59.0, 57.0, 61.0),
    "kernel.1.grid": "2 × 66 × 1",
    "kernel.1.block": "384 × 1 × 1",
    "kernel.1.blocks": 132,  # 2 · 66
    "kernel.1.threads": 384,
    "kernel.1.registers": 168,  # args["registers per thread"]
    "kernel.1.shared_kb": 213.188,  # args["shared memory"] / 1000
    "kernel.1.gap_us": 6.336,  # a memset is before it
    "kernel.2.gap_us": 1.345,
    "kernel.1.share": 100 * 60 / 242,
    "kernel.1.tile": "256 × 128",  # in its name
    "kernel.5.tile": "192 × 128",
    "kernel.1.stream": "7",
    "kernel.1.trace_blocks_per_sm": 1.0,  # args["blocks per SM"] and args["est. achieved occupancy %"]
    "kernel.2.trace_blocks_per_sm": 186.181824,
    "kernel.1.trace_occupancy": 0.0,
    "kernel.4.trace_occupancy": 75.0,
    "kernel.1.launched_by": "cuLaunchKernelEx",
    "kernel.2.launched_by": "cudaLaunchKernel",
    "kernel.1.op": "aten::mm",
    "kernel.2.op": "aten::gelu",
    "kernel.4.op": "aten::mul",
    "kernel.4.hbm_read_mb": 100.0,
    "kernel.5.hbm_write_mb": 12.0,
}

OF_THE_RECORDING: dict[str, object] = {
    "name": NAME,
    "gpu": "NVIDIA H200",
    "driver": "580.95",
    "cuda": "13.0",
    "torch": "2.11.0+cu130",
    "triton": "3.6.0",
    "kernels": "0.17.2",
    "liger_kernel": "0.8.5",
    "python": "3.12.3",
    "ncu": "2025.3.1",
    "date": "2026-12-01",
    "commit": "0123456789",
    "kernel_packages": "kernels-community/liger-kernels (local: liger-kernel 0.8.5)",
    "sm_count": 132,
    "l2_mb": 60.0,
    "hbm_gb": 141.0,
    "copy_tb_per_s": Spread(4.1, 4.0, 4.2),
    "gemm_tflops": Spread(20.0, 19.0, 21.0),
    "gemm_back_to_back_tflops": Spread(25.0, 24.0, 26.0),
}


def check(fact: Fact, expected: object) -> None:
    if isinstance(expected, Spread):
        assert fact.spread is not None
        found = (fact.value, fact.spread.median, fact.spread.low, fact.spread.high)
        assert found == pytest.approx((expected.median, expected.median, expected.low, expected.high))
    else:
        assert fact.spread is None
        # Moments are µs since some day in a float: their difference is good to a few nanoseconds.
        abs_ = 5e-3 if fact.path.endswith(("idle_us", "gap_us")) else None
        assert fact.value == (pytest.approx(expected, abs=abs_) if isinstance(expected, float) else expected)
        assert type(fact.value) is type(expected)


@pytest.mark.parametrize("name", OF_MLP_EAGER)
def test_a_fact_of_a_stage_is_what_it_is_by_hand(repository, name: str) -> None:
    fact = repository.facts().get(f"mlp_eager.{name}")
    check(fact, OF_MLP_EAGER[name])
    assert (fact.path, fact.stamp) == (f"mlp_eager.{name}", STAMP)


@pytest.mark.parametrize("name", OF_THE_RECORDING)
def test_a_fact_of_the_recording_is_what_it_is_by_hand(repository, name: str) -> None:
    check(repository.facts().get(f"recording.{name}"), OF_THE_RECORDING[name])


def test_every_fact_of_the_vocabulary_is_checked_above() -> None:
    names = {name.split(".")[0] for name in OF_MLP_EAGER if not name.startswith("step1.") and "step3." not in name}
    # These have tests of their own: one needs a label in the trace, the other a faster stage.
    assert set(STAGE_FACTS) <= names | {"gpu_start_us", "pays_off_after"}
    assert set(KERNEL_FIELDS) == {name.split(".")[2] for name in OF_MLP_EAGER if name.startswith("kernel.")}
    assert set(RECORDING_FACTS) == set(OF_THE_RECORDING)


def test_a_first_call_is_paid_back_by_what_each_later_one_saves(repository) -> None:
    record = repository.record("mlp_compiled")
    slow = tuple(msgspec.structs.replace(p, first_call_ms=p.first_call_ms + 900) for p in record.processes)
    repository.write_stage(msgspec.structs.replace(record, processes=slow))
    # Medians: 80 + 2 µs against 110 + 2, so 30 µs a forward; 900 ms more for the first call: 30,000 forwards.
    assert repository.facts().get("mlp_compiled.pays_off_after").value == pytest.approx(30_000)
    quick = tuple(msgspec.structs.replace(p, first_call_ms=1.0) for p in record.processes)
    repository.write_stage(msgspec.structs.replace(record, processes=quick))
    assert repository.facts().get("mlp_compiled.pays_off_after").value == 0
    with pytest.raises(FactError, match="mlp_eager is not faster than mlp_eager: it never pays off"):
        repository.facts().get("mlp_eager.pays_off_after")


def test_every_definition_says_what_it_is() -> None:
    for definition in (*STAGE_FACTS.values(), *KERNEL_FIELDS.values(), *RECORDING_FACTS.values()):
        assert definition.about.endswith(".")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mlp_compiled.kernel_count", 4),
        ("mlp_compiled.kernel_count.triton_poi", 1),
        ("mlp_compiled.launch_count.cuLaunchKernel", 1),
        ("mlp_cudagraph.kernel_count", 5),
        ("mlp_cudagraph.memset_count", 2),
        ("mlp_cudagraph.launch_count", 2),  # one copies the input, one replays the graph
        ("mlp_cudagraph.launch_count.cudaGraphLaunch", 1),
        ("mlp_cudagraph.launch_count.cudaStreamIsCapturing", 0),  # a call, but it starts nothing
        ("mlp_cudagraph.call_count.cudaStreamIsCapturing", 1),
        ("linear_cold.kernel_count", 1),
        ("linear_cold.samples", 5),
        ("linear_cold.time_us", 1002.0),  # of a cold stage the first step, not the median
        ("mlp_compiled.speedup", 112 / 82),
        ("mlp_cudagraph.speedup", 112 / 57),
        ("mlp_compiled.ceiling_share", 100 * (1120 / 82) / 25),
    ],
)
def test_facts_of_the_other_stages(repository, path: str, value: float) -> None:
    assert repository.facts().get(path).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mlp_eager.gpu_us.low", 232.0),
        ("mlp_eager.gpu_us.high", 252.0),
        ("mlp_eager.step1.gpu_us.low", 227.0),
        ("mlp_eager.kernel.1.us.high", 62.0),
        ("recording.copy_tb_per_s.low", 4.0),
    ],
)
def test_low_and_high_are_the_extremes(repository, path: str, value: float) -> None:
    assert repository.facts().get(path).value == value


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("mlp_eager.gpu_us", "µs"),
        ("mlp_eager.kernel.1.us", "µs"),
        ("mlp_eager.kernel_count", ""),
        ("recording.l2_mb", "MB"),
    ],
)
def test_a_fact_has_its_unit(repository, path: str, unit: str) -> None:
    assert repository.facts().get(path).unit == unit


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("mlp_eagre.gpu_us", "there is no stage 'mlp_eagre'", "did you mean mlp_eager,"),
        ("recordnig.gpu", "there is no stage 'recordnig'", "did you mean recording?"),
        ("mlp_eager.kernel_cuont", "there is no fact 'mlp_eager.kernel_cuont'", "did you mean mlp_eager.kernel_count"),
        ("mlp_eager.zzz", "there is no fact 'mlp_eager.zzz'", "there are kernel_count, memset_count"),
        ("recording.gpus", "there is no fact 'recording.gpus'", "did you mean recording.gpu"),
        ("mlp_eager", "'mlp_eager' is no path of a fact", "write <stage>.<fact>"),
        ("mlp_eager.", "'mlp_eager.' is no path of a fact", "write <stage>.<fact>"),
        ("mlp_eager.memset_count.x", "fact 'memset_count' takes no key, 'x' was given", "write mlp_eager.memset_count"),
        ("mlp_eager.call_count", "fact 'call_count' needs a key", "write mlp_eager.call_count.<call>"),
        ("mlp_eager.kernel_count.low", "mlp_eager.kernel_count has no spread", "leave out .low"),
        ("recording.gpu.high", "recording.gpu has no spread", "leave out .high"),
        ("mlp_eager.kernel.one.us", "'one' is no kernel number", "write mlp_eager.kernel.1.name"),
        ("mlp_eager.kernel.1.nmae", "there is no kernel field 'nmae'", "did you mean name"),
        ("mlp_eager.kernel.6.us", "has kernels 1 to 5 a step, no kernel 6", ""),
        ("mlp_eager.step4.gpu_us", "has profiled steps 1 to 3, no step 4", ""),
        ("mlp_compiled.hbm_mb", "were not measured: ncu is not there", ""),
        ("linear_cold.back_to_back_us", "is cold: its steps are not run back to back", ""),
        ("linear_cold.tflops", "is cold: its time is the CPU's", ""),
        ("linear_cold.speedup", "is cold: its time is the CPU's", ""),
        ("mlp_eager.kernel.0.hbm_read_mb", "has kernels 1 to 5 a step, no kernel 0", ""),
        ("mlp_eager.kernel.6.hbm_read_mb", "has kernels 1 to 5 a step, no kernel 6", ""),
        ("mlp_eager.kernel.².us", "'²' is no kernel number", ""),
        ("mlp_eager.step0.kernel.1.name", "has profiled steps 1 to 3, no step 0", ""),
        ("mlp_eager.step1x.kernel_count", "there is no fact 'mlp_eager.step1x'", ""),
        ("mlp_eager.step1.time_us", "fact 'time_us' is of the whole stage, not of a step", "write mlp_eager.time_us"),
        ("mlp_eager.step1.peak_mb", "fact 'peak_mb' is of the whole stage, not of a step", "write mlp_eager.peak_mb"),
        ("mlp_eager.kernel_count.", "'mlp_eager.kernel_count.' ends in a dot", "write mlp_eager.kernel_count"),
    ],
)
def test_what_is_no_fact_is_refused_with_what_to_do(repository, path: str, message: str, hint: str) -> None:
    with pytest.raises(FactError) as error:
        repository.facts().get(path)
    assert message in error.value.message
    assert hint in error.value.hint


def test_a_count_that_differs_by_step_is_no_fact(repository, edit_trace: Callable) -> None:
    def drop_a_memset(events: list[dict]) -> None:
        events.remove(next(e for e in events if e.get("cat") == "gpu_memset"))

    edit_trace("mlp_eager", drop_a_memset)
    facts = repository.facts()
    with pytest.raises(FactError, match="memset_count of stage mlp_eager differs by step: 1, 2, 2"):
        facts.get("mlp_eager.memset_count")
    assert facts.get("mlp_eager.step1.memset_count").value == 1
    assert facts.get("mlp_eager.kernel_count").value == 5


def test_a_kernel_missing_from_a_step_keeps_the_times_of_the_others_in_place(repository, edit_trace: Callable) -> None:
    """One process, whose first kernel ran 50 µs in the second step, 60 in the third, and not in the first."""

    def drop_the_first_kernel(events: list[dict]) -> None:
        events.remove(min((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"]))

    edit_trace("mlp_eager", drop_the_first_kernel)
    record = repository.record("mlp_eager")
    memset, kernel, *rest = record.processes[0].work
    work = (memset, msgspec.structs.replace(kernel, us=(None, 50.0, 60.0)), *rest)
    only = msgspec.structs.replace(record.processes[0], work=work)
    repository.write_stage(msgspec.structs.replace(record, processes=(only,), published_process=0))
    facts = repository.facts()
    assert facts.get("mlp_eager.step2.kernel.1.us").value == 50
    assert facts.get("mlp_eager.step3.kernel.1.us").value == 60
    assert facts.get("mlp_eager.kernel.1.us").value == 55
    # The first kernel of the first step is the GELU: 30 - 2 µs in process 0, one less in its first step.
    assert "Gelu" in str(facts.get("mlp_eager.step1.kernel.1.name").value)
    assert facts.get("mlp_eager.step1.kernel.1.us").value == 27
    with pytest.raises(FactError, match="stage mlp_eager has kernels 1 to 4 a step, no kernel 5"):
        facts.get("mlp_eager.step1.kernel.5.us")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"processes": ()}, "process 2 is published, there are 0"),
        ({"published_process": 5}, "process 5 is published, there are 5"),
        ({"hbm": (KernelBytes("k", 1, 1),)}, "HBM bytes of 1 kernels, the published process ran 5"),
    ],
)
def test_a_record_that_contradicts_itself_is_damaged(repository, change: dict, says: str) -> None:
    repository.write_stage(msgspec.structs.replace(repository.record("mlp_eager"), **change))
    with pytest.raises(RecordingError, match=says):
        repository.facts().get("mlp_eager.time_us")


def test_a_stage_is_read_once(repository) -> None:
    facts = repository.facts()
    assert facts.view("mlp_eager").trace is facts.view("mlp_eager").trace


def test_the_ceiling_is_the_faster_of_the_two(repository) -> None:
    recording = repository.facts().recording
    ceilings = msgspec.structs.replace(
        recording.environment.ceilings, gemm_flops_per_s=(50e12,), gemm_back_to_back_flops_per_s=(25e12,)
    )
    environment = msgspec.structs.replace(recording.environment, ceilings=ceilings)
    (repository.recording / "environment.json").write_bytes(msgspec.json.encode(environment))
    assert repository.facts().get("mlp_eager.ceiling_share").value == pytest.approx(20.0)


def test_every_refusal_is_an_error_that_a_page_can_tell() -> None:
    assert issubclass(FactError, BuildTracesError)


def test_the_gpus_start_is_counted_from_the_stages_label(repository, edit_trace) -> None:
    with pytest.raises(FactError, match="no label of that name"):  # the probe's label is "step"
        repository.facts().get("mlp_eager.gpu_start_us")

    def rename(events: list[dict[str, object]]) -> None:
        for event in events:
            if event["name"] == "step":
                event["name"] = "mlp_eager"

    edit_trace("mlp_eager", rename)
    # Step 3: its label starts at …8991.094, its first work, a memset, at …9030.705.
    assert repository.facts().get("mlp_eager.gpu_start_us").value == pytest.approx(39.611, abs=1e-3)
    # Step 1: label …8402.566, first work …8504.656.
    assert repository.facts().get("mlp_eager.step1.gpu_start_us").value == pytest.approx(102.090, abs=1e-3)


def test_a_kernel_whose_launch_is_gone_is_counted_as_unlaunched(repository, edit_trace) -> None:
    def forget_a_launch(events: list[dict[str, object]]) -> None:
        events.remove(next(e for e in events if e.get("cat") == "cuda_driver"))

    edit_trace("mlp_eager", forget_a_launch)
    assert repository.facts().get("mlp_eager.unlaunched_kernels").value == 1


def test_an_op_that_holds_one_of_its_own_name_is_counted_once(repository, edit_trace) -> None:
    def nest(events: list[dict[str, object]]) -> None:
        outer = [e for e in events if e.get("name") == "aten::linear"]
        events += [{**e, "ts": e["ts"] + 1, "dur": e["dur"] - 2} for e in outer]  # type: ignore[operator]

    edit_trace("mlp_eager", nest)
    assert repository.facts().get("mlp_eager.op_us.aten::linear").value == pytest.approx(104.744)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("mlp_eager.op_us.aten::gellu", "no op in a step of mlp_eager named 'aten::gellu'"),
        ("mlp_eager.call_us.cudaLaunchKernal", "no call in a step of mlp_eager named 'cudaLaunchKernal'"),
        ("mlp_eager.kernel_position.gellu", "no kernel in a step of mlp_eager with a name that contains 'gellu'"),
        ("mlp_eager.table_self_cuda_us.kernal", "no row in the profiler's table 'kernal'"),
        ("mlp_eager.kernel.2.tile", "gives no tile"),
    ],
)
def test_a_fact_that_the_trace_cannot_give_is_refused(repository, path: str, message: str) -> None:
    with pytest.raises(FactError, match=message):
        repository.facts().get(path)
