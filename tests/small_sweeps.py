"""Two small sweeps to add to the small repository, with numbers that can be reckoned with in the head.

`grow_compiled` and `grow_plain` make the calls 64, 32 and 1 in three processes. Process n (0, 1, 2) of the compiled
one takes 2000 + 100·n, 500 + 10·n and 5 + n ms for the first time of each, compiles a graph in the first two, and
begins a third at 1, which it gives up. On the GPU they take 100, 50 and 10 µs, and n more.
"""

from pathlib import Path

from build_traces.ladder import digest, load
from build_traces.recording import encode
from build_traces.sweep_record import CallRecord, Graph, SweepProcess, SweepRecord

ENTRIES = """
[[sweep]]
name = "grow_compiled"
title = "compiled"
snippet = "grow"
setup = "ways.compiled"
chapter = 11

[[sweep]]
name = "grow_plain"
title = "plain <b>"
snippet = "grow"
setup = "ways.plain"
chapter = 11
"""
REASON = "0/0: tensor 'x' size mismatch at index 0. expected 64, actual 32"
FIRST_MS = {"64": (2000.0, 100.0), "32": (500.0, 10.0), "1": (5.0, 1.0)}
"""Of process 0, and how much more of each next one."""
GPU_US = {"64": 100.0, "32": 50.0, "1": 10.0}
GRAPHS = {
    "64": (Graph("0/0", "", 56, "", 200.0, 1500.0),),
    "32": (Graph("0/1", REASON, 57, "", 100.0, 300.0),),
    "1": (Graph("0/2", "0/1: 2 <= x.size()[0]", 0, "Unsupported", 3.0, 0.0),),
}
KERNELS = {"64": ("gemm_256", "triton_0"), "32": ("gemm_256", "triton_0"), "1": ("gemm_64", "gelu", "mul")}


def call(name: str, n: int, compiled: bool) -> CallRecord:
    """One call in process n; the plain set-up takes a thousandth and compiles nothing."""
    base, more = FIRST_MS[name]
    first = base + more * n if compiled else (base + more * n) / 1000
    return CallRecord(
        name=name,
        call_ms=(first, first / 2, first / 10),
        gpu_us=(GPU_US[name] + n, GPU_US[name] + n + 5, GPU_US[name] + n - 5),
        graphs=GRAPHS[name] if compiled else (),
        cache_hits=0,
        kernels=KERNELS[name] if compiled else ("gemm_256",),
    )


def process(n: int, compiled: bool) -> SweepProcess:
    return SweepProcess(tuple(call(name, n, compiled) for name in FIRST_MS), seconds=6.0 + n)


def add(repository) -> None:
    """The entries, the snippets and the recordings of both."""
    snippets = repository.root / "snippets"
    with (snippets / "ladder.toml").open("a", encoding="utf-8") as file:
        file.write(ENTRIES)
    (snippets / "grow.py").write_text("SHAPES = 3\n", encoding="utf-8")
    (snippets / "ways.py").write_text("compiled = plain = None\n", encoding="utf-8")
    for name in ("grow_compiled", "grow_plain"):
        write(repository, record(repository, name))


def record(repository, name: str) -> SweepRecord:
    environment = repository.facts().recording.environment
    return SweepRecord(
        sweep=name,
        protocol=1,
        sha256=digest(load(repository.root / "snippets").sweep(name)),
        command=f"python -m build_traces record --stages {name}",
        recorded="2026-12-01",
        commit=environment.commit,
        machine=environment.machine,
        processes=tuple(process(n, name == "grow_compiled") for n in range(3)),
        artefacts=(),
    )


def write(repository, made: SweepRecord) -> Path:
    path = repository.recording / made.sweep / "sweep.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode(made))
    return path
