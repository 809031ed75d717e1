"""Take from a trace what tells of the machine it ran on, before it is published."""

from typing import Any

import msgspec

from build_traces.trace.events import not_a_trace
from build_traces.trace.values import ACTIVITY_KINDS, CALL_APIS, OP_KINDS

PUBLISHED_KEYS = (
    "schemaVersion",
    "deviceProperties",
    "cuda_driver_version",
    "cuda_runtime_version",
    "cupti_version",
    "record_shapes",
    "with_flops",
    "with_stack",
    "with_modules",
    "profile_memory",
    "displayTimeUnit",
    "baseTimeNanoseconds",
    "traceEvents",
)
PUBLISHED_PID = 1000
"""Above every GPU number, which a trace uses as process id too."""


def scrub(raw: bytes) -> bytes:
    """A trace fit to publish: no host, user, path, process or thread id of the machine it ran on.

    `raw` is the JSON object that torch exports, whole. Raises TraceError if it is something else.
    """
    try:
        data: dict[str, Any] = msgspec.json.decode(raw, type=dict)
        events: list[dict[str, Any]] = data["traceEvents"]
    except (msgspec.DecodeError, KeyError) as error:
        raise not_a_trace("the trace to publish", error) from error
    gpu_categories = {*ACTIVITY_KINDS, "gpu_user_annotation"}
    gpu_rows = {(e["pid"], e["tid"]) for e in events if e.get("cat") in gpu_categories}
    cpu_categories = {*OP_KINDS, *CALL_APIS}
    pids = dict.fromkeys(e["pid"] for e in events if e.get("cat") in cpu_categories)
    new_pid = {pid: PUBLISHED_PID + n for n, pid in enumerate(pids)}
    new_tid: dict[tuple[Any, Any], int] = {}
    for event in events:
        _strip_paths(event.get("args", {}))
        row = (event.get("pid"), event.get("tid"))
        if row in gpu_rows or row[0] not in new_pid:
            continue
        event["pid"] = new_pid[row[0]]
        if row[1]:  # metadata rows name the process itself with thread 0
            event["tid"] = new_tid.setdefault((row[0], row[1]), PUBLISHED_PID + len(new_tid))
        if event.get("ph") == "M":
            _rename_row(event)
    return msgspec.json.encode({key: data[key] for key in PUBLISHED_KEYS if key in data})


def _strip_paths(args: dict[str, Any]) -> None:
    for key, value in args.items():
        if isinstance(value, str) and value.startswith("/"):
            args[key] = value.rpartition("/")[2]


def _rename_row(event: dict[str, Any]) -> None:
    """Give a metadata row of the CPU the numbers it now has."""
    args = event.get("args", {})
    if event.get("name") == "thread_name":
        args["name"] = f"thread {event['tid']}"
    if "sort_index" in args:
        args["sort_index"] = event["tid"] or event["pid"]
