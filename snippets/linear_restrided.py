"""A compiled Linear, whose input keeps its shape and changes its strides at the third step."""

from itertools import chain, repeat

import torch
from linear_eager import FLOPS, make_input, make_linear, reference
from measure import Step, show

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    linear, x = torch.compile(make_linear()), make_input()
    restrided = x.transpose(0, 1).contiguous().transpose(0, 1)  # equal values and shape, other strides
    inputs = chain((x, x), repeat(restrided))
    return lambda: linear(next(inputs))


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "linear_restrided", cold=True)
