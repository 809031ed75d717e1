"""What a recording is made on: the GPU and versions, its measured ceilings, and the commit."""

import importlib.metadata
import importlib.util
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from build_traces import counters, kernel_packages
from build_traces.errors import RecordingError
from build_traces.jobs import NO_GPU, CeilingSample, Probe, Role
from build_traces.processes import INSTALL_HINT, Workplace, decode_answer
from build_traces.recording import Ceilings, Environment


def require_installed(*packages: str) -> None:
    """Raises RecordingError for the first package that cannot be imported."""
    for package in packages:
        if importlib.util.find_spec(package.replace("-", "_")) is None:
            raise RecordingError("", f"{package} is not installed", hint=INSTALL_HINT)


def look(workplace: Workplace) -> Probe:
    """The GPU and versions that a fresh process finds. Raises RecordingError without a GPU."""
    job = workplace.job(Role.ENVIRONMENT, "environment")
    what = "the look at the machine"
    try:
        with workplace.batch([job]) as batch:
            return decode_answer(batch.run(job, what), Probe, "", what)
    except RecordingError as error:
        if NO_GPU in error.message:
            raise RecordingError("", f"{NO_GPU} on this machine", hint=error.hint) from None
        raise workplace.keep_log(error) from None


def measure_ceilings(
    workplace: Workplace, processes: int, running: Callable[[str], None], process_done: Callable[[], None]
) -> Ceilings:
    """Copy bandwidth and GEMM rate, a sample a fresh process; the two callables are told of each."""
    jobs = [workplace.job(Role.CEILINGS, f"ceilings-{n}") for n in range(1, processes + 1)]
    samples = []
    try:
        with workplace.batch(jobs) as batch:
            batch.wait_until_quiet()
            for n, job in enumerate(jobs, start=1):
                what = f"ceilings · process {n} of {processes}"
                running(what)
                samples.append(decode_answer(batch.run(job, what), CeilingSample, "", what))
                process_done()
    except RecordingError as error:
        raise workplace.keep_log(error) from None
    return Ceilings(
        copy_bytes_per_s=tuple(s.copy_bytes_per_s for s in samples),
        gemm_flops_per_s=tuple(s.gemm_flops_per_s for s in samples),
        gemm_back_to_back_flops_per_s=tuple(s.gemm_back_to_back_flops_per_s for s in samples),
    )


def environment(probe: Probe, commit: str, ncu: Path | None) -> Environment:
    """Everything about the machine but its ceilings. Raises RecordingError if LOCAL_KERNELS names no kernel folder."""
    return Environment(
        gpu=probe.gpu,
        driver=probe.driver,
        cuda=probe.cuda,
        torch=probe.torch,
        triton=probe.triton,
        kernels=importlib.metadata.version("kernels"),
        liger_kernel=importlib.metadata.version("liger-kernel"),
        python=probe.python,
        ncu=counters.version(ncu),
        date=datetime.now(UTC).date().isoformat(),
        commit=commit,
        l2_bytes=probe.l2_bytes,
        hbm_bytes=probe.hbm_bytes,
        sm_count=probe.sm_count,
        ceilings=Ceilings((), (), ()),
        kernel_packages=kernel_packages.current(),
    )


RECORDED_FROM = ("snippets", "build_traces", "kernel")


def source_commit() -> str:
    """The commit that is recorded from; `-dirty` behind it if snippets or recorder differ from it.

    `SOURCE_COMMIT` names it where only the files of a checkout are at hand, without its history. Raises RecordingError
    if it names a commit that is at hand and holds other files.
    """
    if commit := os.environ.get("SOURCE_COMMIT"):
        if other := _files_that_differ(commit):
            hint = "name the commit that these files are of, or check that one out"
            raise RecordingError("", f"SOURCE_COMMIT is {commit}, where {other} is another file", hint=hint)
        return commit
    try:
        head = _git("rev-parse", "HEAD")
        dirty = _git("status", "--porcelain", "--", *RECORDED_FROM)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RecordingError(
            "", "the commit to record from is unknown: this is no git checkout", hint="export SOURCE_COMMIT=<commit>"
        ) from error
    return f"{head}-dirty" if dirty else head


def _files_that_differ(commit: str) -> str:
    """The first file that is recorded from and differs from a commit; "" also where git does not know the commit."""
    try:
        _git("cat-file", "-e", f"{commit}^{{commit}}")
        tracked = _git("diff", "--name-only", commit, "--", *RECORDED_FROM)
        untracked = _git("ls-files", "--others", "--exclude-standard", "--", *RECORDED_FROM)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return next(iter([*tracked.splitlines(), *untracked.splitlines()]), "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()
