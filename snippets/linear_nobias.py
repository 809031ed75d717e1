"""One nn.Linear without a bias: what the epilogue of `linear_eager` has to add."""

from linear_eager import FLOPS, make_input, make_linear
from measure import Step, show
from torch import Tensor

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
def stage() -> Step:
    linear, x = make_linear(bias=False), make_input()
    return lambda: linear(x)


# --8<-- [end:model]


def reference() -> Tensor:
    """The same layer in float64, shape [64, 128, 3072]."""
    return make_linear(bias=False).double()(make_input().double())


if __name__ == "__main__":
    show(stage, "linear_nobias")
