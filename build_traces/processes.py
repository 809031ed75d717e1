"""Fresh processes for the recorder: started ahead, given a time limit, and explained when they fail."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from build_traces.errors import RecordingError
from build_traces.jobs import ANSWER_FILE, GO, JOB_FILE, NO_GPU, READY_FILE, TORCH_TRACE_FOLDER, Job, Role

T = TypeVar("T")

WORKER = (sys.executable, "-m", "build_traces.worker")
LOG_FILE = "log.txt"
CACHE_FOLDER = "caches"

INSTALL_HINT = "install what recording needs: pip install --group record"
LOCAL_KERNELS_HINT = (
    "where the Hub cannot be reached, build a local kernel folder and name it: "
    'export LOCAL_KERNELS="$(python -m build_traces local-kernels)"'
)
KNOWN_CAUSES: dict[str, str] = {
    NO_GPU: "record on a machine with a CUDA GPU; without one, nox -s docs builds from the committed recording",
    r"No module named '(torch|triton|kernels|liger_kernel)'": INSTALL_HINT,
    r"ConnectError|LocalEntryNotFound|OfflineMode|HF_HUB_OFFLINE|publisher trust|MaxRetry": LOCAL_KERNELS_HINT,
    r"OutOfMemoryError|CUDA out of memory": "free the GPU's memory: nvidia-smi lists who holds it",
    r"No space left on device|\[Errno 28\]": "free disk space and record again",
}


@dataclass(frozen=True)
class Limits:
    """How long one process may take from `go` to its end."""

    seconds: float = 300.0


def environ(job: Job, caches: Path | None = None) -> dict[str, str]:
    """The environment of a fresh process: compile caches of its own, empty unless `caches` names old ones."""
    root = caches or job.path(CACHE_FOLDER)
    package_root = str(Path(__file__).parent.parent)
    log = {"TORCH_TRACE": str(job.path(TORCH_TRACE_FOLDER))} if job.role is Role.LOG_COMPILES else {}
    return (
        os.environ
        | log
        | {
            "TORCHINDUCTOR_CACHE_DIR": str(root / "inductor"),
            "TRITON_CACHE_DIR": str(root / "triton"),
            "QUACK_CACHE_DIR": str(root / "quack"),
            "CUTE_DSL_CACHE_DIR": str(root / "cute"),
            "PYTHONPATH": os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH")))),
        }
    )


def write_job(job: Job) -> Path:
    """Put the job into its folder, where its process reads it."""
    path = job.path(JOB_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(job))
    return path


class FreshProcess:
    """One worker: started and importing, until `finish` lets it work."""

    def __init__(self, job: Job, worker: tuple[str, ...] = WORKER) -> None:
        self.job = job
        path = write_job(job)
        self.log = job.path(LOG_FILE)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*worker, str(path)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environ(job),
                start_new_session=True,  # so that its compile workers end with it
            )

    def ready(self) -> bool:
        """Whether it has imported and waits, or has ended."""
        return self.job.path(READY_FILE).exists() or self._process.poll() is not None

    def finish(self, limits: Limits, what: str) -> None:
        """Let it work and wait for its end. Raises RecordingError that says how it failed."""
        try:
            self._process.communicate(f"{GO}\n".encode(), timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise RecordingError(
                self.job.stage,
                f"{what} did not end within {limits.seconds:g} s",
                log=self.log,
                hint="give it longer with --time-limit, or find out in the log where it hangs",
            ) from None
        except BaseException:
            self.stop()
            raise
        self.stop()
        explain_exit(self._process.returncode, self.job.stage, what, self.log)

    def stop(self) -> None:
        """End it and everything it started, compile workers included."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()


def explain_exit(code: int, stage: str, what: str, log: Path) -> None:
    """Raises RecordingError unless the process ended well."""
    if code == 0:
        return
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    if code < 0:
        name = signal.Signals(-code).name
        raise RecordingError(
            stage, f"{what} was killed by {name}", log=log, hint="SIGKILL is often the system running out of memory"
        )
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no output")
    hint = next((hint for cause, hint in KNOWN_CAUSES.items() if re.search(cause, text)), "read the log")
    raise RecordingError(stage, f"{what} ended with exit code {code}: {last}", log=log, hint=hint)


class Batch:
    """Processes that import side by side and then work one after the other, on an otherwise quiet machine."""

    def __init__(self, jobs: list[Job], limits: Limits, worker: tuple[str, ...] = WORKER) -> None:
        self._limits = limits
        self._worker = worker
        # More than there are cores would only wait for each other; the rest start when it is their turn.
        self._waiting = {job: FreshProcess(job, worker) for job in jobs[: os.cpu_count()]}

    def wait_until_quiet(self) -> None:
        """Return when every process has imported (or ended), or the time limit is over."""
        deadline = time.monotonic() + self._limits.seconds
        while time.monotonic() < deadline and not all(p.ready() for p in self._waiting.values()):
            time.sleep(0.05)

    def run(self, job: Job, what: str) -> bytes:
        """Let this job's process work; return its answer, empty if it has none. Raises RecordingError."""
        process = self._waiting.pop(job, None) or FreshProcess(job, self._worker)
        process.finish(self._limits, what)
        answer = job.path(ANSWER_FILE)
        return answer.read_bytes() if answer.is_file() else b""

    def close(self) -> None:
        """Stop the processes that still wait."""
        for process in self._waiting.values():
            process.stop()
        self._waiting = {}

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@dataclass(frozen=True)
class Workplace:
    """What the processes of one recording share; `folder` is temporary and holds a folder for each of them."""

    folder: Path
    snippets: Path
    limits: Limits
    worker: tuple[str, ...]
    logs: Path

    def job(self, role: Role, name: str, stage: str = "") -> Job:
        """A job whose process gets the subfolder `name`."""
        return Job(role=role, folder=str(self.folder / name), snippets=str(self.snippets.resolve()), stage=stage)

    def batch(self, jobs: list[Job]) -> Batch:
        return Batch(jobs, self.limits, self.worker)

    def keep_log(self, error: RecordingError) -> RecordingError:
        """The error, with its log copied out of the temporary folder."""
        if error.log is None or not error.log.is_file():
            return error
        kept = self.logs / (error.stage or "recorder") / LOG_FILE
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(error.log, kept)
        except OSError:  # a full disk must not hide the error itself
            return error
        error.message = error.message.replace(str(error.log), str(kept))
        error.log = kept
        return error


def decode_answer(answer: bytes, kind: type[T], stage: str, what: str) -> T:
    """The answer of a process as a value. Raises RecordingError if it is missing or cut short."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError as error:
        raise RecordingError(stage, f"{what} ended without a whole answer: {error}", hint="record it again") from error
