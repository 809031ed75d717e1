"""Run stages and sweeps again and say where they differ from the committed recording.

Kernel names, counts, launch kinds and op chains must be exactly those of the recording. Where
the recorded processes themselves drew different kernels, the new run must match one of them.
Times must lie in a band around the recorded ones.
"""

import tempfile
from collections import Counter
from pathlib import Path

from build_traces import verify_sweeps
from build_traces.drift import Drift, band
from build_traces.errors import RecordingError
from build_traces.ladder import Ladder, Recorded, Stage
from build_traces.processes import Limits
from build_traces.record import Request, record
from build_traces.recording import Process, Recording, open_recording
from build_traces.reporting import Reporter
from build_traces.stage_view import OpNode, StageView
from build_traces.sweep_view import SweepView
from build_traces.sweeps import Sweep
from build_traces.trace import Trace


def verify(
    ladder: Ladder, stages: tuple[Recorded, ...], recordings: Path, processes: int, limits: Limits, reporter: Reporter
) -> dict[str, list[Drift]]:
    """Record the stages into a temporary folder and compare. Raises RecordingError if any cannot be run."""
    with tempfile.TemporaryDirectory(prefix="build-traces-verify-") as folder:
        request = Request(
            ladder=ladder,
            out=Path(folder),
            stages=stages,
            everything=True,
            processes=processes,
            sweep_processes=processes,
            limits=limits,
            ncu=None,
        )
        outcome = record(request, reporter)
        if outcome.failed:
            raise outcome.failed[0]
        fresh = open_recording(outcome.folder)
        committed_folder = recordings / outcome.folder.name
        if not committed_folder.is_dir():
            raise RecordingError(
                "",
                f"there is no recording {outcome.folder.name} to verify in {recordings}",
                hint="record one: python -m build_traces record",
            )
        committed = open_recording(committed_folder)
        return {stage.name: _drifts(committed, fresh, stage, ladder) for stage in stages}


def _drifts(committed: Recording, fresh: Recording, stage: Recorded, ladder: Ladder) -> list[Drift]:
    if not (committed.folder / stage.name).is_dir():
        return [Drift("the stage", "", "it runs")]
    if isinstance(stage, Sweep):
        return verify_sweeps.compare(SweepView(committed, stage), SweepView(fresh, stage))
    return compare(_view(committed, stage, ladder), _view(fresh, stage, ladder))


def _view(recording: Recording, stage: Stage, ladder: Ladder) -> StageView:
    return StageView(recording, stage, ladder)


def compare(recorded: StageView, now: StageView) -> list[Drift]:
    """Every drift between a recorded stage and a new run of it."""
    return [*_work(recorded, now), *_calls(recorded, now), *_ops(recorded, now), *_times(recorded, now)]


def _work(recorded: StageView, now: StageView) -> list[Drift]:
    known = [_names(p) for p in recorded.record.processes]
    new = [names for p in now.record.processes if (names := _names(p)) not in known]
    return [
        Drift("GPU work of a step", known[recorded.record.published_process], names) for names in dict.fromkeys(new)
    ]


def _names(process: Process) -> str:
    return "\n".join(f"{work.kind} {work.name}" for work in process.work)


def _calls(recorded: StageView, now: StageView) -> list[Drift]:
    return _differ("launches of a step", _launches(recorded), _launches(now))


def _launches(view: StageView) -> str:
    counts = Counter(_launch_kinds(view.trace))
    return "\n".join(f"{name} × {count / len(view.trace.steps):g}" for name, count in sorted(counts.items()))


def _launch_kinds(trace: Trace) -> list[str]:
    return [call.name for call in trace.launches() if call.step in {s.number for s in trace.steps}]


def _ops(recorded: StageView, now: StageView) -> list[Drift]:
    return _differ("op chain of a step", _chain(recorded.op_tree()), _chain(now.op_tree()))


def _chain(nodes: list[OpNode], depth: int = 0) -> str:
    lines = []
    for node in nodes:
        if node.op.kind == "op":
            lines.append("  " * depth + node.op.name)
        inner = _chain(list(node.children), depth + (node.op.kind == "op"))
        lines.extend([inner] if inner else [])
    return "\n".join(lines)


def _differ(what: str, recorded: str, now: str) -> list[Drift]:
    return [] if recorded == now else [Drift(what, recorded, now)]


def _times(recorded: StageView, now: StageView) -> list[Drift]:
    if recorded.stage.cold:  # the first step of a process depends on what the disk and driver hold in their caches
        return []
    return band("time of a step", recorded.time_us(), now.time_us())
