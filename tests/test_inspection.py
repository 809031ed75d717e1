"""build_traces.inspection: tiny traces against sums done by hand, real ones against plain loops."""

import gzip
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from small_traces import COPY, TWO_STEPS, call, event, gpu, kernel, label, launch, memcpy, op, step, text, trace

from benchmarks import plain
from build_traces import inspection
from build_traces.errors import TraceError
from build_traces.inspection import Inspection, Spread
from build_traces.trace import events as trace_events

ROOT = Path(__file__).parents[1]
TRACES = ROOT / "tests" / "traces"
FILES = [*sorted(TRACES.rglob("*.json*")), *sorted(ROOT.glob("docs/recordings/*/*/trace.json.gz"))]

Says = Callable[..., Inspection]


@pytest.fixture
def says(tmp_path: Path) -> Says:
    """What a trace of these events says."""

    def inspect(*rows: dict[str, Any], **top: object) -> Inspection:
        path = tmp_path / "given.json"
        path.write_bytes(text(*rows, **top))
        return inspection.inspect(path)

    return inspect


def flat(us: float) -> Spread:
    return Spread(us, us, us)


# --- two steps by hand --------------------------------------------------------------------------------------------


def test_each_step_has_its_time_and_what_the_gpu_did_in_it(says: Says) -> None:
    first, second = says(*TWO_STEPS).steps
    assert (first.number, first.start_us, first.us) == (1, 0, 100)
    assert (second.number, second.start_us, second.us) == (2, 100, 100)
    # step 1: 30 of A and 2 of the copy; step 2: 30 and 20 of B
    assert [(gpu.device, gpu.busy_us, gpu.idle_us, gpu.idle_percent) for gpu in first.gpus] == [(0, 32, 68, 68)]
    assert [(gpu.device, gpu.busy_us, gpu.idle_us, gpu.idle_percent) for gpu in second.gpus] == [(0, 50, 50, 50)]


def test_steps_that_ran_the_same_are_one_kind_and_others_are_not(says: Says) -> None:
    found = says(*TWO_STEPS)
    assert [kind.steps for kind in found.kinds] == [(1,), (2,)]
    again = says(step(1, 0, 10), launch(1, 1, 1), kernel("A", 1, 3, 2), step(2, 10, 10), launch(2, 11, 1),
                 kernel("A", 2, 13, 4))  # fmt: skip
    (kind,) = again.kinds
    assert kind.steps == (1, 2)
    assert kind.work[0].us == Spread(3, 2, 4)
    assert kind.step_us == flat(10)


def test_the_kernel_list_of_a_step_has_count_time_share_op_and_call(says: Says) -> None:
    first, second = says(*TWO_STEPS).kinds
    a, copy = first.work
    assert (a.kind, a.name, a.count, a.us, a.percent) == ("kernel", "A", 1, flat(30), 93.75)  # 30 of 32
    assert (a.grid, a.block, a.call, a.op) == ((2, 1, 1), (128, 1, 1), "cudaLaunchKernel", "aten::addmm")
    assert (copy.kind, copy.name, copy.count, copy.us, copy.percent) == ("memcpy", COPY, 1, flat(2), 6.25)
    (b,) = second.work
    assert (b.name, b.count, b.us, b.percent) == ("B", 2, flat(50), 100)
    assert first.gpu_us == flat(32)


def test_launches_are_counted_by_call_with_what_they_started_and_their_time(says: Says) -> None:
    first, second = says(*TWO_STEPS).kinds
    assert [(row.call, row.count, row.started, row.us) for row in first.launches] == [
        ("cudaLaunchKernel", 1, 1, flat(4)),
        ("cudaMemcpyAsync", 1, 1, flat(2)),
    ]
    assert [(row.call, row.count, row.started, row.us) for row in second.launches] == [
        ("cudaLaunchKernel", 2, 2, flat(6))
    ]


def test_idle_time_is_told_by_the_op_whose_launch_ended_it(says: Says) -> None:
    rows = says(*TWO_STEPS).idle
    # 118 in all: 28 and 30 to the ends of the steps, 30 before A, 20 before B, 10 before the copy
    assert [(row.op, row.why, row.gaps, row.us, row.percent) for row in rows] == [
        ("", "end", 2, 58, 49.153),
        ("aten::addmm", "late", 1, 30, 25.424),
        ("aten::relu", "late", 1, 20, 16.949),
        ("aten::_local_scalar_dense", "late", 1, 10, 8.475),
    ]


