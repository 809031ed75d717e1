"""Change a trace or an export as somebody might who means harm, or whose file went through many hands."""

import json
import random
from copy import deepcopy
from typing import Any

HOSTILE: tuple[object, ...] = (
    None, True, 0, -1, 2**31, 2**63, 2**64, -(2**63), 1e308, -1e308, 1e18, 0.1, -0.0, "", "x", "-1",
    "0x10", "nan", "inf", "1e999", "ProfilerStep#1", "ProfilerStep#" + "9" * 30, "\x1b[2J\x1b]0;title\x07", "\x9b31m",
    "\u202egnp",
    "\u2028", "\x7f\x00\r\n\t", "<script>alert(1)</script>", "[red]bold[/red]", "{{ x }}", "/// claim\n///", "a<" * 200,
    "(" * 500, "\ud800", "𝒦" * 20, "X" * 3_000, [], {}, [1, 2, 3], [[[[[]]]]], {"a": {"b": {"c": []}}}, [1e308, 1e308],
)  # fmt: skip
KEYS = (
    "ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "correlation", "stream", "device", "grid", "block", "bytes",
    "id", "registers per thread", "Input Dims", "traceEvents", "deviceProperties", "distributedInfo", "record_shapes",
)  # fmt: skip
VALUES = (
    "X", "M", "s", "f", "i", "cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "gpu_memset",
    "gpu_memcpy", "cudaStreamSynchronize", "ProfilerStep#3", "ProfilerStep#4",
)  # fmt: skip
RAW = (b"\x00", b"\xff\xfe", b"\\", b'"', b"{", b"}", b"[", b"]", b",", b"\xed\xa0\x80", b"NaN", b"Infinity", b"1e999",
       b'},{"ph":', b'"traceEvents":[', b"\xef\xbb\xbf", b"\x1f\x8b", b"\\u0000", b" " * 300, b"[" * 2_000)  # fmt: skip


def mutated(raw: bytes, seed: int) -> bytes:
    """A few changes: to values where it is JSON, to bytes otherwise and sometimes."""
    chance = random.Random(seed)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list) and chance.random() < 0.8:
        for _ in range(chance.choice((1, 1, 2, 5))):
            _change(value, chance)
        raw = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    if not isinstance(value, dict | list) or chance.random() < 0.3:
        raw = _changed_bytes(raw, chance)
    return raw


def _change(value: Any, chance: random.Random) -> None:
    """One change somewhere below."""
    while True:
        inner = list(value.values()) if isinstance(value, dict) else value
        below = [one for one in inner if isinstance(one, dict | list) and one]
        if not below or chance.random() < 0.3:
            break
        value = chance.choice(below)
    if isinstance(value, list):
        _change_list(value, chance)
    else:
        key = chance.choice([*value, *KEYS[: 2 + len(KEYS) // 4], chance.choice(KEYS)])
        if chance.random() < 0.2:
            value.pop(key, None)
        else:
            value[key] = _other(value.get(key), chance)


def _change_list(value: list[Any], chance: random.Random) -> None:
    at = chance.randrange(len(value) + 1)
    how = chance.randrange(4)
    if how == 0 or not value:
        value.insert(at, deepcopy(chance.choice(HOSTILE)))
    elif how == 1:
        value.pop(at - 1)
    elif how == 2:
        value.insert(at, deepcopy(value[at - 1]))
    else:
        value[at - 1] = _other(value[at - 1], chance)


def _other(value: object, chance: random.Random) -> object:
    if isinstance(value, int | float) and chance.random() < 0.5:
        return chance.choice((-value, value + 1, value * 1_000, 0, value - 10_000, float(value)))
    return chance.choice(VALUES) if chance.random() < 0.4 else deepcopy(chance.choice(HOSTILE))


def _changed_bytes(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(raw) + 1)
        end = min(len(raw), at + chance.choice((0, 1, 1, 5, 200)))
        raw = raw[:at] + chance.choice((b"", bytes([chance.randrange(256)]), *RAW)) + raw[end:]
    return raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.05 else raw
