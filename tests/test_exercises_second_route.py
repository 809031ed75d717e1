"""Every exercise's answer, once more from the raw files, by none of the code that the pages use.

An exercise without a route fails. Those of a new chapter are in routes/<chapter>.py, the others here. To add one, write
its id and a line or two over `raw_recording`:

- of a count or number, the number;
- of a choice, the options that are right, from 1 as they are written;
- of an order, what each item is ordered by, as the items are written.
"""

import math
import re
import statistics
from pathlib import Path

import pytest
import raw_recording as raw
from second_route import Route, of_chapters, right

from build_traces import exercises, ladder
from build_traces.answers import answer
from build_traces.exercises import Exercise
from build_traces.facts import Facts
from build_traces.recording import open_recording

ROOT = Path(__file__).parents[1]
EXERCISES = exercises.load(ROOT / "docs" / "exercises", ROOT / "docs").all
FACTS = Facts(open_recording(raw.FOLDER), ladder.load(ROOT / "snippets"))


def first_calls() -> list[float]:
    """Of the set-ups that the exercise lists, in its order."""
    return [
        raw.scalar(stage, "first_call_ms") for stage in ("mlp_compiled", "mlp_max_autotune", "mlp_liger", "mlp_eager")
    ]


def name_of(stage: str, position: int) -> str:
    return raw.work(stage)[position - 1]["name"]


def spread(stage: str, position: int) -> tuple[float, float]:
    """The lowest and highest time of a kernel over the processes."""
    of_each = [
        [w for w in p["work"] if w["kind"] == "kernel"][position - 1]["us"] for p in raw.record(stage)["processes"]
    ]
    medians = [statistics.median(us) for us in of_each]
    return min(medians), max(medians)


def samples(stage: str) -> list[list[float]]:
    """The timed steps of each process."""
    return [process["time_us"] for process in raw.record(stage)["processes"]]


def medians(stage: str) -> list[float]:
    return [statistics.median(times) for times in samples(stage)]


def but_the_extremes(times: list[float]) -> float:
    """How far apart the 5th and the 95th percentile are, by rank and in proportion between two ranks."""

    def at(share: float) -> float:
        rank = share * (len(times) - 1)
        below, above = sorted(times)[math.floor(rank)], sorted(times)[math.ceil(rank)]
        return below + (above - below) * (rank - math.floor(rank))

    return at(0.95) - at(0.05)


def ridge() -> float:
    """Operations a byte where the roofline's two lines meet."""
    return max(raw.ceiling("gemm_flops_per_s"), raw.ceiling("gemm_back_to_back_flops_per_s")) / raw.ceiling(
        "copy_bytes_per_s"
    )


def intensity(stage: str) -> float:
    kernels = raw.record(stage)["hbm"]
    return raw.record(stage)["flops"] / sum(kernel["read_bytes"] + kernel["write_bytes"] for kernel in kernels)


SETUPS = ("mlp_eager", "mlp_compiled", "mlp_cudagraph", "mlp_max_autotune", "mlp_liger", "mlp_liger_compiled")
LINEAR_BYTES = 2 * (8192 * 768 + 3072 * 768 + 8192 * 3072)
LINEAR_FLOP = 2 * 8192 * 768 * 3072
TENSOR = 8192 * 3072

