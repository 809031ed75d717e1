"""The same work as `inspect`, done as one would without this package: `json.load`, dicts and loops.

It is what the benchmark compares with, and a second way to every number: tests hold it against
`build_traces.inspection`. Only names are taken apart by the same code.
"""

import gzip
import json
import re
import statistics
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from build_traces.kernel_names import decode

Row = dict[str, Any]

GPU = {"kernel": "kernel", "gpu_memset": "memset", "gpu_memcpy": "memcpy"}
CALLS = ("cuda_runtime", "cuda_driver")
STEP = re.compile(r"ProfilerStep#(\d+)")


def inspect(path: Path) -> Row:
    """Everything but what the file says of the machine, in the shape of `inspect --json`."""
    raw = path.read_bytes()
    data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    events = data if isinstance(data, list) else data["traceEvents"]
    rows = [row for row in events if row["ph"] == "X" and "ts" in row and "dur" in row]
    for row in rows:
        row["end"] = row["ts"] + row["dur"]
    marks = [row for row in rows if row.get("cat") == "user_annotation" and STEP.fullmatch(row["name"])]
    ops = [row for row in rows if row.get("cat") in ("cpu_op", "user_annotation") and not STEP.fullmatch(row["name"])]
    calls = [row for row in rows if row.get("cat") in CALLS]
    work = sorted((row for row in rows if row.get("cat") in GPU), key=lambda row: row["ts"])
    windows = steps_in(marks) or [whole([*ops, *calls, *work])]
    nest(ops, calls)
    calls.sort(key=lambda row: row["ts"])
    by_correlation = {call["args"]["correlation"]: call for call in calls}
    for call in calls:
        call["started"] = []
    for row in work:
        row["launch"] = by_correlation.get(row["args"].get("correlation"))
        if row["launch"]:
            row["launch"]["started"].append(row)
    for call in calls:
        op = call["op"] if call["started"] else None
        while op is not None and not op["launches"]:
            op["launches"] = True
            op = op["op"]
    for row in [*ops, *calls]:
        row["step"] = step_of(row["ts"], windows) if marks else windows[0]
    for row in work:
        row["step"] = (row["launch"]["step"] if row["launch"] else None) if marks else windows[0]

    pieces = [piece for device in sorted({device_of(row) for row in work}) for piece in idle(work, device, windows)]
    kinds = kinds_of(windows, work, calls)
    return {
        "whole_file": not marks,
        "steps": [says(window, kinds, pieces, work, windows[0]["ts"]) for window in windows],
        "kinds": [kind_says(members) for members in kinds],
        "idle": idle_says(pieces),
        "gaps": gaps_say(pieces),
        "silent_ops": silent(ops),
        "blocking_memcpys": blocking(calls),
        "unlaunched": unlaunched(work, windows[0]["ts"]),
        "outside": dict(Counter(GPU[row["cat"]] for row in work if row["launch"] and row["step"] is None)),
    }


def steps_in(marks: list[Row]) -> list[Row]:
    """The steps, each up to the next one at most."""
    windows = [
        {"number": int(STEP.fullmatch(row["name"])[1]), "ts": row["ts"], "dur": row["dur"], "end": row["end"]}
        for row in sorted(marks, key=lambda row: row["ts"])
    ]
    for window, following in pairwise(windows):
        if following["ts"] < window["end"]:
            window["end"], window["dur"] = following["ts"], following["ts"] - window["ts"]
    return windows


def whole(rows: list[Row]) -> Row:
    """The whole file as a step."""
    start, end = min(row["ts"] for row in rows), max(row["end"] for row in rows)
    return {"number": None, "ts": start, "dur": end - start, "end": end}


def step_of(ts: float, windows: list[Row]) -> Row | None:
    """The last step that begins before this moment, if it is not over."""
    low, high = 0, len(windows)
    while low < high:
        middle = (low + high) // 2
        if windows[middle]["ts"] <= ts:
            low = middle + 1
        else:
            high = middle
    return windows[low - 1] if low and ts <= windows[low - 1]["end"] else None


def nest(ops: list[Row], calls: list[Row]) -> None:
    """Give each op and call the innermost op around its start."""
    ordered = sorted(ops + calls, key=lambda row: (row["ts"], row["cat"] in CALLS, -row["dur"]))
    open_ops: dict[tuple[Any, Any], list[Row]] = defaultdict(list)
    for row in ordered:
        stack = open_ops[row["pid"], row["tid"]]
        while stack and row["ts"] >= stack[-1]["end"] and row["ts"] > stack[-1]["ts"]:
            stack.pop()
        row["op"] = stack[-1] if stack else None
        if row["cat"] not in CALLS:
            row["launches"], row["inside"] = False, 0.0
            if stack:
                stack[-1]["inside"] += row["dur"]
            stack.append(row)


