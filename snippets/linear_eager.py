"""One nn.Linear with a bias: 8192 rows, 768 → 3072."""

import torch
from measure import Step, show
from problem import BATCH, DEVICE, DIM, DTYPE, HIDDEN, ROWS, SEED, SEQUENCE, gemm_flops, random_input
from torch import Tensor, nn

FLOPS = gemm_flops(ROWS, DIM, HIDDEN)


# --8<-- [start:model]
def make_linear(bias: bool = True) -> nn.Linear:
    torch.manual_seed(SEED)
    return nn.Linear(DIM, HIDDEN, bias=bias, device=DEVICE, dtype=DTYPE).requires_grad_(False)


def make_input() -> Tensor:
    return random_input(BATCH, SEQUENCE, DIM)


def stage() -> Step:
    linear, x = make_linear(), make_input()
    return lambda: linear(x)


# --8<-- [end:model]


def reference() -> Tensor:
    """The same layer in float64, shape [64, 128, 3072]."""
    return make_linear().double()(make_input().double())


if __name__ == "__main__":
    show(stage, "linear_eager")