ROUTES: dict[str, Route] = {
    # read-a-trace
    "gpu-work-of-matmul-add": lambda: sum(len(raw.work("matmul_add", kind)) for kind in ("kernel", "memset", "memcpy")),
    "does-the-launch-wait": lambda: right(
        (took := raw.call_us("matmul_add", "cudaLaunchKernel")) >= 0.7 * raw.kernel_us("matmul_add", 2),
        took < 0.7 * raw.kernel_us("matmul_add", 2),
    ),
    "what-sets-the-loop": lambda: right(
        (loop := raw.scalar("linear_small", "back_to_back_us")) <= 1.3 * raw.gpu_us("linear_small"),
        loop > 1.3 * raw.gpu_us("linear_small"),
        raw.hbm_mb("linear_small", 1) * 1e6 / raw.ceiling("copy_bytes_per_s") * 1e6 > loop / 2,
    ),
    "sum-of-the-column": lambda: raw.table_ratio("matmul_add"),
    # nn-linear
    "biased-linear-kernels": lambda: len(raw.work("linear_eager")),
    "product-or-addition": lambda: right(
        raw.kernel_us("matmul_add", 1) > 1.5 * raw.kernel_us("matmul_add", 2),
        1 <= raw.kernel_us("matmul_add", 1) / raw.kernel_us("matmul_add", 2) <= 1.5,
        raw.kernel_us("matmul_add", 2) > raw.kernel_us("matmul_add", 1),
    ),
    "blocks-of-the-gemm": lambda: right(
        (blocks := math.prod(raw.work("linear_eager")[0]["args"]["grid"])) == TENSOR // (256 * 128),
        blocks == raw.environment()["sm_count"],
        blocks == 8192,
    ),
    "what-bounds-the-gemm": lambda: right(
        LINEAR_FLOP / raw.ceiling("gemm_flops_per_s") > LINEAR_BYTES / raw.ceiling("copy_bytes_per_s"),
        LINEAR_FLOP / raw.ceiling("gemm_flops_per_s") <= LINEAR_BYTES / raw.ceiling("copy_bytes_per_s"),
    ),
    # compile-one-linear
    "kernel-after-compiling": lambda: right(
        (after := name_of("linear_small_compiled", 1)) == name_of("linear_small", 1),
        "triton" in after,
        after != name_of("linear_small", 1) and "triton" not in after,
    ),
    "what-compiling-removes": lambda: right(
        *(
            bool(raw.ops("linear_small", op)) and not raw.ops("linear_small_compiled", op)
            for op in ("aten::linear", "aten::t", "aten::addmm", "aten::as_strided")
        )
    ),
    "price-of-the-guards": lambda: (
        raw.scalar("linear_small_compiled", "back_to_back_us") / raw.scalar("linear_small", "back_to_back_us")
    ),
    "large-linear-in-a-loop": lambda: right(
        (slower := raw.scalar("linear_compiled", "back_to_back_us") / raw.scalar("linear_eager", "back_to_back_us"))
        > 1.1,
        1 / 1.1 <= slower <= 1.1,
        slower < 1 / 1.1,
    ),
    # three-linears-and-a-gate
    "mlp-memsets": lambda: len(raw.work("mlp_eager", "memset")),
    "launches-of-the-mlp": lambda: right(
        *(
            call in raw.launches("mlp_eager")
            for call in ("cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemsetAsync", "cudaGraphLaunch")
        )
    ),
    "names-that-differ-from-the-a100": lambda: right(
        all(name_of("mlp_eager", n).startswith("nvjet") for n in (1, 3, 5)),
        not name_of("mlp_eager", 2).startswith("void at::native::vectorized_elementwise_kernel"),
        not name_of("mlp_eager", 4).startswith("void at::native::vectorized_elementwise_kernel"),
    ),
    "share-of-pointwise": lambda: (
        100 * (raw.kernel_us("mlp_eager", 2) + raw.kernel_us("mlp_eager", 4)) / raw.gpu_us("mlp_eager")
    ),
    # compile-the-mlp
    "most-that-fusing-can-give": lambda: (
        1 / (1 - (raw.kernel_us("mlp_eager", 2) + raw.kernel_us("mlp_eager", 4)) / raw.gpu_us("mlp_eager"))
    ),
    "compiled-mlp-kernels": lambda: len(raw.work("mlp_compiled")),
    "what-fuses": lambda: right(
        *(part in name_of("mlp_compiled", 3).split("_") for part in ("gelu", "mul", "view")),
        name_of("mlp_compiled", 1) != name_of("mlp_eager", 1),
    ),
    "bytes-that-fusing-saves": lambda: (
        sum(raw.hbm_mb("mlp_eager", n) for n in range(1, 6)) - sum(raw.hbm_mb("mlp_compiled", n) for n in range(1, 5))
    ),
    "launches-of-the-graph": lambda: len(raw.launches("mlp_cudagraph")),
    "what-the-graph-adds": lambda: right(
        (more := len(raw.work("mlp_cudagraph")) - len(raw.work("mlp_compiled"))) == 0,
        more == 1 and raw.launch("mlp_cudagraph", raw.work("mlp_cudagraph")[0])["name"] == "cudaLaunchKernel",
        more > 1,
    ),
    "draws-of-max-autotune": lambda: raw.draws("mlp_max_autotune"),
    # a-kernel-someone-else-tuned
    "when-is-liger-compiled": lambda: right(
        (longer := raw.scalar("mlp_liger", "first_call_ms") / raw.scalar("mlp_eager", "first_call_ms")) <= 2,
        longer > 2,
    ),
    "blocks-of-liger": lambda: math.prod(raw.work("mlp_liger")[2]["args"]["grid"]),
    "lookups-of-liger": lambda: len(raw.ops("mlp_liger", "TorchDynamo Cache Lookup")),
    "liger-or-inductor": lambda: right(
        (liger := spread("mlp_liger", 3))[1] < (inductor := spread("mlp_compiled", 3))[0],
        inductor[1] < liger[0],
        liger[1] >= inductor[0] and inductor[1] >= liger[0],
    ),
    "liger-against-inductor": lambda: raw.kernel_us("mlp_liger", 3),
    # traps
    "cudalaunchkernel-when-compiled": lambda: raw.call_count("mlp_compiled", "cudaLaunchKernel"),
    "occupancy-of-a-gemm": lambda: right(
        (occupancy := raw.work("mlp_eager")[0]["args"]["est. achieved occupancy %"]) > 50,
        0 < occupancy <= 50,
        occupancy == 0,
    ),
    "new-strides": lambda: right(
        not (ran := raw.work("linear_restrided", number=3)),
        bool(ran) and raw.median("linear_restrided", "step_us", 3) > 10 * raw.median("linear_restrided", "step_us", 2),
        bool(ran) and raw.median("linear_restrided", "step_us", 3) <= 10 * raw.median("linear_restrided", "step_us", 2),
    ),
    "blocks-per-sm": lambda: right(
        (per_sm := (gelu := raw.work("mlp_eager")[1]["args"])["blocks per SM"]) <= 2048 / math.prod(gelu["block"]),
        per_sm == pytest.approx(math.prod(gelu["grid"]) / raw.environment()["sm_count"], rel=1e-4),
    ),
    # choose
    "shortest-gpu-time": lambda: right(
        *(
            min(raw.time_us(stage) for stage in mine) == min(map(raw.time_us, SETUPS))
            for mine in (
                ("mlp_compiled",),
                ("mlp_cudagraph",),
                ("mlp_max_autotune",),
                ("mlp_liger", "mlp_liger_compiled"),
                ("mlp_eager",),
            )
        )
    ),
    "longest-first-call": lambda: right(*(mine == max(first_calls()) for mine in first_calls())),
    "forwards-to-pay-back": lambda: (
        raw.scalar("mlp_compiled", "first_call_ms") * 1000 / (raw.time_us("mlp_eager") - raw.time_us("mlp_compiled"))
    ),
    "share-of-the-ceiling": lambda: (
        100
        * 3
        * LINEAR_FLOP
        / (raw.time_us("mlp_liger") / 1e6)
        / max(raw.ceiling("gemm_flops_per_s"), raw.ceiling("gemm_back_to_back_flops_per_s"))
    ),
    # one-trace-is-one-draw
    "spread-within-a-process": lambda: statistics.median(map(but_the_extremes, samples("mlp_eager"))),
    "ways-of-fresh-processes": lambda: raw.draws("mlp_max_autotune"),
    "slowest-over-fastest": lambda: max(medians("mlp_max_autotune")) / min(medians("mlp_max_autotune")),
    "which-pairs-are-decided": lambda: right(
        *(
            max(medians(a)) < min(medians(b)) or max(medians(b)) < min(medians(a))
            for a, b in (
                ("mlp_eager", "mlp_compiled"),
                ("mlp_compiled", "mlp_liger"),
                ("mlp_liger", "mlp_liger_compiled"),
            )
        )
    ),
    # fuse-into-the-gemm
    "gemms-alone": lambda: sum(raw.kernel_us("mlp_liger", position) for position in (1, 2, 4)),
    "kernels-of-the-fused-mlp": lambda: len(raw.work("mlp_fused_gemm")),
    "time-of-the-first-version": lambda: raw.kernel_us("mlp_fused_first", 1),
    "ours-or-quack": lambda: right(
        (ours := max(medians("mlp_fused_gemm")) < min(medians("mlp_quack"))),
        (theirs := max(medians("mlp_quack")) < min(medians("mlp_fused_gemm"))),
        not ours and not theirs,
    ),
    "bytes-of-the-fused-mlp": lambda: sum(raw.hbm_mb("mlp_fused_gemm", position) for position in (1, 2)),
    "roof-of-the-mlp": lambda: right(
        (by_bytes := intensity("mlp_fused_gemm") < ridge()),
        not (by_gaps := raw.time_us("mlp_fused_gemm") > 1.2 * raw.gpu_us("mlp_fused_gemm")) and not by_bytes,
        by_gaps,
    ),
    # when-shapes-change
    "graphs-of-the-batch-sweep": lambda: raw.graphs("batch_compiled"),
    "graphs-with-dynamic-on": lambda: raw.graphs("batch_dynamic"),
    "slow-without-a-compile": lambda: right(
        bool(compiled := raw.graphs("batch_compiled", "48")),
        not compiled and (eager := raw.nth_ms("batch_eager", "48", 1) / raw.nth_ms("batch_eager", "48", 10)) > 3,
        not compiled and eager <= 3,
    ),
    "graphs-of-the-sequence-sweep": lambda: raw.graphs("sequence_marked"),
    "graphs-of-the-hidden-sweep": lambda: raw.graphs("hidden_dynamic"),
    "liger-at-a-new-hidden-size": lambda: right(
        (new := raw.nth_ms("hidden_liger", "2048", 1) / raw.nth_ms("hidden_liger", "again", 1)) <= 10, new > 10
    ),
    "graphs-of-two-types": lambda: raw.graphs("dtype_marked"),
    "what-any-size-costs": lambda: right(
        (same := raw.sweep_kernels("batch_compiled", "96") == raw.sweep_kernels("batch_static", "96"))
        and (warm := raw.sweep_gpu_us("batch_compiled_warm", "96") / raw.sweep_gpu_us("batch_static", "96")) > 1.02,
        same and warm <= 1.02,
        not same,
    ),
    "past-the-limit": lambda: right(
        bool(compiled := raw.graphs("limit_static", "72")),
        not compiled
        and (same := len(raw.sweep_kernels("limit_static", "again")) == len(raw.sweep_kernels("limit_static", "72"))),
        not compiled and not same,
    ),
    "what-a-warm-cache-saves": lambda: raw.nth_ms("batch_compiled_warm", "64", 1),
    # read-a-trace
    "first-step": lambda: raw.median("linear_small_cold", "cpu_us", 1) / raw.median("linear_small_cold", "cpu_us", 3),
    # nn-linear
    "what-t-starts": lambda: {
        option
        for option, holds in (
            (1, raw.launched_under("linear_eager", "aten::t") > 0),
            (2, bool(raw.work("linear_eager", "memcpy"))),
            (3, raw.launched_under("linear_small_cold", "aten::t") > 0),
            (4, raw.launched_under("linear_eager", "aten::t") == 0 and bool(raw.ops("linear_eager", "aten::t"))),
        )
        if holds
    },
    # three-linears-and-a-gate
    "eager-mlp-kernels": lambda: len(raw.work("mlp_eager")),
    "mlp-kernels-by-time": lambda: [raw.kernel_us("mlp_eager", position) for position in (1, 2, 4, 5)],
}

