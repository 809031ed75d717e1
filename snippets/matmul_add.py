"""What nn.Linear computes, spelled out: a matrix product, then the bias added by an op of its own."""

import torch
from linear_eager import FLOPS, make_input, make_linear, reference
from measure import Step, show

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    linear, x = make_linear(), make_input()
    w, b = linear.weight, linear.bias
    return lambda: torch.add(torch.matmul(x, w.T), b)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "matmul_add")