def device_of(row: Row) -> int:
    """The GPU that it ran on."""
    return int(row["args"].get("device", 0))


def launcher(row: Row | None) -> tuple[str, str]:
    """The op and the call that launched it."""
    if row is None or row["launch"] is None:
        return "", ""
    op = row["launch"]["op"]
    while op is not None and op["cat"] != "cpu_op":
        op = op["op"]
    return op["name"] if op else "", row["launch"]["name"]


def us(value: float) -> float:
    """To a nanosecond."""
    return round(value, 3)


def percent(part: float, of: float) -> float:
    """A share."""
    return round(100 * part / of, 3) if of else 0.0


def spread(values: list[float]) -> Row:
    """Of some values."""
    return {"median": us(statistics.median(values)), "low": us(min(values)), "high": us(max(values))}


# Idle time


def idle(work: list[Row], device: int, windows: list[Row]) -> list[Row]:
    """Where nothing runs on a GPU within a step."""
    mine = [row for row in work if device_of(row) == device]
    gaps = [{"start": float("-inf"), "before": None}]
    reached = float("-inf")
    for row in mine:
        if row["ts"] > reached:
            gaps[-1] |= {"end": row["ts"], "after": row}
            gaps.append({"start": row["end"], "before": row})
            reached = row["end"]
        elif row["end"] > reached:
            gaps[-1] = {"start": row["end"], "before": row}
            reached = row["end"]
    gaps[-1] |= {"end": float("inf"), "after": None}
    pieces, first = [], 0
    for window in windows:
        while gaps[first]["end"] <= window["ts"]:
            first += 1
        at = first
        while at < len(gaps) and gaps[at]["start"] < window["end"]:
            start, end = max(gaps[at]["start"], window["ts"]), min(gaps[at]["end"], window["end"])
            after = gaps[at]["after"] if gaps[at]["end"] <= window["end"] else None
            op, call = launcher(after)
            pieces.append(
                {
                    "window": window,
                    "device": device,
                    "start": start - window["ts"],
                    "us": end - start,
                    "before": gaps[at]["before"],
                    "after": after,
                    "op": op,
                    "call": call,
                    "why": why(after, start),
                }
            )
            at += 1
    return pieces


def why(after: Row | None, start: float) -> str:
    """What an idle GPU waits for."""
    if after is None:
        return "end"
    if after["launch"] is None:
        return "unknown"
    return "late" if after["launch"]["end"] > start else "queued"


def idle_says(pieces: list[Row]) -> list[Row]:
    """By what ended it."""
    groups = defaultdict(list)
    for piece in pieces:
        groups[piece["op"], "" if piece["op"] else piece["call"], piece["why"]].append(piece["us"])
    all_us = sum(sum(group) for group in groups.values())
    rows = [
        {
            "op": op,
            "call": call,
            "why": reason,
            "gaps": len(group),
            "us": us(sum(group)),
            "percent": percent(sum(group), all_us),
        }
        for (op, call, reason), group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["us"], row["op"], row["call"], row["why"]))


def gaps_say(pieces: list[Row]) -> list[Row]:
    """The twenty biggest."""
    biggest = sorted(pieces, key=lambda piece: (-piece["us"], piece["window"]["ts"], piece["start"]))[:20]
    return [
        {
            "step": piece["window"]["number"],
            "device": piece["device"],
            "start_us": us(piece["start"]),
            "us": us(piece["us"]),
            "before": piece["before"]["name"] if piece["before"] else "",
            "after": piece["after"]["name"] if piece["after"] else "",
            "op": piece["op"],
            "call": piece["call"],
            "why": piece["why"],
        }
        for piece in biggest
    ]


# Steps


def kinds_of(windows: list[Row], work: list[Row], calls: list[Row]) -> list[list[Row]]:
    """The steps by what they ran; each gets its work and launches by what they have in common."""
    for window in windows:
        window["rows"], window["launches"] = defaultdict(list), defaultdict(list)
    for row in work:
        if row["step"]:
            args = row["args"]
            key = row["cat"], row["name"], tuple(args.get("grid", ())), tuple(args.get("block", ()))
            row["step"]["rows"][key].append(row)
    for call in calls:
        if call["step"] and call["started"]:
            call["step"]["launches"][call["name"]].append(call)
    kinds = defaultdict(list)
    for window in windows:
        ran = frozenset((key, len(rows)) for key, rows in window["rows"].items())
        launched = frozenset(
            (name, len(rows), sum(len(row["started"]) for row in rows)) for name, rows in window["launches"].items()
        )
        kinds[ran, launched].append(window)
    for number, members in enumerate(kinds.values()):
        for window in members:
            window["kind"] = number
    return list(kinds.values())


