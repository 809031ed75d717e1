"""The compiled MLP replayed as one CUDA graph (mode reduce-overhead)."""

import torch
from measure import Step, show
from mlp_eager import FLOPS, make_input, make_mlp, reference

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    mlp, x = torch.compile(make_mlp(), mode="reduce-overhead"), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_cudagraph")
