"""The GeGLU MLP with gate and up as one GEMM of twice the columns, under torch.compile."""

import torch
from measure import Step, show
from mlp_eager import FLOPS, GegluMLP, make_input, make_mlp, reference
from problem import DEVICE, DIM, DTYPE, HIDDEN
from torch import Tensor, nn
from torch.nn.functional import gelu

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
class ConcatMLP(nn.Module):
    """The same block, its first two weights in one matrix [2 · hidden, dim]: gate's rows above up's."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(dim, 2 * hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(gelu(gate, approximate="tanh") * up)


def make_concat_mlp(mlp: GegluMLP) -> ConcatMLP:
    concat = ConcatMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)
    concat.gate_up_proj.weight.copy_(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]))
    concat.down_proj.weight.copy_(mlp.down_proj.weight)
    return concat


def stage() -> Step:
    mlp, x = torch.compile(make_concat_mlp(make_mlp())), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_concat_compiled")
