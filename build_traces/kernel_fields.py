"""The fields of one kernel: what may be asked as `<stage>.kernel.<n>.<field>`."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from build_traces.errors import FactError, unknown_name
from build_traces.kernel_names import decode
from build_traces.query import MB, Query, Raw
from build_traces.recording import KernelBytes

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class KernelField:
    """A field of `<stage>.kernel.<n>.<field>`."""

    unit: str
    about: str
    derive: Callable[[Query, int], Raw]


def _dims(values: tuple[int, ...]) -> str:
    return " × ".join(map(str, values))


def _product(dims: tuple[int, ...]) -> int:
    product = 1
    for size in dims:
        product *= size
    return product


def _known(value: Number | None, what: str) -> Number:
    if value is None:
        raise FactError(f"the trace does not say {what} of this kernel")
    return value


def _launch(q: Query, n: int) -> str:
    kernel = q.view.nth_kernel(n, q.step)
    return q.view.trace.calls[kernel.call].name


def _op(q: Query, n: int) -> str:
    kernel = q.view.nth_kernel(n, q.step)
    for op in q.view.trace.ancestors(kernel.op):
        if op.kind == "op":
            return op.name
    raise FactError(f"kernel {n} of stage {q.view.stage.name} was launched outside any op")


def _share(q: Query, n: int) -> float:
    whole = q.view.work_us(("kernel", "memset", "memcpy"), q.step).median
    return 100 * q.view.kernel_us(n, q.step).median / whole


TILE = re.compile(r"output tile (\d+)x(\d+)")


def _tile(q: Query, n: int) -> str:
    name = q.view.nth_kernel(n, q.step).name
    for part in decode(name).parts:
        if part.meaning and (match := TILE.fullmatch(part.meaning)):
            return f"{match[1]} × {match[2]}"
    raise FactError(f"the name {name} gives no tile, or none that is documented")


def _bytes_of(q: Query, n: int) -> KernelBytes:
    q.view.nth_kernel(n, None)
    return q.view.hbm()[n - 1]


KERNEL_FIELDS: dict[str, KernelField] = {
    "name": KernelField("", "Its name in the trace.", lambda q, n: q.view.nth_kernel(n, q.step).name),
    "short": KernelField(
        "", "Its name cut to what tells kernels apart.", lambda q, n: decode(q.view.nth_kernel(n, q.step).name).short
    ),
    "family": KernelField(
        "", "The family its name belongs to.", lambda q, n: decode(q.view.nth_kernel(n, q.step).name).family
    ),
    "us": KernelField(
        "µs",
        "Its time in the trace, over the processes that ran the same kernels.",
        lambda q, n: q.view.kernel_us(n, q.step),
    ),
    "gap_us": KernelField(
        "µs",
        "How long the GPU had nothing to do before it, in the step that pictures show.",
        lambda q, n: q.view.gap_us(n, q.step),
    ),
    "share": KernelField("%", "Its share of the step's GPU time in the trace.", _share),
    "tile": KernelField("", "The output tile that its name gives.", _tile),
    "grid": KernelField("", "Blocks launched, x × y × z.", lambda q, n: _dims(q.view.nth_kernel(n, q.step).grid)),
    "block": KernelField("", "Threads a block, x × y × z.", lambda q, n: _dims(q.view.nth_kernel(n, q.step).block)),
    "blocks": KernelField("", "Blocks launched.", lambda q, n: _product(q.view.nth_kernel(n, q.step).grid)),
    "threads": KernelField("", "Threads a block.", lambda q, n: _product(q.view.nth_kernel(n, q.step).block)),
    "registers": KernelField(
        "", "Registers a thread.", lambda q, n: _known(q.view.nth_kernel(n, q.step).registers, "registers")
    ),
    "shared_kb": KernelField(
        "kB",
        "Shared memory a block.",
        lambda q, n: _known(q.view.nth_kernel(n, q.step).shared_memory_bytes, "shared memory") / 1e3,
    ),
    "stream": KernelField(
        "", "The stream it ran on, by the trace's number.", lambda q, n: q.view.nth_kernel(n, q.step).stream
    ),
    "trace_blocks_per_sm": KernelField(
        "",
        "What the trace calls `blocks per SM`: blocks launched, divided by the SMs.",
        lambda q, n: _known(q.view.nth_kernel(n, q.step).blocks_per_sm, "blocks per SM"),
    ),
    "trace_occupancy": KernelField(
        "%",
        "What the trace calls `est. achieved occupancy %`: an estimate, not a measurement.",
        lambda q, n: _known(q.view.nth_kernel(n, q.step).occupancy_percent, "an occupancy"),
    ),
    "launched_by": KernelField("", "The call that started it.", _launch),
    "op": KernelField("", "The innermost op around that call.", _op),
    "hbm_read_mb": KernelField("MB", "HBM bytes it read.", lambda q, n: _bytes_of(q, n).read_bytes / MB),
    "hbm_write_mb": KernelField("MB", "HBM bytes it wrote.", lambda q, n: _bytes_of(q, n).write_bytes / MB),
}


def kernel_field(q: Query) -> Raw:
    """The value at the key `<n>.<field>`. Raises FactError."""
    number, _, field = q.key.partition(".")
    if not (number.isascii() and number.isdigit()):
        raise FactError(f"{number!r} is no kernel number", hint=f"write {q.view.stage.name}.kernel.1.name")
    if field not in KERNEL_FIELDS:
        unknown_name("kernel field", field, list(KERNEL_FIELDS))
    return KERNEL_FIELDS[field].derive(q, int(number))
