"""sweep.json as values: what each process saw at each call of a sweep."""

import msgspec

SWEEP_PROTOCOL = 1
"""Counted up when the way a sweep is recorded changes; every sweep is stale then."""


class Graph(msgspec.Struct, frozen=True):
    """One compile, by torch's own metrics: a graph, or an attempt that was given up, and `failed` says how.

    `reason` is why a graph that was there did not fit, as torch words it; "" for a first compile. `dynamo_ms` is
    what tracing and guards took, `backend_ms` what Inductor did.
    """

    compile_id: str
    reason: str
    guards: int
    failed: str
    dynamo_ms: float
    backend_ms: float


class CallRecord(msgspec.Struct, frozen=True):
    """One named call in one process.

    `call_ms`: wall-clock times of its first calls, the wait for the GPU included. `gpu_us`: GPU times afterwards, by
    CUDA events from a cold L2. `graphs`: what was compiled meanwhile. `cache_hits`: graphs that Inductor found in its
    cache. `kernels`: names of the kernels of one call, in the order they run.
    """

    name: str
    call_ms: tuple[float, ...]
    gpu_us: tuple[float, ...]
    graphs: tuple[Graph, ...]
    cache_hits: int
    kernels: tuple[str, ...] = ()

    @property
    def compiled(self) -> tuple[Graph, ...]:
        """The graphs that this call added."""
        return tuple(graph for graph in self.graphs if not graph.failed)


class SweepProcess(msgspec.Struct, frozen=True):
    """What one fresh process measured, and how many seconds it took."""

    calls: tuple[CallRecord, ...]
    seconds: float


class SweepRecord(msgspec.Struct, frozen=True):
    """sweep.json."""

    sweep: str
    protocol: int
    sha256: str
    command: str
    recorded: str
    commit: str
    machine: str
    processes: tuple[SweepProcess, ...]
    artefacts: tuple[str, ...]


def inconsistency(record: SweepRecord) -> str:
    """What a reader of this record would trip over, "" if nothing."""
    if not record.processes or not record.processes[0].calls:
        return "it holds no call"
    names = [[call.name for call in process.calls] for process in record.processes]
    if any(other != names[0] for other in names):
        return "its processes made other calls"
    if len(set(names[0])) != len(names[0]):
        return "two of its calls have one name"
    calls = [call for process in record.processes for call in process.calls]
    if not all(len(call.call_ms) > 1 and call.gpu_us for call in calls):
        return "a call has no time samples"
    if not all(time > 0 for call in calls for time in (*call.call_ms, *call.gpu_us)):
        return "a call took no time"
    return ""