def test_the_biggest_gaps_come_first_with_what_ran_around_them(says: Says) -> None:
    gaps = says(*TWO_STEPS).gaps
    assert [(gap.step, gap.start_us, gap.us, gap.before, gap.after) for gap in gaps] == [
        (1, 0, 30, "W", "A"),
        (2, 70, 30, "B", ""),
        (1, 72, 28, COPY, ""),
        (2, 0, 20, COPY, "B"),
        (1, 60, 10, "A", COPY),
    ]


def test_ops_that_launch_nothing_at_any_depth_are_listed(says: Says) -> None:
    assert [(row.name, row.count, row.of, row.us) for row in says(*TWO_STEPS).silent_ops] == [("aten::t", 1, 1, 3)]


def test_a_memcpy_that_its_op_waits_for_blocks(says: Says) -> None:
    (row,) = says(*TWO_STEPS).blocking_memcpys
    # from the begin of the launch at 64 to the end of the wait at 85
    assert (row.name, row.op, row.call, row.waits_in) == (
        COPY, "aten::_local_scalar_dense", "cudaMemcpyAsync", "cudaStreamSynchronize",
    )  # fmt: skip
    assert (row.count, row.bytes, row.us) == (1, 4, 21)


def test_a_kernel_without_a_launch_is_told_apart(says: Says) -> None:
    (row,) = says(*TWO_STEPS).unlaunched
    assert (row.kind, row.name, row.count, row.us, row.first_us) == ("kernel", "W", 1, 15, -20)


# --- single rules -------------------------------------------------------------------------------------------------


def test_a_trace_without_steps_is_one_step_and_says_so(says: Says) -> None:
    found = says(op("aten::mm", 10, 20), launch(1, 12, 3), kernel("A", 1, 40, 10), kernel("W", 9, 5, 1))
    assert found.whole_file
    (only,) = found.steps
    assert (only.number, only.us) == (None, 45)  # from W at 5 to the end of A at 50
    assert only.gpus[0].busy_us == 11
    assert {work.name for work in found.kinds[0].work} == {"A", "W"}
    assert not found.outside


def test_a_trace_with_steps_says_that_too(says: Says) -> None:
    assert not says(step(1, 0, 10)).whole_file


def test_a_trace_with_no_gpu_work_has_no_idle_time(says: Says) -> None:
    found = says(step(1, 0, 10), op("aten::mm", 1, 5))
    assert (found.steps[0].gpus, found.idle, found.gaps, found.kinds[0].idle_percent) == ((), (), (), None)
    assert [row.name for row in found.silent_ops] == ["aten::mm"]


def test_each_gpu_is_told_apart(says: Says) -> None:
    found = says(step(1, 0, 100), launch(1, 0, 1), launch(2, 1, 1), kernel("A", 1, 10, 50), kernel("A", 2, 10, 20, 1))
    assert [(gpu.device, gpu.busy_us) for gpu in found.steps[0].gpus] == [(0, 50), (1, 20)]
    assert [gpu.device for gpu in found.about.gpus] == [0, 1]
    assert found.kinds[0].work[0].count == 2
    assert found.kinds[0].idle_percent == Spread(65, 50, 80)


def test_work_on_two_streams_at_once_counts_as_busy_once(says: Says) -> None:
    found = says(step(1, 0, 100), kernel("A", 1, 10, 50), kernel("B", 2, 20, 10, stream=8), kernel("C", 3, 55, 25))
    assert found.steps[0].gpus[0].busy_us == 70  # 10 to 80


def test_work_that_was_launched_before_the_gpu_went_idle_was_queued(says: Says) -> None:
    found = says(step(1, 0, 100), launch(1, 0, 1), launch(2, 2, 1), kernel("A", 1, 10, 20), kernel("B", 2, 40, 10))
    assert {(gap.after, gap.why) for gap in found.gaps} == {("A", "late"), ("B", "queued"), ("", "end")}


def test_a_gap_before_work_without_a_launch_has_no_reason(says: Says) -> None:
    found = says(step(1, 0, 100), kernel("A", 1, 10, 90))
    assert [(gap.us, gap.why, gap.op, gap.call) for gap in found.gaps] == [(10, "unknown", "", "")]


