"""The small Linear profiled from its first step on, with no warm-up of any kind."""

from linear_small import FLOPS, reference, stage
from measure import show

__all__ = ["FLOPS", "reference", "stage"]


if __name__ == "__main__":
    # --8<-- [start:model]
    show(stage, "linear_small_cold", cold=True)
    # --8<-- [end:model]
