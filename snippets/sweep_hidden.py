"""One MLP after the other, each with another hidden size, called with the same input; the last repeats a size."""

from functools import partial

import torch
from mlp_eager import GegluMLP, make_input
from problem import DEVICE, DIM, DTYPE, SEED
from setups import Setup
from sweeping import Calls, show_sweep

# --8<-- [start:sweep]
HIDDEN_SIZES = {"3072": 3072, "1536": 1536, "2048": 2048, "again": 1536}


def sweep(setup: Setup) -> Calls:
    x = make_input()
    for name, hidden in HIDDEN_SIZES.items():
        torch.manual_seed(SEED)
        mlp = GegluMLP(DIM, hidden).to(DEVICE, DTYPE).requires_grad_(False)
        yield name, partial(setup(mlp), x)


# --8<-- [end:sweep]


if __name__ == "__main__":
    show_sweep(sweep)
