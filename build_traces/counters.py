"""HBM bytes by kernel, read from the hardware counters by Nsight Compute (`ncu`)."""

import csv
import io
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from build_traces.errors import BuildTracesError
from build_traces.jobs import GO, Job
from build_traces.processes import LOG_FILE, WORKER, Limits, environ, write_job
from build_traces.recording import KernelBytes

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
REPORT_FILE = "ncu.csv"
MOST_NAMES = 4


@dataclass(frozen=True)
class Counted:
    """HBM bytes in launch order, or None and the reason."""

    kernels: tuple[KernelBytes, ...] | None
    missing: str | None


class CounterError(BuildTracesError):
    """Why there are no counters; kept in stage.json, not an end to the recording."""


def find_ncu() -> Path | None:
    """Where Nsight Compute is, if it is on the path."""
    found = shutil.which("ncu")
    return Path(found) if found else None


def version(ncu: Path | None) -> str:
    """`2025.3.1.0`, or why there is none."""
    if ncu is None:
        return "not installed"
    text = subprocess.run([str(ncu), "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"Version ([\d.]+)", text)
    return match[1] if match else "unknown"


def count(job: Job, kernels: list[str], ncu: Path | None, caches: Path, limits: Limits) -> Counted:
    """Count the bytes of one step; `kernels` are the names the trace shows, `caches` those of its process."""
    if ncu is None:
        return Counted(None, "Nsight Compute (ncu) is not installed on the recording machine")
    try:
        report = _run(job, ncu, caches, limits)
        return Counted(match(parse(report), kernels), None)
    except CounterError as error:
        return Counted(None, error.message)


def _run(job: Job, ncu: Path, caches: Path, limits: Limits) -> str:
    path, report, log = write_job(job), job.path(REPORT_FILE), job.path(LOG_FILE)
    command = [
        str(ncu),
        "--clock-control=none",  # the clocks stay as they are while the times are taken
        "--cache-control=none",  # a kernel finds in L2 what the one before it left there
        "--profile-from-start=off",
        "--target-processes=application-only",
        f"--metrics={READ},{WRITE}",
        "--csv",
        "--page=raw",
        "--print-units=base",
        "--print-kernel-base=demangled",
        f"--log-file={report}",
        *WORKER,
        str(path),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environ(job, caches),
            start_new_session=True,
        )
        try:
            process.communicate(f"{GO}\n".encode(), timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise CounterError(f"Nsight Compute did not end within {limits.seconds:g} s") from None
    text = report.read_text(encoding="utf-8", errors="replace") if report.is_file() else ""
    errors = re.findall(r"==ERROR== (.*)", text)
    if errors:
        raise CounterError(f"Nsight Compute: {errors[0]}")
    if process.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise CounterError(f"Nsight Compute ended with exit code {process.returncode}: {lines[-1] if lines else ''}")
    return text


def parse(report: str) -> list[KernelBytes]:
    """The rows of `ncu --csv --page raw --print-units base`. Raises CounterError."""
    lines = report.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise CounterError("Nsight Compute reported no kernel")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))
    try:
        return [
            KernelBytes(row["Kernel Name"], _bytes(row[READ]), _bytes(row[WRITE]))
            for row in rows
            if row["ID"]  # the row below the header holds the units
        ]
    except (KeyError, ValueError) as error:
        raise CounterError(f"Nsight Compute's report is not as expected: {error!r}") from error


def _bytes(text: str) -> int:
    return round(float(text.replace(",", "")))


def match(counted: list[KernelBytes], kernels: list[str]) -> tuple[KernelBytes, ...]:
    """The counted kernels under the names of the trace. Raises CounterError if they are not the same kernels."""
    seen, expected = [_base(k.name) for k in counted], [_base(name) for name in kernels]
    if seen != expected:
        raise CounterError(f"Nsight Compute saw other kernels ({_listed(seen)}) than the trace ({_listed(expected)})")
    return tuple(msgspec.structs.replace(k, name=name) for k, name in zip(counted, kernels, strict=True))


def _listed(names: list[str]) -> str:
    """`gemm, fill × 106` and, where there are many, how many more names there are."""
    counts = Counter(names)
    said = [f"{name} × {count}" if count > 1 else name for name, count in counts.items()][:MOST_NAMES]
    more = len(counts) - len(said)
    return ", ".join(said) + (f" and {more} more" if more else "")


def _base(name: str) -> str:
    """A kernel's bare function name; of the namespaces around it `ncu` leaves some out."""
    name = name.replace("(anonymous namespace)", "").replace("<unnamed>", "").removeprefix("void ")
    return re.split(r"[<(]", name, maxsplit=1)[0].strip().rpartition("::")[2]
