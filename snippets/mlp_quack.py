"""The GeGLU MLP with gate, up, GELU and product in QuACK's gated GEMM; cuBLAS multiplies by down."""

import torch
from measure import Step, show
from mlp_eager import FLOPS, GegluMLP, make_input, make_mlp, reference
from problem import DEVICE, DIM, DTYPE, HIDDEN
from quack.gemm_interface import gemm_gated
from torch import Tensor, nn

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
class QuackMLP(nn.Module):
    """The same block, the rows of its first two weights in turns: gate 0, up 0, gate 1, up 1, …"""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(dim, 2 * hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        rows, weight = x.reshape(-1, x.shape[-1]), self.gate_up_proj.weight.T
        # Unless told not to, it also stores what it had before the activation, which a backward would need.
        _, h = gemm_gated(rows, weight, activation="geglu", store_preact=False, tuned=False)
        return self.down_proj(h.reshape(*x.shape[:-1], -1))


def make_quack_mlp(mlp: GegluMLP) -> QuackMLP:
    quack = QuackMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)
    in_turns = torch.stack([mlp.gate_proj.weight, mlp.up_proj.weight], dim=1)
    quack.gate_up_proj.weight.copy_(in_turns.reshape(2 * HIDDEN, DIM))
    quack.down_proj.weight.copy_(mlp.down_proj.weight)
    return quack


def stage() -> Step:
    mlp, x = make_quack_mlp(make_mlp()), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_quack")
