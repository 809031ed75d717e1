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
    code.mkdir(parents=True, exist_ok=True)
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


def sweep(folder: Path, stage: str) -> dict[str, object]:
    """Calls 64, 32 and 48: the second compiles again; the warm caches of a sweep are told by their hits."""
    n = number(folder)
    warm = (folder / "caches" / "filled").exists()

    def graph(compile_id: str, reason: str) -> dict[str, object]:
        times = {"dynamo_ms": 10.0, "backend_ms": 1.0 if warm else 500.0}
        return {"compile_id": compile_id, "reason": reason, "guards": 7, "failed": "", **times}

    def call(name: str, first_ms: float, graphs: list[dict[str, object]]) -> dict[str, object]:
        write_trace(folder, stage)
        place = {"64": 1, "32": 2, "48": 3}[name]
        (folder / "trace.json").rename(folder / f"trace-{place}.json")
        return {
            "name": name,
            "call_ms": [first_ms + n, 2.0, 1.0 + n],
            "gpu_us": [float(os.environ.get("STAND_IN_US", "20")) + n] * 3,
            "graphs": graphs,
            "cache_hits": len(graphs) if warm else 0,
        }

    reason = os.environ.get("STAND_IN_REASON", "0/0: expected 64, actual 32")
    calls = [
        call("64", 1000.0, [graph("0/0", "")]),
        call("32", 500.0, [graph("0/1", reason)]),
        call("48", 1.0, []),
    ]
    return {"calls": calls, "seconds": 4.0 + n}


def write_log(folder: Path) -> None:
    """A structured log as torch writes it, with the head of each line."""
    head = "V1201 16:47:01.724000 3021 /opt/torch/_dynamo/convert_frame.py:303] "
    lines = ['{"str": ["/opt/snippets/sweep.py", 1]}']
    for number in (0, 1):
        ids = {"frame_id": 0, "frame_compile_id": number, "attempt": 0}
        lines.append(json.dumps({"dynamo_start": {"stack": [{"line": 10, "filename": 1, "loc": "f(x)"}]}, **ids}))
        lines.append(json.dumps({"compilation_metrics": {"compile_id": f"0/{number}"}, **ids}))
    log = Path(os.environ["TORCH_TRACE"]) / "dedicated_log_torch_trace_1.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{head}{line}\n\tpayload\n" for line in lines), encoding="utf-8")


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
    if role == "sweep":
        answer = sweep(folder, stage)
    if role == "fill-caches":
        (folder / "caches").mkdir(exist_ok=True)
        (folder / "caches" / "filled").touch()
    if role == "log-compiles" and stage != "quiet":
        write_log(folder)
    if answer:
        (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


main()
