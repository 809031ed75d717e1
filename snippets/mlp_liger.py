"""The GeGLU MLP with gelu and product in one Triton kernel that Liger's authors wrote by hand."""

from types import SimpleNamespace

from kernels import get_kernel
from measure import Step, show
from mlp_eager import FLOPS, make_input, make_mlp, reference
from problem import DEVICE, DIM, DTYPE, HIDDEN
from torch import nn

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def make_liger_mlp() -> nn.Module:
    layers = get_kernel("kernels-community/liger-kernels", version=1).layers
    config = SimpleNamespace(hidden_size=DIM, intermediate_size=HIDDEN, hidden_act="gelu_pytorch_tanh")
    mlp = layers.LigerGEGLUMLP(config).to(DEVICE, DTYPE).requires_grad_(False)
    mlp.load_state_dict(make_mlp().state_dict())
    return mlp


def stage() -> Step:
    mlp, x = make_liger_mlp(), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_liger")
