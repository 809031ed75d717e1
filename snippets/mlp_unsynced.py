"""The MLP profiled by a loop that never waits for the GPU: the mistake that chapter 7 is about."""

from measure import Step, profiler_table, warm_up
from mlp_eager import FLOPS, reference, stage
from torch.profiler import ProfilerActivity, profile, record_function, schedule

__all__ = ["FLOPS", "profile_steps", "reference", "stage"]


# --8<-- [start:model]
def profile_steps(step: Step, label: str, warmup: int = 20, active: int = 3) -> profile:
    """Like the recorder's loop, with nothing between a step and the next one's launches."""
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=0, warmup=warmup, active=active, repeat=1),
        record_shapes=True,
    ) as prof:
        for _ in range(warmup + active):
            with record_function(label):
                step()
            prof.step()
    return prof


# --8<-- [end:model]


if __name__ == "__main__":
    step = stage()
    warm_up(step)
    print(profiler_table(profile_steps(step, "mlp_unsynced")))
