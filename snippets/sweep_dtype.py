"""The MLP in bf16, and then the same one in fp16."""

from functools import partial

import torch
from mlp_eager import make_input, make_mlp
from setups import Setup
from sweeping import Calls, show_sweep

# --8<-- [start:sweep]
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def sweep(setup: Setup) -> Calls:
    for name, dtype in DTYPES.items():
        yield name, partial(setup(make_mlp().to(dtype)), make_input().to(dtype))


# --8<-- [end:sweep]


if __name__ == "__main__":
    show_sweep(sweep)
