"""Names of Tensile's kernels, on AMD GPUs."""

import re

from build_traces.kernel_names.pieces import Meanings, made, parts_of, said
from build_traces.kernel_names.values import KernelName

_TENSILE_DOCS = "https://github.com/ROCm/Tensile/blob/develop/docs/src"
_TENSILE_NAME = f"{_TENSILE_DOCS}/conceptual/kernel-parameters.rst"
_GEMM_TERMS = f"{_TENSILE_DOCS}/reference/nomenclature.rst"


_TENSILE = re.compile(
    r"(?P<op>Cijk_A[a-z]{3}_B[a-z]{3})_(?P<type>[A-Z][A-Z0-9]*)(?P<rest>(?:_[A-Za-z0-9]+)*?)"
    r"_(?P<tile>MT[0-9]+x[0-9]+x[0-9]+)(?:_(?P<codes>[A-Za-z0-9_]+))?"
)
_TENSILE_PARTS: Meanings = {
    "op": said(
        _GEMM_TERMS,
        Cijk_Ailk_Bljk="batched matrix multiplication, inputs NN",
        Cijk_Ailk_Bjlk="batched matrix multiplication, inputs NT",
        Cijk_Alik_Bljk="batched matrix multiplication, inputs TN",
        Cijk_Alik_Bjlk="batched matrix multiplication, inputs TT",
    ),
    "type": said(_TENSILE_NAME, SB="single precision, may use beta"),
    **said(_TENSILE_NAME, tile="macro tile {0}x{1}, unroll depth {2}"),
    **said(_TENSILE_NAME, codes="kernel parameters, abbreviated"),
}


def tensile(name: str) -> KernelName | None:
    """A matrix multiplication of Tensile; its codes are no part of `short`."""
    match = _TENSILE.fullmatch(name)
    if not match:
        return None
    told = name.removesuffix(match["codes"] or "").rstrip("_")
    return made(name, "tensile", parts_of(match, _TENSILE_PARTS), short=told)
