"""The sizes, the seed and the inputs that the stages share."""

import torch
from torch import Tensor

DEVICE = torch.device("cuda")
DTYPE = torch.bfloat16
SEED = 0

# --8<-- [start:sizes]
BATCH, SEQUENCE, DIM, HIDDEN = 64, 128, 768, 3072
ROWS = BATCH * SEQUENCE  # what a GEMM sees: every position of every sequence
SMALL_ROWS, SMALL_IN, SMALL_OUT = 1024, 32, 64
# --8<-- [end:sizes]


def gemm_flops(rows: int, inner: int, columns: int) -> int:
    """Floating-point operations of [rows, inner] times [inner, columns]: a multiply and an add each."""
    return 2 * rows * inner * columns


def random_input(*shape: int) -> Tensor:
    """A standard normal tensor of this shape; the same one in every process."""
    generator = torch.Generator(DEVICE).manual_seed(SEED)
    return torch.randn(*shape, generator=generator, device=DEVICE, dtype=DTYPE)
