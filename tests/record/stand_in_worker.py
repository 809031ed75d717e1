"""A worker without torch: it keeps the protocol of build_traces.worker and does what its stage's name says.

The trace it writes is the probe's trace of linear_eager: three steps, a memset and a kernel each, under the
label "step", which becomes the stage's name. A process numbered n scales its kernels' times by SCALE[n].
"""

import gzip
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

SCALE = {1: 1.0, 2: 3.0, 3: 2.0}
PROBE = Path(__file__).parents[1] / "traces" / "h200_probe" / "linear_eager.json.gz"
MACHINE = {
    "gpu": "Stand-in GPU",
    "driver": os.environ.get("STAND_IN_DRIVER", "1.0"),
    "cuda": "13.0",
    "torch": "2.11.0+cu130",
    "triton": "3.6.0",
    "python": "3.12.3",
    "l2_bytes": 50_000_000,
    "hbm_bytes": 100_000_000_000,
    "sm_count": 100,
}
CEILING = {
    "copy_bytes_per_s": 4e12,
    "gemm_flops_per_s": 7e14,
    "gemm_back_to_back_flops_per_s": 6e14,
}


def number(folder: Path) -> int:
    return int(re.findall(r"\d+$", folder.name)[0])


def write_trace(folder: Path, stage: str) -> None:
    data = json.loads(gzip.decompress(PROBE.read_bytes()))
    name = os.environ.get("STAND_IN_KERNEL")
    for event in data["traceEvents"]:
        if event.get("name") == "step":
            event["name"] = stage
        if event.get("cat") == "kernel":
            event["dur"] = 10.0 * SCALE.get(number(folder), 1.0)
            event["name"] = name or event["name"]
        if event.get("cat") == "gpu_memset":
            event["dur"] = 1.0
    if stage == "no_kernel":
        data["traceEvents"] = [e for e in data["traceEvents"] if e.get("cat") != "kernel"]
    (folder / "trace.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "profile.txt").write_text(f"the table of {folder.name}\n", encoding="utf-8")
    code = folder / "caches" / "inductor" / "ab"
    code.mkdir(parents=True)
    (code / "cabc.py").write_text(
        f"# kernel path: {folder}/caches/inductor/ab/kernel.py\nasync_compile = 1\ndef call(args): ...\n",
        encoding="utf-8",
    )
    (code / "kernel.py").write_text("def triton_(): ...\n", encoding="utf-8")


def timing(folder: Path, cold: bool) -> dict[str, object]:
    n = number(folder)
    return {
        "first_call_ms": 100.0 + n,
        "time_us": [500.0, 20.0, 30.0] if cold else [float(os.environ.get("STAND_IN_US", "20")) + n] * 3,
        "back_to_back_us": None if cold else 40.0 + n,
        "peak_bytes": 1_000_000,
        "error": 0.004,
        "flops": 2_000_000,
        "output_shape": [2, 3],
    }


def misbehave(stage: str, folder: Path) -> None:
    if stage == "raises":
        raise ValueError("the snippet is wrong")
    if stage == "hangs":
        time.sleep(600)
    if stage == "killed" and number(folder) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if stage == "hub":
        raise ConnectionError("httpx2.ConnectError: [Errno -2] Name or service not known")
    if stage == "silent":
        sys.exit(0)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder, stage, role = Path(job["folder"]), job["stage"], job["role"]
    (folder / "ready").touch()
    if sys.stdin.readline().strip() != "go":
        return
    with Path(os.environ["STAND_IN_RAN"]).open("a", encoding="utf-8") as ran:
        ran.write(f"{role} {stage} {os.getpid()} {len(list(folder.glob('caches/*')))}\n")
    misbehave(stage, folder)
    answers = {"environment": MACHINE, "ceilings": CEILING}
    answer = answers.get(role)
    if role in ("measure", "time-cold"):
        answer = timing(folder, role == "time-cold")
    if role in ("measure", "profile-cold"):
        write_trace(folder, stage)
    if answer:
        (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


main()
