"""The product and the bias added by an op of its own, under torch.compile: which GEMM does Inductor make of them?"""

import torch
from linear_eager import FLOPS, make_input, make_linear
from measure import Step, show
from problem import DIM, ROWS
from torch import Tensor

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def matmul_add(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.add(torch.matmul(x, w.T), b)


def stage() -> Step:
    linear, x = make_linear(), make_input().view(ROWS, DIM)
    compiled = torch.compile(matmul_add)
    return lambda: compiled(x, linear.weight, linear.bias)


# --8<-- [end:model]


def reference() -> Tensor:
    """The same layer in float64, shape [8192, 3072]."""
    return make_linear().double()(make_input().double()).view(ROWS, -1)


if __name__ == "__main__":
    show(stage, "matmul_add_compiled")
