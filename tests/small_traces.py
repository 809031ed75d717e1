"""Tiny traces written by hand: each function is one event, `trace` is the file."""

import json
from typing import Any

Row = dict[str, Any]


def event(cat: str, name: str, start: float, dur: float, tid: int = 1, pid: int = 100, **args: object) -> Row:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": dur, "args": args}


def step(number: int, start: float, dur: float) -> Row:
    return event("user_annotation", f"ProfilerStep#{number}", start, dur)


def op(name: str, start: float, dur: float, tid: int = 1) -> Row:
    return event("cpu_op", name, start, dur, tid)


def label(name: str, start: float, dur: float, tid: int = 1) -> Row:
    return event("user_annotation", name, start, dur, tid)


def call(name: str, correlation: int, start: float, dur: float, tid: int = 1) -> Row:
    return event("cuda_runtime", name, start, dur, tid, correlation=correlation)


def launch(correlation: int, start: float, dur: float, tid: int = 1) -> Row:
    return call("cudaLaunchKernel", correlation, start, dur, tid)


def gpu(cat: str, name: str, correlation: int, start: float, dur: float, device: int = 0, **args: object) -> Row:
    more = {"device": device, "stream": 7, "correlation": correlation, **args}
    return event(cat, name, start, dur, 7, device, **more)


def kernel(name: str, correlation: int, start: float, dur: float, device: int = 0, **args: object) -> Row:
    shape = {"grid": [2, 1, 1], "block": [128, 1, 1]} | args
    return gpu("kernel", name, correlation, start, dur, device, **shape)


def memcpy(name: str, correlation: int, start: float, dur: float, **args: object) -> Row:
    return gpu("gpu_memcpy", name, correlation, start, dur, **args)


def trace(*events: Row, **top: object) -> Row:
    return {**top, "traceEvents": list(events)}


def text(*events: Row, **top: object) -> bytes:
    return json.dumps(trace(*events, **top)).encode()


COPY = "Memcpy DtoH (Device -> Pageable)"

TWO_STEPS = (
    # Step 1, 0 to 100: addmm launches A at 20 to 24, which runs from 30 to 60. item copies from 70 to 72, its call
    # returns at 66, and it waits for the copy until 85. t launches nothing.
    step(1, 0, 100),
    op("aten::linear", 10, 30),
    op("aten::t", 12, 3),
    op("aten::addmm", 18, 20),
    launch(1, 20, 4),
    kernel("A", 1, 30, 30),
    op("aten::item", 60, 30),
    op("aten::_local_scalar_dense", 62, 26),
    call("cudaMemcpyAsync", 2, 64, 2),
    memcpy(COPY, 2, 70, 2, bytes=4),
    call("cudaStreamSynchronize", 0, 68, 17),
    # Step 2, 100 to 200: relu launches B twice, from 120 to 150 and at once from 150 to 170.
    step(2, 100, 100),
    op("aten::relu", 110, 20),
    launch(3, 112, 3),
    kernel("B", 3, 120, 30),
    launch(4, 116, 3),
    kernel("B", 4, 150, 20),
    # Left from before: W from -20 to -5.
    kernel("W", 99, -20, 15),
)
"""Idle in step 1: 0 to 30 (addmm), 60 to 70 (_local_scalar_dense), 72 on; in step 2: 100 to 120 (relu), 170 on."""
