"""What any PyTorch trace says: steps, kernel lists, launches, where the GPU idles and what it waits for.

For `python -m build_traces inspect` and everything that compares traces. `inspect` reads a file of any size. Every
definition here is one that the site's own reader shares: tests/vectors holds traces with what they say.

A step is one `ProfilerStep#n`, from its start to its end on the CPU, or to the start of the next where they overlap.
A trace without any is one step, from the start of its first event to the end of its last.
"""

from collections import Counter
from pathlib import Path

from build_traces.errors import TraceError
from build_traces.inspection.idle import gaps, idle, idle_pieces
from build_traces.inspection.ops import blocking_memcpys, silent_ops, unlaunched
from build_traces.inspection.seen import MAX_NAME, Names, look, short_name, to_ns
from build_traces.inspection.steps import steps_of
from build_traces.inspection.values import (
    SCHEMA,
    About,
    BlockingMemcpy,
    Busy,
    Gap,
    Gpu,
    Idle,
    Inspection,
    Launches,
    SilentOp,
    Spread,
    StepKind,
    StepSays,
    Unlaunched,
    Why,
    Work,
)
from build_traces.trace import ACTIVITY_KINDS, MAX_BYTES, Device, Events, Progress, Ties, read_ties, without_gc

__all__ = [
    "MAX_NAME",
    "SCHEMA",
    "About",
    "BlockingMemcpy",
    "Busy",
    "Gap",
    "Gpu",
    "Idle",
    "Inspection",
    "Launches",
    "SilentOp",
    "Spread",
    "StepKind",
    "StepSays",
    "Unlaunched",
    "Why",
    "Work",
    "inspect",
    "say",
    "short_name",
    "to_ns",
]

MAX_STEPS_OF_GPUS = 4_000_000


def inspect(path: Path, max_bytes: int = MAX_BYTES, progress: Progress | None = None) -> Inspection:
    """Read a trace file and say what is in it. Raises TraceError."""
    with without_gc():  # what is read is gone before it ends
        return say(*read_ties(path, max_bytes, progress), path.name)


def say(events: Events, ties: Ties, source: str) -> Inspection:
    """What these events say. Raises TraceError for more steps than anybody profiles."""
    negative = _no_negative_durations(ties)
    seen, names = look(ties), Names()
    if len(seen.windows) * len(seen.work_of) > MAX_STEPS_OF_GPUS:
        steps_and_gpus = f"{len(seen.windows):,} steps on {len(seen.work_of):,} GPUs"
        raise TraceError(source, f"it has {steps_and_gpus}, more than can be told apart", hint="profile fewer steps")
    pieces = [piece for device in seen.work_of for piece in idle_pieces(seen, device)]
    steps, kinds = steps_of(seen, names, pieces)
    return Inspection(
        schema=SCHEMA,
        about=_about(events, ties, source, negative),
        whole_file=seen.whole_file,
        steps=steps,
        kinds=kinds,
        idle=idle(seen, pieces),
        gaps=gaps(seen, pieces),
        silent_ops=silent_ops(seen),
        blocking_memcpys=blocking_memcpys(seen),
        unlaunched=unlaunched(seen, names),
        outside=dict(Counter(ACTIVITY_KINDS[ties.work[at].cat] for at in seen.outside)),
    )


def _no_negative_durations(ties: Ties) -> int:
    """Events that end before they begin take no time; how many there were."""
    if ties.shortest_us >= 0:
        return 0
    negative = [event for events in (ties.ops, ties.calls, ties.work) for event in events if event.dur < 0]
    for event in negative:
        event.dur = 0.0
    return len(negative)


def _about(events: Events, ties: Ties, source: str, negative: int) -> About:
    kinds = Counter(event.cat for event in ties.work)
    annotations = events.annotations - len(ties.steps)
    return About(
        source=source,
        events=events.total,
        ops=len(ties.ops) - annotations,
        annotations=annotations,
        calls=len(ties.calls),
        kernels=kinds["kernel"],
        memsets=kinds["gpu_memset"],
        memcpys=kinds["gpu_memcpy"],
        threads=len(ties.threads),
        gpus=_gpus(events, ties),
        versions=events.versions,
        options=events.options,
        rank=events.distributed.rank,
        world_size=events.distributed.world_size,
        backend=events.distributed.backend,
        negative_durations=negative,
    )


def _gpus(events: Events, ties: Ties) -> tuple[Gpu, ...]:
    """Those that ran something; if none did, those that the file lists."""
    ran = Counter(event.args.device for event in ties.work)
    listed = {position if gpu.id is None else gpu.id: gpu for position, gpu in enumerate(events.devices)}
    return tuple(_gpu(device, listed.get(device), ran[device]) for device in sorted(ran or listed))


def _gpu(device: int, listed: Device | None, activities: int) -> Gpu:
    if listed is None:
        return Gpu(device, "", None, None, "", activities)
    capability = "" if listed.major is None else f"{listed.major}.{listed.minor or 0}"
    return Gpu(device, listed.name, listed.memory_bytes, listed.multiprocessors, capability, activities)