def test_a_gap_is_cut_at_the_end_of_its_step(says: Says) -> None:
    found = says(step(1, 0, 100), step(2, 100, 100), launch(1, 0, 1), kernel("A", 1, 0, 50), launch(2, 110, 1),
                 kernel("A", 2, 150, 50))  # fmt: skip
    assert [(gap.step, gap.start_us, gap.us, gap.why) for gap in found.gaps] == [(1, 50, 50, "end"), (2, 0, 50, "late")]


def test_idle_time_outside_any_op_is_told_by_the_call(says: Says) -> None:
    rows = says(step(1, 0, 20), label("mine", 0, 15), launch(1, 1, 1), kernel("A", 1, 10, 10)).idle
    assert [(row.op, row.call, row.us) for row in rows] == [("", "cudaLaunchKernel", 10)]


def test_the_op_of_a_launch_is_the_innermost_op_and_never_an_annotation(says: Says) -> None:
    found = says(step(1, 0, 20), op("aten::mm", 0, 15), label("mine", 1, 10), label("inner", 2, 8), launch(1, 3, 1),
                 launch(2, 5, 1), kernel("A", 1, 10, 2), kernel("B", 2, 12, 2))  # fmt: skip
    assert [work.op for work in found.kinds[0].work] == ["aten::mm", "aten::mm"]


def test_a_copy_whose_own_call_returns_after_it_blocks(says: Says) -> None:
    rows = (step(1, 0, 50), op("aten::copy_", 0, 40), call("hipMemcpyWithStream", 1, 5, 20), memcpy("HtoD", 1, 8, 10))
    (row,) = says(*rows).blocking_memcpys
    assert (row.waits_in, row.us) == ("hipMemcpyWithStream", 20)


def test_a_copy_that_nothing_waits_for_does_not_block(says: Says) -> None:
    rows = (step(1, 0, 50), op("aten::copy_", 0, 10), call("cudaMemcpyAsync", 1, 1, 2), memcpy("HtoD", 1, 20, 5))
    assert says(*rows).blocking_memcpys == ()
    # a wait in another op, on another thread, that ends before the copy, or behind another launch is none for it
    for wait in (
        [call("cudaStreamSynchronize", 0, 12, 30)],
        [call("cudaStreamSynchronize", 0, 4, 30, tid=2)],
        [call("cudaStreamSynchronize", 0, 4, 3)],
        [launch(2, 4, 1), kernel("A", 2, 30, 1), call("cudaStreamSynchronize", 0, 6, 30)],
    ):
        assert says(*rows, *wait).blocking_memcpys == ()


def test_an_op_that_launches_only_sometimes_is_counted_where_it_did_not(says: Says) -> None:
    found = says(step(1, 0, 50), op("aten::to", 0, 10), launch(1, 2, 1), kernel("A", 1, 5, 1), op("aten::to", 20, 4))
    assert [(row.name, row.count, row.of, row.us) for row in found.silent_ops] == [("aten::to", 1, 2, 4)]


def test_the_own_time_of_a_silent_op_leaves_out_the_ops_inside(says: Says) -> None:
    found = says(step(1, 0, 50), op("aten::t", 0, 10), op("aten::transpose", 2, 6), op("aten::as_strided", 3, 1))
    assert {row.name: row.us for row in found.silent_ops} == {"aten::t": 4, "aten::transpose": 5, "aten::as_strided": 1}


def test_work_launched_in_no_step_is_counted_apart(says: Says) -> None:
    found = says(step(1, 10, 10), launch(1, 0, 1), kernel("A", 1, 12, 2), launch(2, 30, 1), kernel("A", 2, 40, 1))
    assert found.outside == {"kernel": 2}
    assert found.kinds[0].work == ()


def test_steps_that_overlap_end_where_the_next_one_begins(says: Says) -> None:
    found = says(step(1, 0, 100), step(2, 60, 100), kernel("A", 1, 10, 20))
    assert [(one.number, one.us) for one in found.steps] == [(1, 60), (2, 100)]
    assert [one.gpus[0].idle_us for one in found.steps] == [40, 100]


