"""What GPU work is of, as far as its name tells: the kinds that have one color everywhere in the guide."""

from typing import Literal

from build_traces.kernel_names import decode
from build_traces.trace import ActivityKind

WorkKind = Literal["gemm", "pointwise", "kernel", "memset", "memcpy"]

WORDS: dict[WorkKind, str] = {
    "gemm": "GEMM",
    "pointwise": "pointwise",
    "kernel": "other kernel",
    "memset": "memset",
    "memcpy": "memcpy",
}
GEMM_FAMILIES = frozenset({"nvjet", "nvidia_gemm", "xmma", "cutlass", "tensile"})
POINTWISE_BEGINNINGS = ("triton_poi_", "_geglu_", "_swiglu_")


def work_kind(kind: ActivityKind, name: str) -> WorkKind:
    """The kind of a kernel by its family and name, of other work what it is.

    It decides a color and nothing else. A kernel whose name says nothing is "kernel".
    """
    if kind != "kernel":
        return kind
    family = decode(name).family
    if family in GEMM_FAMILIES or "gemm" in name.lower() or _is_matmul_template(name):
        return "gemm"
    if (family == "aten" and "elementwise_kernel" in name) or name.startswith(POINTWISE_BEGINNINGS):
        return "pointwise"
    return "kernel"


def _is_matmul_template(name: str) -> bool:
    """Of Inductor's templates those whose list of ops has a matrix product in it."""
    words = name.split("_")
    return name.startswith("triton_tem_") and any(word in ("mm", "addmm", "bmm") for word in words)
