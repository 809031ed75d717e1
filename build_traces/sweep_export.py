"""Sweeps in an export: every sweep.json whole, with the names of kernels in the list of names."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from build_traces.sweep_record import SWEEP_PROTOCOL, CallRecord, Graph, SweepProcess, SweepRecord, inconsistency
from build_traces.sweeps import Caches, Sweep


class CallRow(msgspec.Struct, frozen=True, array_like=True):
    """A call of a sweep in one process, as in sweep.json; `kernels` are *names*."""

    name: str
    call_ms: tuple[float, ...]
    gpu_us: tuple[float, ...]
    graphs: tuple[Graph, ...]
    cache_hits: int
    kernels: tuple[int, ...]


class SweepProcessRows(msgspec.Struct, frozen=True, array_like=True):
    """One fresh process, as in sweep.json."""

    calls: tuple[CallRow, ...]
    seconds: float


class SweepRows(msgspec.Struct, frozen=True):
    """One sweep: its entry in ladder.toml, and what sweep.json says."""

    name: str
    title: str
    snippet: str
    setup: str
    caches: Caches
    log: bool
    chapter: int
    protocol: int
    sha256: str
    command: str
    recorded: str
    commit: str
    machine: str
    processes: tuple[SweepProcessRows, ...]
    artefacts: tuple[str, ...]


def rows(sweep: Sweep, record: SweepRecord, names: Callable[[str], int]) -> SweepRows:
    """A sweep as it stands in an export; `names` gives a string its number."""

    def call(one: CallRecord) -> CallRow:
        kernels = tuple(map(names, one.kernels))
        return CallRow(one.name, one.call_ms, one.gpu_us, one.graphs, one.cache_hits, kernels)

    return SweepRows(
        name=sweep.name,
        title=sweep.title,
        snippet=sweep.snippet.stem,
        setup=sweep.setup,
        caches=sweep.caches,
        log=sweep.log,
        chapter=sweep.chapter,
        protocol=record.protocol,
        sha256=record.sha256,
        command=record.command,
        recorded=record.recorded,
        commit=record.commit,
        machine=record.machine,
        processes=tuple(SweepProcessRows(tuple(map(call, p.calls)), p.seconds) for p in record.processes),
        artefacts=record.artefacts,
    )


def entry(found: SweepRows) -> Sweep:
    """The sweep's entry in the ladder that it was exported from."""
    return Sweep(
        name=found.name,
        title=found.title,
        snippet=Path(f"{found.snippet}.py"),
        setup=found.setup,
        caches=found.caches,
        log=found.log,
        chapter=found.chapter,
    )


def record(found: SweepRows, names: Sequence[str]) -> SweepRecord:
    """The sweep.json that it was exported from."""

    def call(row: CallRow) -> CallRecord:
        kernels = tuple(names[kernel] for kernel in row.kernels)
        return CallRecord(row.name, row.call_ms, row.gpu_us, row.graphs, row.cache_hits, kernels)

    return SweepRecord(
        sweep=found.name,
        protocol=found.protocol,
        sha256=found.sha256,
        command=found.command,
        recorded=found.recorded,
        commit=found.commit,
        machine=found.machine,
        processes=tuple(SweepProcess(tuple(map(call, p.calls)), p.seconds) for p in found.processes),
        artefacts=found.artefacts,
    )


def wrong(found: SweepRows, names: Sequence[str]) -> str:
    """What a reader of it would trip over, "" if nothing."""
    if found.protocol != SWEEP_PROTOCOL:
        return f"it is of protocol {found.protocol}; this reader knows {SWEEP_PROTOCOL}"
    if not all(0 <= kernel < len(names) for p in found.processes for row in p.calls for kernel in row.kernels):
        return "a name is not in the list of names"
    return inconsistency(record(found, names))
