"""A Linear so small that launching it costs more than running it."""

import torch
from measure import Step, show
from problem import DEVICE, DTYPE, SEED, SMALL_IN, SMALL_OUT, SMALL_ROWS, gemm_flops, random_input
from torch import Tensor, nn

FLOPS = gemm_flops(SMALL_ROWS, SMALL_IN, SMALL_OUT)


# --8<-- [start:model]
def make_linear() -> nn.Linear:
    torch.manual_seed(SEED)
    return nn.Linear(SMALL_IN, SMALL_OUT, device=DEVICE, dtype=DTYPE).requires_grad_(False)


def make_input() -> Tensor:
    return random_input(SMALL_ROWS, SMALL_IN)


def stage() -> Step:
    linear, x = make_linear(), make_input()
    return lambda: linear(x)


# --8<-- [end:model]


def reference() -> Tensor:
    """The same layer in float64, shape [1024, 64]."""
    return make_linear().double()(make_input().double())


if __name__ == "__main__":
    show(stage, "linear_small")
