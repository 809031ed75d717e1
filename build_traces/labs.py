"""Run the labs on the GPU and keep what their cells printed.

For the operator of a GPU machine, through `python -m build_traces record --labs`. Each lab runs top to bottom in a
fresh kernel with empty compile caches. This process imports neither torch nor what the labs import.
"""

import json
import math
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from build_traces import machine
from build_traces.errors import RecordingError
from build_traces.freshness import State
from build_traces.jobs import Probe
from build_traces.notebooks import (
    KERNEL,
    PROTOCOL,
    RECORD_COMMAND,
    Lab,
    LabError,
    LabRecord,
    digest,
    read_script,
    status,
    write_run,
)
from build_traces.processes import CACHE_FOLDER, KNOWN_CAUSES, LOG_FILE, WORKER, Limits, Workplace
from build_traces.record import LOGS

if TYPE_CHECKING:
    from jupyter_client.manager import KernelManager
    from nbformat import NotebookNode

NEEDS_GPU = "needs-gpu"
"""The tag of a cell that does nothing without a GPU."""
SKIPPED = "This cell needs a GPU"
"""How what such a cell prints on a CPU begins."""
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Request:
    """Which labs to run, and how; the snippets are there for the look at the machine."""

    labs: tuple[Lab, ...]
    snippets: Path
    everything: bool = False
    limits: Limits = field(default_factory=Limits)
    logs: Path = LOGS
    worker: tuple[str, ...] = WORKER


@dataclass(frozen=True)
class Outcome:
    """Which labs were run, and why the others were not."""

    recorded: tuple[str, ...]
    failed: tuple[LabError, ...]


def record(request: Request, say: Callable[[str], None]) -> Outcome:
    """Run the labs that are stale or were never run, or all of them, and write their notebooks.

    A failed lab does not keep the others from being run; its old notebook stays as it was. Raises RecordingError
    where nothing can be recorded at all.
    """
    machine.require_installed("torch", "triton", "kernels", "liger-kernel", "jupytext", "nbclient", "ipykernel")
    commit = machine.source_commit()
    todo = [lab for lab in request.labs if request.everything or status(lab).state is not State.FRESH]
    recorded: list[str] = []
    failed: list[LabError] = []
    with _temporary_folder() as name:
        workplace = Workplace(Path(name), request.snippets, request.limits, request.worker, request.logs)
        probe = machine.look(workplace)
        say(f"{probe.gpu}: {len(todo)} {'lab' if len(todo) == 1 else 'labs'} to record")
        for lab in todo:
            begin = time.monotonic()
            try:
                _record_lab(lab, workplace, probe, commit)
            except LabError as error:
                failed.append(error)
                say(f"FAILED {error}")
            else:
                recorded.append(lab.name)
                say(f"recorded {lab.name:24} {time.monotonic() - begin:.0f} s")
    return Outcome(tuple(recorded), tuple(failed))


def _temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="build-traces-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RecordingError("", f"no temporary folder can be made: {error}", hint="free disk space") from error


def _record_lab(lab: Lab, workplace: Workplace, probe: Probe, commit: str) -> None:
    sha256 = digest(lab)  # before the kernel imports anything: an edit from then on is noticed
    ran = execute(lab, workplace.folder / lab.name, workplace.limits, workplace.logs)
    for number, cell in enumerate(ran.cells, start=1):
        if NEEDS_GPU in cell.metadata.get("tags", ()) and SKIPPED in _printed(cell):
            message = f"the kernel sees no GPU, though this machine has an {probe.gpu}"
            raise LabError(message, where=lab.place(number), hint="look at CUDA_VISIBLE_DEVICES and at torch's build")
    made_on = LabRecord(
        protocol=PROTOCOL,
        sha256=sha256,
        command=RECORD_COMMAND,
        recorded=datetime.now(UTC).date().isoformat(),
        commit=commit,
        gpu=probe.gpu,
        driver=probe.driver,
        cuda=probe.cuda,
        torch=probe.torch,
        triton=probe.triton,
        python=probe.python,
    )
    write_run(lab, ran, made_on)


