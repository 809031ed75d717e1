"""The MLP called with two batch sizes more than torch.compile keeps graphs for, and then with the first one again."""

from functools import partial

from mlp_eager import make_mlp
from problem import DIM, SEQUENCE, random_input
from setups import Setup
from sweeping import Calls, show_sweep
from torch._dynamo import config


# --8<-- [start:sweep]
def sweep(setup: Setup) -> Calls:
    forward = setup(make_mlp())
    batches = range(8, 8 * (config.recompile_limit + 3), 8)
    for batch in batches:
        yield str(batch), partial(forward, random_input(batch, SEQUENCE, DIM))
    yield "again", partial(forward, random_input(batches[0], SEQUENCE, DIM))


# --8<-- [end:sweep]


if __name__ == "__main__":
    show_sweep(sweep)
