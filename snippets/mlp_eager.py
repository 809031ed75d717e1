"""The block the ladder makes faster: a GeGLU MLP, 768 → 3072 → 768, as PyTorch runs it."""

import torch
from measure import Step, show
from problem import BATCH, DEVICE, DIM, DTYPE, HIDDEN, ROWS, SEED, SEQUENCE, gemm_flops, random_input
from torch import Tensor, nn
from torch.nn.functional import gelu

FLOPS = 3 * gemm_flops(ROWS, DIM, HIDDEN)


# --8<-- [start:model]
class GegluMLP(nn.Module):
    """x [..., dim] → [..., dim], through `hidden` features and a gate."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = gelu(self.gate_proj(x), approximate="tanh")
        return self.down_proj(gate * self.up_proj(x))


# --8<-- [end:model]


# --8<-- [start:stage]
def make_mlp() -> GegluMLP:
    torch.manual_seed(SEED)
    return GegluMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)


def make_input() -> Tensor:
    return random_input(BATCH, SEQUENCE, DIM)


def stage() -> Step:
    mlp, x = make_mlp(), make_input()
    return lambda: mlp(x)


# --8<-- [end:stage]


def reference() -> Tensor:
    """The same block in float64, shape [64, 128, 768]."""
    return make_mlp().double()(make_input().double())


if __name__ == "__main__":
    show(stage, "mlp_eager")
