"""What the tests of stages share: the small problem, and what a stage's result is held against."""

import math
from types import ModuleType

import torch

SMALL = {"BATCH": 2, "SEQUENCE": 3, "DIM": 32, "HIDDEN": 48, "ROWS": 6, "SMALL_ROWS": 5, "SMALL_IN": 4, "SMALL_OUT": 8}


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    """The tanh form as its authors wrote it: Hendrycks and Gimpel, arXiv 1606.08415, section 2."""
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def agree(module: ModuleType, want: torch.Tensor) -> None:
    """The float64 reference is `want`, worked out by hand, to the last digits; the stage is it in float32."""
    torch.testing.assert_close(module.reference(), want, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(module.stage()().double(), want, rtol=1e-5, atol=1e-5)


def gemm_flops(*gemms: tuple[int, int, int]) -> int:
    """Of GEMMs given as rows, inner, columns: a multiply and an add for each element and inner position."""
    return sum(2 * rows * inner * columns for rows, inner, columns in gemms)
