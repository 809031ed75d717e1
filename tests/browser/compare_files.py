"""Files that a reader may drop on the page Compare: sound ones, and such as mean harm."""

import gzip
import json
import random
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from small_traces import kernel, launch, op, step, trace

from build_traces import export, ladder, recording

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
from mutate import mutated  # noqa: E402

TRACES = ROOT / "tests" / "traces"
HOSTILE_NAME = (
    "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>\"'&\x1b[2J\u202e"
)


def exported(name: str = "NVIDIA H200") -> dict[str, Any]:
    """An export of the committed recording, as another machine might have made it."""
    found = recording.open_recording(ROOT / "docs" / "recordings" / "nvidia-h200_torch-2.11.0")
    made: dict[str, Any] = json.loads(export.encode(export.export(found, ladder.load(ROOT / "snippets"))))
    made["environment"]["gpu"] = name
    return made


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def one_kernel(**changes: Any) -> bytes:
    """A step with a launch and a kernel that has these fields."""
    return encoded(trace(step(1, 0, 100), launch(1, 10, 2), kernel("a", 1, 20, 5) | changes))


def bomb(megabytes: int, event: bytes) -> bytes:
    """A trace that unpacks to much more than it weighs: the same event again and again."""
    block = event * ((1 << 20) // len(event) or 1)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = packer.compress(b'{"traceEvents": [')
    for _ in range(megabytes):
        packed += packer.compress(block)
    return packed + packer.flush()


def distinct_names(count: int) -> bytes:
    """As many kernels, each with a name of its own, on a GPU that starts them all at once."""
    events = [f'{{"ph":"X","cat":"kernel","name":"k{n}","pid":0,"tid":7,"ts":{n},"dur":1,"args":{{"correlation":1,'
              f'"device":0,"stream":7,"grid":[1,1,1],"block":[1,1,1]}}}}' for n in range(count)]  # fmt: skip
    return ('{"traceEvents":[' + json.dumps(launch(1, 0, 1)) + "," + ",".join(events) + "]}").encode()


def deep_ops(count: int) -> bytes:
    """Ops inside ops."""
    return encoded(trace(*(op("deep", n, 10.0 * count - 2 * n) for n in range(count))))


SOUND: dict[str, tuple[bytes, str]] = {
    "names with markup, quotes and control characters": (
        encoded(trace(step(1, 0, 100), op(HOSTILE_NAME, 1, 50), launch(1, 10, 2), kernel(HOSTILE_NAME, 1, 20, 5))),
        "1 step",
    ),
    "names of a megabyte": (one_kernel(name="x" * 2_000_000), "1 kernel"),
    "a negative time": (one_kernel(dur=-5), "ended before beginning"),
    "a missing time": (one_kernel(dur=None), "0 kernels"),
    "a correlation id twice": (
        encoded(trace(step(1, 0, 9), launch(1, 0, 1), launch(1, 2, 1), kernel("a", 1, 3, 1), kernel("b", 1, 5, 1))),
        "2 kernels",
    ),
    "two GPUs": (
        encoded(trace(step(1, 0, 99), launch(1, 0, 1), launch(2, 2, 1), kernel("a", 1, 3, 1), kernel("b", 2, 5, 1, 1))),
        "GPU 0, GPU 1",
    ),
    "no ProfilerStep": (encoded(trace(launch(1, 0, 1), kernel("a", 1, 3, 1))), "the whole file is shown as one step"),
    "an array of events": (encoded([step(1, 0, 9), launch(1, 0, 1), kernel("a", 1, 2, 3)]), "1 step"),
    "names like parts of JavaScript": (
        encoded(trace(*(row for n, name in enumerate(("__proto__", "constructor", "toString"))
                        for row in (launch(n, n, 1), kernel(name, n, 10 + n, 1), op(name, 20 + n, 1))))),
        "3 kernels",
    ),
    "a hundred thousand names": (distinct_names(100_000), "100,000 kernels"),
    "ops twenty thousand deep": (deep_ops(20_000), "20,000 ops"),
    "old JSON": (b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"C:\\path\tx","ts":1,"dur":1}]}', "1 kernel"),
}  # fmt: skip
"""Each with what the page says of it."""

REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the file is empty"),
    "text": (b"hello", "not valid JSON"),
    "a picture": ((ROOT / "docs" / "assets" / "social-card.png").read_bytes(), "not valid JSON"),
    "JSON of something else": (b'{"schemaVersion": 1}', "it has no list called traceEvents"),
    "no events": (b'{"traceEvents": []}', "the trace holds no events"),
    "events that are numbers": (b'{"traceEvents": [1, 2]}', "event 1 is no object"),
    "cut-off JSON": (one_kernel()[:200], "was it cut short?"),
    "cut-off gzip": (gzip.compress(one_kernel(name="x" * 50_000))[:-20], "damaged or cut short"),
    "damaged gzip": (b"\x1f\x8b" + b"\x00" * 100, "damaged or cut short"),
    "UTF-16": (one_kernel().decode().encode("utf-16"), "it is UTF-16 text"),
    "NaN": (one_kernel(ts="nan"), "is not finite"),
    "a bare NaN": (one_kernel(ts=float("nan")), "not valid JSON"),
    "a huge time": (one_kernel(ts=1e300), "beyond all clocks"),
    "a name that is a number": (one_kernel(name=5), "is no text"),
    "lists a million deep": (b"[" * 1_000_000 + b"]" * 1_000_000, "event 1 is no object"),
    "objects a million deep": (b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000, "not"),
    "a zip bomb": (bomb(1_600, b'{"ph":"M","name":"' + b"x" * (1 << 20) + b'"},'), "it unpacks to more than 1.5 GB"),
    "a zip bomb of blanks": (bomb(100, b" "), "one event has no end"),
    "a zip bomb of events": (bomb(100, b'{"ph":"M"},'), "it holds more than 3 million events"),
}
"""Each with a part of the sentence."""


def broken_exports() -> Iterator[tuple[str, bytes, str]]:
    """Exports that the page must not show, with a part of the sentence."""
    whole = exported()
    yield "another protocol", encoded(whole | {"protocol": 99}), "of schema 1 and protocol 99; this guide reads"
    yield "another schema", encoded(whole | {"schema": 7}), "of schema 7"
    yield "a cut one", encoded(whole)[:5_000], "was it cut short?"
    yield "no stages", encoded(whole | {"stages": []}), "there is no stage in it"
    yield "names that are numbers", encoded(whole | {"names": [1]}), "names[0] is not text"
    stage = whole["stages"][0]
    for where, what, said in (
        ("published_process", 99, "process 99 is published"),
        ("work", [], "an activity points to no work"),
        ("trace", stage["trace"] | {"ops": [["op", 0, 5, 0, 3, 0, 1]]}, "inside one that is not before it"),
        ("processes", [stage["processes"][0] | {"time_us": []}], "a process has no time samples"),
        ("processes", [stage["processes"][0] | {"cpu_us": [1.0]}], "times of other steps"),
    ):
        broken = stage | {"published_process": 0} | {where: what}
        yield where, encoded(whole | {"stages": [broken]}), said


def mutations(count: int) -> list[tuple[str, bytes]]:
    """Changed traces and exports, the same each time."""
    small = exported()
    small["stages"] = small["stages"][:1]
    seeds = [encoded(small), *((TRACES / name).read_bytes() for name in ("backward_thread.json",))]
    seeds += [gzip.decompress((TRACES / name).read_bytes()) for name in ("cpu_only.json.gz", "triton_example.json.gz")]
    seeds += [one_kernel(), (TRACES / "triton_example.json.gz").read_bytes()]
    chance = random.Random(1)
    return [(f"seed {seed}", mutated(chance.choice(seeds), seed)) for seed in range(count)]
