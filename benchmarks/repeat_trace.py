"""Make a large trace from a real one: repeat its events with time, stream, correlation id and step shifted.

`python -m benchmarks.repeat_trace SOURCE EVENTS OUT` writes OUT, a plain JSON file with that many events.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

STREAMS = 16
"""A copy runs on other streams than the one before; after this many the streams come again."""
PAUSE_US = 10.0
"""Between two copies."""
IDS = ("correlation", "External id")
STEP = "ProfilerStep#"


def repeat(source: Path, events: int, out: Path) -> None:
    """Write a trace of exactly this many events."""
    raw = source.read_bytes()
    trace = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    rows = trace.pop("traceEvents")
    head = json.dumps(trace, separators=(",", ":")).removesuffix("}")
    comma = "," if trace else ""
    with out.open("w", encoding="utf-8") as file:
        file.write(f'{head}{comma}"traceEvents":[')
        for number, row in enumerate(shifted(rows, events)):
            file.write("," if number else "")
            file.write(json.dumps(row, separators=(",", ":")))
        file.write("]}")


def shifted(rows: list[Row], events: int) -> Iterator[Row]:
    """What belongs to no time once, then copy after copy of the rest."""
    once = [row for row in rows if row["ph"] == "M" or ("dur" not in row and row["ph"] not in "sf")]
    rest = [row for row in rows if row not in once and row.get("cat") != "Trace"]
    span = max(row["ts"] + row.get("dur", 0) for row in rest) - min(row["ts"] for row in rest) + PAUSE_US
    ids = 1 + max((row.get("args", {}).get(key, 0) for row in rest for key in IDS), default=0)
    flows = 1 + max((row["id"] for row in rest if row["ph"] in "sf"), default=0)
    steps = len({row["name"] for row in rest if row["name"].startswith(STEP)})
    yield from once[:events]
    copies = (copy for number in range(events) for copy in [_copy(rest, number, span, ids, flows, steps)])
    written = len(once)
    for copy in copies:
        for row in copy:
            if written >= events:
                return
            yield row
            written += 1


def _copy(rows: list[Row], number: int, span: float, ids: int, flows: int, steps: int) -> Iterator[Row]:
    for row in rows:
        made = row | {"ts": row["ts"] + number * span}
        if row["ph"] in "sf":
            made["id"] = row["id"] + number * flows
        if row["name"].startswith(STEP):
            made["name"] = f"{STEP}{int(row['name'].removeprefix(STEP)) + number * steps}"
        if args := row.get("args"):
            made["args"] = args | {key: args[key] + number * ids for key in IDS if key in args}
            if isinstance(args.get("stream"), int):
                made["args"]["stream"] = made["tid"] = args["stream"] + number % STREAMS
        yield made


if __name__ == "__main__":
    repeat(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
