"""The set-ups that sweeps run the MLP in: each takes the eager module and returns what is called in its place."""

from collections.abc import Callable
from types import SimpleNamespace

import torch
from kernels import get_kernel
from mlp_eager import GegluMLP
from problem import DEVICE
from torch import Tensor
from torch._dynamo import mark_dynamic

Forward = Callable[[Tensor], Tensor]
Setup = Callable[[GegluMLP], Forward]


# --8<-- [start:setups]
def eager(mlp: GegluMLP) -> Forward:
    return mlp


def compiled(mlp: GegluMLP) -> Forward:
    return torch.compile(mlp)


def dynamic(mlp: GegluMLP) -> Forward:
    return torch.compile(mlp, dynamic=True)


def static(mlp: GegluMLP) -> Forward:
    return torch.compile(mlp, dynamic=False)


def marked(mlp: GegluMLP) -> Forward:
    forward = torch.compile(mlp)

    def mark_and_call(x: Tensor) -> Tensor:
        mark_dynamic(x, 0)  # the batch
        return forward(x)

    return mark_and_call


def graph(mlp: GegluMLP) -> Forward:
    return torch.compile(mlp, mode="reduce-overhead")


def liger(mlp: GegluMLP) -> Forward:
    layers = get_kernel("kernels-community/liger-kernels", version=1).layers
    weight = mlp.gate_proj.weight
    config = SimpleNamespace(
        hidden_size=weight.shape[1], intermediate_size=weight.shape[0], hidden_act="gelu_pytorch_tanh"
    )
    layer = layers.LigerGEGLUMLP(config).to(DEVICE, weight.dtype).requires_grad_(False)
    layer.load_state_dict(mlp.state_dict())
    return layer


# --8<-- [end:setups]