def test_one_launch_may_start_many(says: Says) -> None:
    found = says(step(1, 0, 50), call("cudaGraphLaunch", 1, 1, 2), kernel("A", 1, 5, 1), kernel("A", 1, 7, 1))
    assert [(row.call, row.count, row.started) for row in found.kinds[0].launches] == [("cudaGraphLaunch", 1, 2)]


def test_an_event_that_ends_before_it_begins_takes_no_time_and_is_counted(says: Says) -> None:
    found = says(step(1, 0, 50), launch(1, 1, 1), kernel("A", 1, 5, -3), kernel("B", 2, 10, 5))
    assert found.about.negative_durations == 1
    assert found.steps[0].gpus[0].busy_us == 5


def test_what_the_file_says_of_the_machine_is_kept_and_what_is_odd_is_left_out(says: Says) -> None:
    gpus = [{"id": 0, "name": "X", "totalGlobalMem": 10**9, "numSms": 7, "computeMajor": 9, "computeMinor": 0}]
    top = {"deviceProperties": gpus, "cuda_runtime_version": 13000, "record_shapes": 1, "with_stack": 0}
    ranks = {"rank": 1, "world_size": 4, "backend": "nccl"}
    about = says(step(1, 0, 10), kernel("A", 1, 1, 1), **top, distributedInfo=ranks).about
    assert (about.gpus[0].name, about.gpus[0].multiprocessors, about.gpus[0].capability) == ("X", 7, "9.0")
    assert (about.versions, about.options) == ({"cuda_runtime_version": 13000}, ("record_shapes",))
    assert (about.rank, about.world_size, about.backend) == (1, 4, "nccl")
    odd = says(step(1, 0, 10), deviceProperties={"a": 1}, cuda_runtime_version="x", distributedInfo=[1], with_stack={})
    assert (odd.about.gpus, odd.about.versions, odd.about.options, odd.about.rank) == ((), {}, (), None)


# --- real traces against plain loops ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_real_trace_says_what_plain_loops_find(path: Path) -> None:
    ours = msgspec.to_builtins(inspection.inspect(path))
    assert_close({key: ours[key] for key in ours if key not in ("schema", "about")}, plain.inspect(path))


