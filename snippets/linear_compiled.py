"""One nn.Linear with a bias under torch.compile."""

import torch
from linear_eager import FLOPS, make_input, make_linear, reference
from measure import Step, show

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    linear, x = torch.compile(make_linear()), make_input()
    return lambda: linear(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "linear_compiled")
