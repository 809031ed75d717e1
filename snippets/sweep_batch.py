"""The MLP called with one batch size after the other."""

from functools import partial

from mlp_eager import make_mlp
from problem import DIM, SEQUENCE, random_input
from setups import Setup
from sweeping import Calls, show_sweep

# --8<-- [start:sweep]
BATCHES = (64, 32, 48, 16, 96, 1, 2)


def sweep(setup: Setup) -> Calls:
    forward = setup(make_mlp())
    for batch in BATCHES:
        yield str(batch), partial(forward, random_input(batch, SEQUENCE, DIM))


# --8<-- [end:sweep]


if __name__ == "__main__":
    show_sweep(sweep)
