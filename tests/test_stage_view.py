"""A stage seen whole: steps, counts, times over processes and the lists that blocks show; values by hand."""

from collections.abc import Callable

import msgspec
import pytest

from build_traces.errors import FactError
from build_traces.recording import GpuWork, Spread, StageRecord, spread

WORK = ("memset", "kernel", "kernel", "memset", "kernel", "kernel", "kernel")


def change_processes(repository, change: Callable[[int, tuple[GpuWork, ...]], tuple[GpuWork, ...]]) -> StageRecord:
    """Rewrite the work of mlp_eager's processes."""
    record = repository.record("mlp_eager")
    processes = tuple(msgspec.structs.replace(p, work=change(n, p.work)) for n, p in enumerate(record.processes))
    record = msgspec.structs.replace(record, processes=processes)
    repository.write_stage(record)
    return record


def test_a_spread_is_median_lowest_and_highest() -> None:
    assert spread([3.0, 1.0, 2.0, 10.0]) == Spread(2.5, 1.0, 10.0)


def test_the_shown_step_is_the_one_nearest_the_median(repository) -> None:
    # The published process is the third: 502, 402, 452 µs, median 452.
    assert repository.facts().view("mlp_eager").shown_step == 3


def test_a_cold_stage_shows_its_first_step(repository) -> None:
    assert repository.facts().view("linear_cold").shown_step == 1


@pytest.mark.parametrize("step", [0, 4, -1])
def test_a_step_that_was_not_profiled_is_refused(repository, step: int) -> None:
    with pytest.raises(FactError, match="has profiled steps 1 to 3"):
        repository.facts().view("mlp_eager").steps(step)


def test_gpu_time_is_the_sum_of_a_steps_work_over_processes(repository) -> None:
    view = repository.facts().view("mlp_eager")
    # Kernels 60 + 30 + 60 + 40 + 50 = 240, five of them shifted by n - 2; two memsets of 1.
    assert view.work_us(("kernel",), None) == Spread(240.0, 230.0, 250.0)
    assert view.work_us(("kernel", "memset", "memcpy"), None) == Spread(242.0, 232.0, 252.0)
    assert view.work_us(("memset",), None) == Spread(2.0, 2.0, 2.0)
    # In the first step each of the five kernels takes 1 µs less.
    assert view.work_us(("kernel",), 1) == Spread(235.0, 225.0, 245.0)
    assert view.work_us(("memcpy",), None) == Spread(0.0, 0.0, 0.0)


def test_the_times_of_profiled_steps_are_medians_in_each_process(repository) -> None:
    view = repository.facts().view("mlp_eager")
    # 300 + n, 310 + n, 330 + n.
    assert view.profiled_us(lambda p: p.cpu_us, None) == Spread(312.0, 310.0, 314.0)
    assert view.profiled_us(lambda p: p.cpu_us, 3) == Spread(332.0, 330.0, 334.0)


def test_equal_launches_are_one_row_in_the_order_they_run(repository) -> None:
    rows = repository.facts().view("mlp_eager").work_rows()
    assert [(row.count, row.us, row.draws) for row in rows] == [
        (2, Spread(60.0, 58.0, 62.0), 5),
        (1, Spread(30.0, 28.0, 32.0), 5),
        (1, Spread(40.0, 38.0, 42.0), 5),
        (1, Spread(50.0, 48.0, 52.0), 5),
    ]
    assert [(row.hbm.read_bytes, row.hbm.write_bytes) for row in rows if row.hbm] == [
        (60_000_000, 50_000_000), (50_000_000, 50_000_000), (100_000_000, 50_000_000), (55_000_000, 12_000_000),
    ]  # fmt: skip
    assert [(r.kind, r.count, r.hbm) for r in repository.facts().view("mlp_eager").work_rows(("memset",))] == [
        ("memset", 2, None)
    ]


def test_equal_launches_of_different_length_are_averaged(repository) -> None:
    def slower(n: int, work: tuple[GpuWork, ...]) -> tuple[GpuWork, ...]:
        return (*work[:4], msgspec.structs.replace(work[4], us=(70.0, 80.0, 90.0)), *work[5:])

    change_processes(repository, slower)
    # Per process (58 + n + 80) / 2 for n = 0…4: 69 to 71.
    assert repository.facts().view("mlp_eager").work_rows()[0].us == Spread(70.0, 69.0, 71.0)


