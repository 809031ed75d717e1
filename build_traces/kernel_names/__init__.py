"""Decode what is publicly documented in a GPU kernel's name, for the reader of a trace.

`decode` takes a name as a trace has it and returns its pieces, each with a meaning and the
page that says so. A piece that nobody documents has no meaning here. What counts is a
statement by the kernel's maker, or a public source that shows its evidence.

To add a family: a row in `values`, a function in the file of its maker, its name in _DECODERS.
"""

from collections.abc import Callable

from build_traces.kernel_names.amd import tensile
from build_traces.kernel_names.aten import aten
from build_traces.kernel_names.nvidia import cublas, cutlass, plain
from build_traces.kernel_names.pieces import function_in, shortened
from build_traces.kernel_names.triton import inductor, liger
from build_traces.kernel_names.values import FAMILIES, Family, KernelName, Part

__all__ = ["FAMILIES", "Family", "KernelName", "Part", "decode"]


def _unknown(name: str) -> KernelName:
    """No family; `short` is the C++ function with its template arguments, or the name."""
    function = function_in(name)
    short = name[: function.args_end] if function and function.args else name
    unknown = FAMILIES["unknown"]
    short = shortened(short.removeprefix("void "))
    return KernelName(name, unknown.key, unknown.maker, short, "Not decoded.", ())


_DECODERS: tuple[Callable[[str], KernelName | None], ...] = (plain, tensile, inductor, liger, aten, cutlass, cublas)


def decode(name: str) -> KernelName:
    """Take a kernel's name apart; any string is a name, and one of no family has no parts."""
    found = (decoder(name) for decoder in _DECODERS)
    return next((decoded for decoded in found if decoded), None) or _unknown(name)
