"""The GeGLU MLP in the second version of our gated GEMM, in Triton: one wide product, gate and up in turns."""

from geglu_gemm_second import geglu_gemm, in_turns
from measure import Step, show
from mlp_eager import FLOPS, GegluMLP, make_input, make_mlp, reference
from problem import DEVICE, DIM, DTYPE, HIDDEN
from torch import Tensor, nn

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
class SecondFusedMLP(nn.Module):
    """The same block, the rows of its first two weights in turns: gate 0, up 0, gate 1, up 1, …"""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(dim, 2 * hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = geglu_gemm(x.reshape(-1, x.shape[-1]), self.gate_up_proj.weight)
        return self.down_proj(h.reshape(*x.shape[:-1], -1))


def make_second_fused_mlp(mlp: GegluMLP) -> SecondFusedMLP:
    fused = SecondFusedMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)
    fused.gate_up_proj.weight.copy_(in_turns(mlp.gate_proj.weight, mlp.up_proj.weight))
    fused.down_proj.weight.copy_(mlp.down_proj.weight)
    return fused


def stage() -> Step:
    mlp, x = make_second_fused_mlp(make_mlp()), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_fused_second")
