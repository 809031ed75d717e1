"""The MLP called with one sequence length after the other, at the same batch size."""

from functools import partial

from mlp_eager import make_mlp
from problem import BATCH, DIM, random_input
from setups import Setup
from sweeping import Calls, show_sweep

# --8<-- [start:sweep]
SEQUENCES = (128, 64, 256, 96)


def sweep(setup: Setup) -> Calls:
    forward = setup(make_mlp())
    for sequence in SEQUENCES:
        yield str(sequence), partial(forward, random_input(BATCH, sequence, DIM))


# --8<-- [end:sweep]


if __name__ == "__main__":
    show_sweep(sweep)
