"""The kernel's partitions hand slots to each other rightly in any order, and neither race nor wait for ever.

Gluon has no interpreter. So the kernel's own functions run on a machine in Python (unkind_machine.py), with tiles
made small; and faults that are planted in the source are found there.
"""

import math

import numpy as np
import pytest
from unkind_machine import SOURCE, Descriptor, FaultError, Machine, load

SMALL = {"ROWS": 4, "COLUMNS": 3, "DEPTH": 2, "GROUP": 2}  # a tile of 8 rows and 3 columns, 2 terms a step
SHAPES = [
    # rows, hidden, dim
    (1, 1, 1),
    (8, 3, 2),
    (8, 3, 24),
    (9, 4, 3),
    (16, 6, 6),  # fewer steps than slots, several tiles: consumer 0 runs ahead
    (40, 9, 2),  # one step a tile
    (40, 9, 8),  # as many steps as slots
    (23, 10, 13),
    (64, 12, 16),
]


def run(rows: int, hidden: int, dim: int, programs: int, seed: int, change=str) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel made and what it should have."""
    draw = np.random.default_rng(seed)
    x, w_gate, w_up = (draw.standard_normal(shape) for shape in ((rows, dim), (hidden, dim), (hidden, dim)))
    out = np.full((rows, hidden), np.nan)
    machine = Machine(seed, programs)
    module = load(machine, change, **SMALL)
    blocks = (4, 2), (3, 2), (3, 2), (4, 3)
    tensors = [Descriptor(data, block) for data, block in zip((x, w_gate, w_up, out), blocks, strict=True)]
    for machine.program in range(programs):
        module.geglu_gemm_kernel(*tensors, math.ceil(rows / 8), math.ceil(hidden / 3), math.ceil(dim / 2))
    gate, up = x @ w_gate.T, x @ w_up.T
    return out, 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) * up


@pytest.mark.parametrize("programs", [1, 2, 5])
@pytest.mark.parametrize(("rows", "hidden", "dim"), SHAPES)
def test_every_order_of_events_gives_the_right_result(rows: int, hidden: int, dim: int, programs: int) -> None:
    for seed in range(3):
        got, want = run(rows, hidden, dim, programs, seed)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


FAULTS = {
    "a slot is given back before the product that reads it is done": (
        "    both = warpgroup_mma(x, w.permute([1, 0]), both, use_acc=ADD, is_async=True)\n"
        "    return warpgroup_mma_wait(1, deps=[both])",
        "    return warpgroup_mma(x, w.permute([1, 0]), both, use_acc=ADD, is_async=True)",
    ),
    "a product starts before its slot is full": (
        "    mbarrier.wait(full.index(slot), turn // STAGES & 1)\n",
        "",
    ),
    "the loader does not wait for an empty slot": (
        "            mbarrier.wait(empty.index(slot), (turn // STAGES & 1) ^ 1)\n",
        "",
    ),
    "the loader takes the first round for full": ("(turn // STAGES & 1) ^ 1", "turn // STAGES & 1"),
    "a slot counts as empty when one consumer is done": (
        "empty.index(slot), count=CONSUMERS",
        "empty.index(slot), count=1",
    ),
    "consumer 1 waits where consumer 0 may be two tiles ahead": ("pred=steps >= STAGES", "pred=True"),
    "a result is overwritten while it is sent": ("        tma.store_wait(0)  # the last tile's result", "        # "),
    "the copy engine is not told to look": ("        fence_async_shared()", "        pass"),
    "the program ends before its last result is sent": (
        "        tiles_done += 1\n    tma.store_wait(0)",
        "        tiles_done += 1",
    ),
    "too few bytes are expected": (" + w_up.block_type.nbytes", ""),
    "gate and up change places": ("gate, up = both", "up, gate = both"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    old, new = FAULTS[fault]
    assert SOURCE.read_text(encoding="utf-8").count(old) == 1, "the source has changed: plant the fault anew"
    found = 0
    for seed in range(6):
        for shape in ((16, 6, 6), (64, 12, 16), (40, 9, 2)):
            try:
                got, want = run(*shape, 1, seed, lambda source: source.replace(old, new))
            except FaultError:
                found += 1
            else:
                found += not np.allclose(got, want)
    assert found, "no order of events showed it"
