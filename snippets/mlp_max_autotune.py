"""The compiled MLP with Inductor free to try its own GEMM kernels against cuBLAS."""

import torch
from measure import Step, show
from mlp_eager import FLOPS, make_input, make_mlp, reference

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    # Plain "max-autotune" captures a CUDA graph as well; mlp_cudagraph measures that by itself.
    mlp, x = torch.compile(make_mlp(), mode="max-autotune-no-cudagraphs"), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_max_autotune")