def assert_close(ours: object, theirs: object, place: str = "") -> None:
    """Equal, and numbers to two nanoseconds: each is rounded once, from sums in another order."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), place
        for key in ours:
            assert_close(ours[key], theirs[key], f"{place}.{key}")
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), place
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_close(one, other, f"{place}[{at}]")
    elif isinstance(ours, float) or isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=0.0021), place
    else:
        assert ours == theirs, place


def test_an_amd_trace_is_read_like_any_other() -> None:
    found = inspection.inspect(TRACES / "amd_mi250.json.gz")
    assert [gpu.device for gpu in found.about.gpus] == [2]
    assert {row.call for row in found.kinds[0].launches} == {
        "hipMemcpyWithStream", "hipLaunchKernel", "hipExtModuleLaunchKernel",
    }  # fmt: skip
    assert [row.waits_in for row in found.blocking_memcpys] == ["hipMemcpyWithStream"]
    assert "tensile" in {work.family for work in found.kinds[0].work}


def test_the_kernel_left_from_warmup_in_the_cuda_graph_trace_is_found() -> None:
    found = inspection.inspect(TRACES / "h200_probe" / "mlp_cudagraph.json.gz")
    assert [(row.kind, row.count) for row in found.unlaunched] == [("kernel", 1)]
    assert found.unlaunched[0].first_us < 0


# --- large and hostile files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES[:8], ids=lambda path: path.name)
@pytest.mark.parametrize("piece_bytes", [300, 5_000])
def test_a_file_read_in_pieces_says_the_same(path: Path, piece_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = inspection.inspect(path)
    monkeypatch.setattr(trace_events, "PIECE_BYTES", piece_bytes)
    monkeypatch.setattr("build_traces.trace.file.BLOCK_BYTES", piece_bytes)
    assert inspection.inspect(path) == whole


def test_ten_thousand_steps_with_ten_thousand_gaps_do_not_take_for_ever(says: Says) -> None:
    rows = [row for n in range(10_000) for row in (step(n, 0, 1e6), kernel(f"k{n}", n, 100 * n, 1))]
    started = time.monotonic()
    found = says(*rows)
    assert time.monotonic() - started < 20
    assert len(found.steps) == 10_000


def test_deep_annotations_around_many_launches_do_not_take_for_ever(says: Says) -> None:
    deep = [label("a", n, 1e6 - n) for n in range(20_000)]
    rows = [row for n in range(5_000) for row in (launch(n, 30_000 + n, 0.5), kernel("k", n, 50_000 + 2 * n, 1))]
    started = time.monotonic()
    says(step(1, 0, 1e6), *deep, *rows)
    assert time.monotonic() - started < 20


def test_a_hundred_thousand_names_do_not_take_for_ever(says: Says) -> None:
    rows = [row for n in range(100_000) for row in (launch(n, n, 0.5), kernel(f"void k{n}<int>(float*)", n, n, 0.5))]
    started = time.monotonic()
    found = says(step(1, 0, 1e6), *rows)
    assert time.monotonic() - started < 60
    assert len(found.kinds[0].work) == 100_000


def test_more_steps_and_gpus_than_there_can_be_are_refused(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "MAX_STEPS_OF_GPUS", 5)
    rows = [kernel("A", 1, 1, 1, 0), kernel("A", 1, 1, 1, 1)]
    says(step(1, 0, 1), step(2, 1, 1), *rows)
    with pytest.raises(TraceError, match="3 steps on 2 GPUs"):
        says(step(1, 0, 1), step(2, 1, 1), step(3, 2, 1), *rows)


def test_more_events_than_there_can_be_are_refused(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_events, "MAX_EVENTS", 3)
    with pytest.raises(TraceError, match="more than 3 events"):
        says(*TWO_STEPS)


@pytest.mark.parametrize("moment", ["ts", "dur"])
@pytest.mark.parametrize("us", [1e300, -1e300, 1e18])
@pytest.mark.parametrize("cat", ["cpu_op", "cuda_runtime", "kernel", "user_annotation"])
def test_a_time_beyond_all_clocks_is_refused(says: Says, moment: str, us: float, cat: str) -> None:
    row = event(cat, "ProfilerStep#1" if cat == "user_annotation" else "a", 1, 1) | {moment: us}
    with pytest.raises(TraceError, match="beyond all clocks"):
        says(row, op("b", 0, 1), op("c", 2, 1), kernel("d", 1, 2, 3))


def test_calls_that_share_a_correlation_id_are_no_fault(says: Says) -> None:
    found = says(step(1, 0, 50), launch(1, 0, 1), launch(1, 5, 1), kernel("A", 1, 10, 1), kernel("B", 1, 12, 1))
    assert [(row.count, row.started) for row in found.kinds[0].launches] == [(1, 2)]


def test_random_events_are_read_or_refused_and_agree_with_plain_loops(says: Says, tmp_path: Path) -> None:
    chance = random.Random(5)
    for _ in range(60):
        rows = [random_event(chance) for _ in range(chance.randrange(1, 60))]
        found = msgspec.to_builtins(says(*rows))
        path = tmp_path / "random.json"
        path.write_text(json.dumps(trace(*rows)), encoding="utf-8")
        expected = plain.inspect(path)
        assert_close({key: found[key] for key in expected}, expected)


def random_event(chance: random.Random) -> dict[str, Any]:
    """Times on a grid of quarters, so that sums are exact and starts often equal."""
    start, dur, number = chance.randrange(400) / 4, chance.randrange(80) / 4, chance.randrange(12)
    made = {
        0: lambda: step(number, start, 4 * dur + 1),
        1: lambda: op(f"op{number % 4}", start, dur, chance.randrange(2)),
        2: lambda: label(f"label{number % 2}", start, dur, chance.randrange(2)),
        3: lambda: launch(number, start, dur / 4, chance.randrange(2)),
        4: lambda: call("cudaStreamSynchronize", 100 + number, start, dur, chance.randrange(2)),
        5: lambda: kernel(f"k{number % 3}", number, start, dur, chance.randrange(2)),
        6: lambda: memcpy("Memcpy", number, start, dur / 4),
        7: lambda: gpu("gpu_memset", "Memset", number, start, dur / 8),
    }
    return made[chance.randrange(8)]()


def test_a_packed_file_says_the_same_as_the_plain_one(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(text(*TWO_STEPS))
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "trace.json").write_bytes(gzip.compress(text(*TWO_STEPS)))
    assert inspection.inspect(tmp_path / "trace.json") == inspection.inspect(tmp_path / "packed" / "trace.json")
