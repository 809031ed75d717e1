"""What a trace holds, as values: steps, ops, calls and GPU activities, each tied to what it belongs to."""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

NONE = -1
"""Index or step number of something that is not there."""

OpKind = Literal["op", "annotation"]
ActivityKind = Literal["kernel", "memset", "memcpy"]

OP_KINDS: dict[str, OpKind] = {"cpu_op": "op", "user_annotation": "annotation"}
CALL_APIS = {"cuda_runtime": "runtime", "cuda_driver": "driver"}
ACTIVITY_KINDS: dict[str, ActivityKind] = {
    "kernel": "kernel",
    "gpu_memset": "memset",
    "gpu_memcpy": "memcpy",
}
STEP_NAME = re.compile(r"ProfilerStep#(\d{1,18})")


class Step(msgspec.Struct, frozen=True, gc=False):
    """One `ProfilerStep#number` on the CPU."""

    number: int
    start_us: float
    dur_us: float

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Op(msgspec.Struct, frozen=True, gc=False):
    """An op or a user annotation on a CPU thread; `parent` indexes `Trace.ops`."""

    index: int
    parent: int
    depth: int
    kind: OpKind
    name: str
    thread: int
    step: int
    start_us: float
    dur_us: float
    input_dims: msgspec.Raw

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Call(msgspec.Struct, frozen=True, gc=False):
    """A runtime or driver call on the CPU; a launch if `starts` is not empty.

    `op` indexes the innermost op or annotation around it, `starts` the activities it started.
    """

    index: int
    name: str
    api: str
    thread: int
    op: int
    step: int
    start_us: float
    dur_us: float
    correlation: int
    starts: tuple[int, ...]

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Activity(msgspec.Struct, frozen=True, gc=False):
    """A kernel, memset or memcpy on the GPU.

    `call` indexes its launch; `op`, that launch's innermost op or annotation, and `step` come from it.
    `blocks_per_sm` and `occupancy_percent` are the profiler's estimates, as it wrote them.
    """

    index: int
    kind: ActivityKind
    name: str
    device: int
    stream: str
    call: int
    op: int
    step: int
    start_us: float
    dur_us: float
    correlation: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    registers: int | None
    shared_memory_bytes: int | None
    bytes: int | None
    blocks_per_sm: float | None = None
    occupancy_percent: float | None = None

    @property
    def end_us(self) -> float:
        return self.start_us + self.dur_us


class Trace(msgspec.Struct, frozen=True):
    """Everything read from one file, each list ordered by start time."""

    source: str
    gpu: str
    steps: tuple[Step, ...]
    ops: tuple[Op, ...]
    calls: tuple[Call, ...]
    activities: tuple[Activity, ...]

    def kernels(self, step: int | None = None) -> list[Activity]:
        return self.of_kind("kernel", step)

    def of_kind(self, kind: ActivityKind, step: int | None = None) -> list[Activity]:
        return [a for a in self.activities if a.kind == kind and step in (None, a.step)]

    def launches(self, step: int | None = None) -> list[Call]:
        """The calls that started GPU work."""
        return [c for c in self.calls if c.starts and step in (None, c.step)]

    def children(self, op: Op) -> list[Op]:
        return [child for child in self.ops if child.parent == op.index]

    def ancestors(self, op_index: int) -> Iterator[Op]:
        """The op itself and every op around it, innermost first."""
        while op_index != NONE:
            op = self.ops[op_index]
            yield op
            op_index = op.parent

    def step(self, number: int) -> Step:
        """Raises KeyError for a step that is not in the trace."""
        for step in self.steps:
            if step.number == number:
                return step
        raise KeyError(number)
