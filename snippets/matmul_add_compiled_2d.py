"""The compiled product and sum once more, with a bias that has a row for every row of the product."""

import torch
from linear_eager import FLOPS, make_input, make_linear
from matmul_add_compiled import matmul_add, reference
from measure import Step, show
from problem import DIM, HIDDEN, ROWS

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    linear, x = make_linear(), make_input().view(ROWS, DIM)
    bias = linear.bias.expand(ROWS, HIDDEN).contiguous()
    compiled = torch.compile(matmul_add)
    return lambda: compiled(x, linear.weight, bias)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "matmul_add_compiled_2d")
