"""What a recording would run, and how long it takes, about: for those who pay for the GPU by the minute."""

from build_traces import record, record_sweeps
from build_traces.ladder import Recorded
from build_traces.recording import ENVIRONMENT_FILE, open_recording
from build_traces.sweeps import Sweep

IMPORT_SECONDS = 8
"""Until processes that import torch side by side are ready; once for a stage or a wave of sweeps."""
START_SECONDS = 1
"""What a process takes besides: it makes a CUDA context, and ends."""
STAGE_SECONDS = 12
"""One process of a stage, of those that are recorded: three seconds eager, half a minute for max-autotune."""
CORES = 16
"""Of the machine that the plan is for, which is seldom the one that prints it."""


def lines(request: record.Request) -> list[str]:
    """A line for each stage and sweep that is not fresh in some recording, or that is asked for, and their sum."""
    wanted = _wanted(request)
    told, total = [], 0.0
    for one in wanted:
        processes, seconds = _processes(one, request), _seconds(one, request)
        total += processes * (seconds + START_SECONDS)
        told.append(f"{one.name:24} {processes} processes of about {seconds:.0f} s")
    imports = _imports(wanted, request)
    told.append(f"together about {total + imports:.0f} s, of which {imports:.0f} s imports on {CORES} cores")
    return told


def _wanted(request: record.Request) -> list[Recorded]:
    """As on a machine whose recordings are those there are; all where there is none."""
    folders = sorted(path.parent for path in request.out.glob(f"*/{ENVIRONMENT_FILE}"))
    if not folders:
        return list(request.stages)
    environments = [(folder, open_recording(folder).environment.machine) for folder in folders]
    due = {one.name for folder, on in environments for one in record.due(request, folder, on)}
    return [one for one in request.stages if one.name in due]


def _processes(one: Recorded, request: record.Request) -> int:
    if isinstance(one, Sweep):
        return request.sweep_processes + (one.caches == "warm") + one.log
    return request.processes * (2 if one.cold else 1) + 1


def _seconds(one: Recorded, request: record.Request) -> float:
    """Of one process: as recorded, else as the ladder guesses."""
    return record_sweeps.recorded_seconds(one, request.out) if isinstance(one, Sweep) else STAGE_SECONDS


def _imports(wanted: list[Recorded], request: record.Request) -> float:
    stages = sum(not isinstance(one, Sweep) for one in wanted)
    processes = sum(_processes(one, request) for one in wanted if isinstance(one, Sweep))
    return IMPORT_SECONDS * (stages + -(-processes // CORES))