OWN_FILES = list(of_chapters())
ALL_ROUTES = {**ROUTES, **dict(OWN_FILES)}


def unrecorded(exercise: Exercise) -> str:
    """A stage that the exercise asks about and no GPU has recorded yet."""
    asked = " ".join([exercise.answer, *(o.when for o in exercise.option), *(i.at for i in exercise.item)])
    stages = re.findall(r"\{(\w+)\.", asked)
    return next((s for s in stages if s != "recording" and not (raw.FOLDER / s).is_dir()), "")


@pytest.mark.parametrize("exercise", EXERCISES, ids=[one.id for one in EXERCISES])
def test_the_answer_is_the_same_by_a_second_route(exercise: Exercise) -> None:
    own_file = f"tests/routes/{exercise.chapter.replace('-', '_')}.py"
    assert exercise.id in ALL_ROUTES, f"{exercise.place}: add {exercise.id!r} to ROUTES in {own_file}"
    if missing := unrecorded(exercise):
        pytest.skip(f"{missing} is not recorded yet")
    found, again = answer(exercise, FACTS), ALL_ROUTES[exercise.id]()
    if exercise.kind == "choice":
        assert again == {position + 1 for position in found.right}
    elif exercise.kind == "order":
        assert isinstance(again, list)
        assert again == pytest.approx([part.value for part in found.parts])
        assert sorted(range(len(again)), key=again.__getitem__) == list(found.right)
    else:
        assert again == pytest.approx(found.number)


def test_every_route_is_of_an_exercise() -> None:
    assert set(ALL_ROUTES) <= {one.id for one in EXERCISES}


def test_no_exercise_has_two_routes() -> None:
    assert len(ALL_ROUTES) == len(ROUTES) + len(OWN_FILES)
