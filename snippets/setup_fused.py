"""The set-up of sweeps that runs the MLP through our fused GEMM; beside the others, because it needs Hopper."""

from mlp_eager import GegluMLP
from mlp_fused_gemm import FusedMLP
from problem import DEVICE
from setups import Forward


# --8<-- [start:setup]
def fused(mlp: GegluMLP) -> Forward:
    hidden, dim = mlp.gate_proj.weight.shape
    layer = FusedMLP(dim, hidden).to(DEVICE, mlp.gate_proj.weight.dtype).requires_grad_(False)
    layer.load_state_dict(mlp.state_dict())
    return layer


# --8<-- [end:setup]