def execute(lab: Lab, folder: Path, limits: Limits, logs: Path = LOGS) -> "NotebookNode":
    """Run a lab top to bottom in a fresh kernel that works in `folder`, and return its notebook.

    What cells write to standard error is not in it. Raises LabError that names the lab and the cell.
    """
    from jupyter_client.kernelspec import KernelSpecManager  # noqa: PLC0415 - a machine that records stages lacks it
    from nbclient import NotebookClient  # noqa: PLC0415 - likewise

    made = read_script(lab)
    (folder / CACHE_FOLDER).mkdir(parents=True, exist_ok=True)
    client = NotebookClient(made, kernel_name=KERNEL["name"], record_timing=False)
    client.km = client.create_kernel_manager()
    client.km.kernel_spec_manager = KernelSpecManager(kernel_dirs=[])  # this Python, whatever kernels are installed
    client.reset_execution_trackers()
    deadline = time.monotonic() + limits.seconds
    number = 0
    try:
        with _sockets(client.km), client.setup_kernel(env=_environ(folder), cwd=str(folder)):
            for number, cell in enumerate(made.cells, start=1):
                client.timeout = max(1, math.ceil(deadline - time.monotonic()))
                client.execute_cell(cell, number - 1, execution_count=client.code_cells_executed + 1)
    except Exception as error:
        raise _failure(lab, made, number, error, limits, logs) from error
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs = [_published(output, folder) for output in cell.outputs if output.get("name") != "stderr"]
    return made


@contextmanager
def _sockets(manager: "KernelManager") -> Iterator[None]:
    """Let the kernel be spoken to through files that only this user can open, and no port."""
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder:  # their paths must be short
        manager.transport = "ipc"
        manager.connection_file = str(Path(folder, "kernel.json"))
        manager.ip = str(Path(folder, "kernel"))
        yield


def _environ(folder: Path) -> dict[str, str]:
    """The environment of a fresh kernel: empty compile caches, and none of the operator's settings for IPython."""
    caches = folder / CACHE_FOLDER
    package_root = str(Path(__file__).parent.parent)
    return os.environ | {
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TRITON_CACHE_DIR": str(caches / "triton"),
        "IPYTHONDIR": str(caches / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH")))),
    }


def _published(output: "NotebookNode", folder: Path) -> "NotebookNode":
    """An output without the paths of the machine that made it."""
    text = json.dumps(output, ensure_ascii=False)
    for path in (folder, Path.cwd(), Path.home()):
        if path != Path(path.anchor):
            text = text.replace(f"{path}/", "")
    return type(output)(json.loads(text))


def _printed(cell: "NotebookNode") -> str:
    return "".join(output.get("text", "") for output in cell.get("outputs", ()))


def _failure(lab: Lab, made: "NotebookNode", number: int, error: Exception, limits: Limits, logs: Path) -> LabError:
    """What went wrong in which cell; its traceback is kept as a log."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # noqa: PLC0415 - as above

    said = ANSI.sub("", str(error))
    hint = next((hint for cause, hint in KNOWN_CAUSES.items() if re.search(cause, said)), "read the log")
    if isinstance(error, CellExecutionError):
        message = f"it raised {error.ename}: {ANSI.sub('', error.evalue)}"
    elif isinstance(error, CellTimeoutError):
        message, hint = f"the lab did not end within {limits.seconds:g} s", "give it longer with --time-limit"
    elif isinstance(error, DeadKernelError):
        message, hint = "the kernel died", "often that is the system running out of memory"
    else:
        message = f"it could not be run: {type(error).__name__}: {said}"
    where = lab.place(number) if number else f"lab {lab.name}"
    return LabError(message + _keep_log(lab, said + "".join(map(_printed, made.cells)), logs), where=where, hint=hint)


def _keep_log(lab: Lab, text: str, logs: Path) -> str:
    """Where the log is, as an error says it; nothing where it cannot be kept."""
    path = logs / f"lab-{lab.name}" / LOG_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError:  # a full disk must not hide the error itself
        return ""
    return f"\n  log: {path}"