def test_rows_and_kernel_times_count_only_processes_that_ran_the_same(repository) -> None:
    def other(n: int, work: tuple[GpuWork, ...]) -> tuple[GpuWork, ...]:
        return (*work[:-1], msgspec.structs.replace(work[-1], name="other")) if n >= 3 else work

    change_processes(repository, other)
    view = repository.facts().view("mlp_eager")
    assert view.draws == 2
    assert (view.work_rows()[-1].draws, view.work_rows()[-1].us) == (3, Spread(49.0, 48.0, 50.0))
    assert view.work_rows()[0].draws == 5
    assert view.kernel_us(1, None) == Spread(59.0, 58.0, 60.0)


def test_another_grid_is_another_row_and_another_draw(repository) -> None:
    def other(n: int, work: tuple[GpuWork, ...]) -> tuple[GpuWork, ...]:
        return (*work[:-1], msgspec.structs.replace(work[-1], grid=(1, 1, 1))) if n == 4 else work

    change_processes(repository, other)
    view = repository.facts().view("mlp_eager")
    assert (view.draws, view.work_rows()[-1].draws) == (2, 4)


def test_a_count_that_differs_by_step_is_refused(repository, edit_trace: Callable) -> None:
    def drop_the_last_kernel(events: list[dict]) -> None:
        kernels = [e for e in events if e.get("cat") == "kernel"]
        events.remove(max(kernels, key=lambda e: e["ts"]))

    edit_trace("mlp_eager", drop_the_last_kernel)
    view = repository.facts().view("mlp_eager")
    with pytest.raises(FactError, match="kernel_count of stage mlp_eager differs by step: 5, 5, 4") as error:
        view.work_count("kernel", "", None)
    assert error.value.hint == "say which step: mlp_eager.step1.kernel_count"
    assert [view.work_count("kernel", "", step) for step in (1, 2, 3)] == [5, 5, 4]
    # The launch started nothing any more.
    assert [view.launch_count("", step) for step in (1, 2, 3)] == [7, 7, 6]
    assert view.call_count("cuLaunchKernelEx".__eq__, "call_count", None) == 3


def test_launches_are_named_in_the_order_of_first_use(repository) -> None:
    # Gate GEMM (memset, then cuLaunchKernelEx), GELU (cudaLaunchKernel), up GEMM, mul, down GEMM.
    assert list(repository.facts().view("mlp_eager").launches_by_name().items()) == [
        ("cudaMemsetAsync", 2), ("cuLaunchKernelEx", 3), ("cudaLaunchKernel", 2),
    ]  # fmt: skip


def test_the_op_tree_holds_every_op_and_call_of_the_step_once(repository) -> None:
    view = repository.facts().view("mlp_eager")
    nodes, waiting = [], view.op_tree()
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(node.children)
    # 29 ops and the label; 7 calls, all of them inside an op.
    assert len(nodes) == 30
    assert len({node.op.index for node in nodes}) == 30
    assert sum(len(node.calls) for node in nodes) == 7


def test_the_op_tree_of_a_step_holds_only_that_step(repository) -> None:
    view = repository.facts().view("mlp_eager")
    numbers = [step.number for step in view.trace.steps]
    for position, number in enumerate(numbers, start=1):
        assert {node.op.step for node in view.op_tree(position)} == {number}


@pytest.mark.parametrize("n", [0, 6])
def test_a_kernel_that_there_is_not_is_refused(repository, n: int) -> None:
    with pytest.raises(FactError, match=f"has kernels 1 to 5 a step, no kernel {n}"):
        repository.facts().view("mlp_eager").nth_kernel(n, None)


def test_kernels_are_numbered_in_the_order_they_run(repository) -> None:
    view = repository.facts().view("mlp_eager")
    names = [view.nth_kernel(n, None).name for n in range(1, 6)]
    assert ["nvjet" in n for n in names] == [True, False, True, False, True]
    assert "Gelu" in names[1]
    assert "BinaryFunctor" in names[3]


def test_hbm_that_was_not_measured_says_why(repository) -> None:
    with pytest.raises(FactError, match="HBM bytes of stage mlp_compiled were not measured: ncu is not there"):
        repository.facts().view("mlp_compiled").hbm()


def test_a_long_reason_for_missing_hbm_is_cut_to_a_line(repository) -> None:
    record = repository.record("mlp_compiled")
    repository.write_stage(msgspec.structs.replace(record, hbm_missing="k" * 161))
    assert repository.facts().view("mlp_compiled").hbm_missing == "k" * 159 + "…"
    repository.write_stage(msgspec.structs.replace(record, hbm_missing="k" * 160))
    assert repository.facts().view("mlp_compiled").hbm_missing == "k" * 160


def test_a_stage_is_set_against_the_one_in_the_ladder(repository) -> None:
    assert repository.facts().view("mlp_compiled").against.stage.name == "mlp_eager"
