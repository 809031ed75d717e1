"""The GeGLU MLP with gate, up, GELU and product in one kernel of our own; cuBLAS multiplies by down."""

from pathlib import Path

from kernels import get_local_kernel
from measure import Step, show
from mlp_eager import FLOPS, GegluMLP, make_input, make_mlp, reference
from problem import DEVICE, DIM, DTYPE, HIDDEN
from torch import Tensor

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
geglu_gemm = get_local_kernel(Path(__file__).resolve().parents[1] / "kernel/geglu-gemm").geglu_gemm


class FusedMLP(GegluMLP):
    """The same block and the same weights; only the way there differs."""

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(geglu_gemm(x, self.gate_proj.weight, self.up_proj.weight))


def make_fused_mlp() -> FusedMLP:
    mlp = FusedMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)
    mlp.load_state_dict(make_mlp().state_dict())
    return mlp


def stage() -> Step:
    mlp, x = make_fused_mlp(), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_fused_gemm")
