"""Liger's kernel inside a compiled MLP: Inductor calls it as it is."""

import torch
from measure import Step, show
from mlp_eager import FLOPS, make_input, reference
from mlp_liger import make_liger_mlp

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    mlp, x = torch.compile(make_liger_mlp()), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_liger_compiled")