def says(window: Row, kinds: list[list[Row]], pieces: list[Row], work: list[Row], origin: float) -> Row:
    """One step."""
    if "gpus" not in window:
        busy_in(kinds, pieces, work)
    return {
        "number": window["number"],
        "kind": window["kind"],
        "start_us": us(window["ts"] - origin),
        "us": us(window["dur"]),
        "gpus": window["gpus"],
    }


def busy_in(kinds: list[list[Row]], pieces: list[Row], work: list[Row]) -> None:
    """Give each step what each GPU did in it."""
    devices = sorted({device_of(row) for row in work})
    sums: dict[tuple[int, int], float] = defaultdict(float)
    for piece in pieces:
        sums[id(piece["window"]), piece["device"]] += piece["us"]
    for window in (window for members in kinds for window in members):
        window["gpus"] = [
            {
                "device": device,
                "busy_us": us(max(0.0, window["dur"] - sums[id(window), device])),
                "idle_us": us(sums[id(window), device]),
                "idle_percent": percent(sums[id(window), device], window["dur"]),
            }
            for device in devices
        ]


def kind_says(members: list[Row]) -> Row:
    """Steps that ran the same."""
    gpu_us = [sum(row["dur"] for rows in window["rows"].values() for row in rows) for window in members]
    shares = [gpu["idle_percent"] for window in members for gpu in window["gpus"]]
    return {
        "steps": [window["number"] for window in members],
        "step_us": spread([window["dur"] for window in members]),
        "gpu_us": spread(gpu_us),
        "idle_percent": spread(shares) if shares else None,
        "work": [work_says(key, members, spread(gpu_us)["median"]) for key in members[0]["rows"]],
        "launches": [
            {
                "call": name,
                "count": len(calls),
                "started": sum(len(call["started"]) for call in calls),
                "us": spread([sum(call["dur"] for call in window["launches"][name]) for window in members]),
            }
            for name, calls in members[0]["launches"].items()
        ],
    }


def work_says(key: tuple[Any, ...], members: list[Row], gpu_us: float) -> Row:
    """A row of the kernel list."""
    category, name, grid, block = key
    decoded = decode(name) if category == "kernel" else None
    first = members[0]["rows"][key]
    op, call = launcher(first[0])
    time = spread([sum(row["dur"] for row in window["rows"][key]) for window in members])
    return {
        "kind": GPU[category],
        "name": name,
        "short": decoded.short if decoded else name,
        "family": decoded.family if decoded else "",
        "grid": list(grid),
        "block": list(block),
        "count": len(first),
        "us": time,
        "percent": percent(time["median"], gpu_us),
        "call": call,
        "op": op,
    }


# The rest


def silent(ops: list[Row]) -> list[Row]:
    """Ops that launch nothing."""
    all_of = Counter(op["name"] for op in ops if op["step"] and op["cat"] == "cpu_op")
    groups = defaultdict(list)
    for op in ops:
        if op["step"] and op["cat"] == "cpu_op" and not op["launches"]:
            groups[op["name"]].append(op["dur"] - op["inside"])
    rows = [
        {"name": name, "count": len(own), "of": all_of[name], "us": us(max(0.0, sum(own)))}
        for name, own in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["us"], row["name"]))


def blocking(calls: list[Row]) -> list[Row]:
    """Memcpys that the CPU waits for."""
    groups = defaultdict(list)
    last: dict[tuple[Any, Any], Row] = {}
    for call in calls:
        thread = call["pid"], call["tid"]
        waits = not call["started"] and "ynchronize" in call["name"]
        launch = call if call["started"] else last.pop(thread, None) if waits else None
        if call["started"]:
            last[thread] = call
        copies = [row for row in launch["started"] if row["cat"] == "gpu_memcpy"] if launch else []
        if copies and launch["step"] and launch["op"] is call["op"] and call["end"] >= copies[-1]["end"]:
            last.pop(thread, None)
            copy = copies[-1]
            groups[copy["name"], *launcher(copy), call["name"]].append((copy, call["end"] - launch["ts"]))
    rows = [
        {
            "name": name,
            "op": op,
            "call": call,
            "waits_in": waits_in,
            "count": len(group),
            "bytes": sum(copy["args"].get("bytes", 0) for copy, _ in group),
            "us": us(sum(waited for _, waited in group)),
        }
        for (name, op, call, waits_in), group in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row["us"], row["name"], row["op"], row["call"], row["waits_in"]))


def unlaunched(work: list[Row], origin: float) -> list[Row]:
    """GPU work whose launch is not in the file."""
    groups = defaultdict(list)
    for row in work:
        if row["launch"] is None:
            groups[row["cat"], row["name"]].append(row)
    return [
        {
            "kind": GPU[category],
            "name": name,
            "short": decode(name).short if category == "kernel" else name,
            "count": len(rows),
            "us": us(sum(row["dur"] for row in rows)),
            "first_us": us(rows[0]["ts"] - origin),
        }
        for (category, name), rows in groups.items()
    ]
