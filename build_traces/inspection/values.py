"""What any trace says, as values. Times are microseconds, rounded to a nanosecond."""

from typing import Literal

import msgspec

from build_traces.trace import ActivityKind

SCHEMA = 1
"""Counted up when a value changes its meaning or place."""


class Spread(msgspec.Struct, frozen=True):
    """The median over steps, the lowest and the highest."""

    median: float
    low: float
    high: float


class Gpu(msgspec.Struct, frozen=True):
    """A GPU that ran something in the trace, or that the file lists; None where it does not say."""

    device: int
    name: str
    memory_bytes: int | None
    multiprocessors: int | None
    capability: str
    activities: int


class About(msgspec.Struct, frozen=True):
    """The file: how many events of which kind it holds, and what it says of the machine and the profiler."""

    source: str
    events: int
    ops: int
    annotations: int
    calls: int
    kernels: int
    memsets: int
    memcpys: int
    threads: int
    gpus: tuple[Gpu, ...]
    versions: dict[str, int]
    options: tuple[str, ...]
    rank: int | None
    world_size: int | None
    backend: str
    negative_durations: int


class Busy(msgspec.Struct, frozen=True):
    """What one GPU did between the start and the end of a step, whichever step launched it."""

    device: int
    busy_us: float
    idle_us: float
    idle_percent: float


class StepSays(msgspec.Struct, frozen=True):
    """One step; `kind` is a position in `Inspection.kinds`, `start_us` counts from the start of the first step."""

    number: int | None
    kind: int
    start_us: float
    us: float
    gpus: tuple[Busy, ...]


class Work(msgspec.Struct, frozen=True):
    """GPU work of a step with equal kind, name, grid and block.

    `count` and the summed time `us` are those of one step; `percent` is the share of all GPU work of the step.
    `call` launched the first of them, `op` is the innermost op around that call, "" for none.
    """

    kind: ActivityKind
    name: str
    short: str
    family: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    count: int
    us: Spread
    percent: float
    call: str
    op: str


class Launches(msgspec.Struct, frozen=True):
    """The calls of a name that started GPU work in a step: how often, how much they started, their time on the CPU."""

    call: str
    count: int
    started: int
    us: Spread


class StepKind(msgspec.Struct, frozen=True):
    """Steps that ran the same GPU work, by kind, name, grid, block and count, from the same launches."""

    steps: tuple[int | None, ...]
    step_us: Spread
    gpu_us: Spread
    idle_percent: Spread | None
    work: tuple[Work, ...]
    launches: tuple[Launches, ...]


Why = Literal["late", "queued", "unknown", "end"]
"""What an idle GPU waits for: a launch that the CPU made too late; work that was launched before the GPU went
idle; work whose launch is not in the file; nothing more in this step."""


class Idle(msgspec.Struct, frozen=True):
    """Idle time of steps by the op whose launch ended it (`call` where no op is around it), and why."""

    op: str
    call: str
    why: Why
    gaps: int
    us: float
    percent: float


class Gap(msgspec.Struct, frozen=True):
    """A time within a step in which a GPU ran nothing, `start_us` after the step's start; "" for no neighbor."""

    step: int | None
    device: int
    start_us: float
    us: float
    before: str
    after: str
    op: str
    call: str
    why: Why


class SilentOp(msgspec.Struct, frozen=True):
    """Ops of a name that launched nothing, also not through the ops inside them: `count` of `of` in all steps.

    `us` is their own time: the ops inside them are left out.
    """

    name: str
    count: int
    of: int
    us: float


class BlockingMemcpy(msgspec.Struct, frozen=True):
    """Memcpys that the CPU waited for, by name, op, launch and the call that waited.

    `us` is from the start of the launch to the end of the wait.
    """

    name: str
    op: str
    call: str
    waits_in: str
    count: int
    bytes: int
    us: float


class Unlaunched(msgspec.Struct, frozen=True):
    """GPU work whose launch is not in the file; `first_us` after the start of the first step."""

    kind: ActivityKind
    name: str
    short: str
    count: int
    us: float
    first_us: float


class Inspection(msgspec.Struct, frozen=True):
    """Everything said of one trace. `outside` counts work that was launched, but in no step."""

    schema: int
    about: About
    whole_file: bool
    steps: tuple[StepSays, ...]
    kinds: tuple[StepKind, ...]
    idle: tuple[Idle, ...]
    gaps: tuple[Gap, ...]
    silent_ops: tuple[SilentOp, ...]
    blocking_memcpys: tuple[BlockingMemcpy, ...]
    unlaunched: tuple[Unlaunched, ...]
    outside: dict[ActivityKind, int]
