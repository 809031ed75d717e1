"""The tables of the decoder as plain data, for the site's own decoder: the same patterns and meanings, no copy.

`docs/assets/compare-names.js` reads them. Patterns are in the dialect of JavaScript with the flag `u`.
"""

import re

from build_traces.kernel_names.amd import _TENSILE, _TENSILE_PARTS
from build_traces.kernel_names.aten import (
    _ATEN_FUNCTOR,
    _ATEN_FUNCTORS,
    _ATEN_KERNEL,
    _ATEN_KERNELS,
    _ATEN_OUTER,
    _FUNCTOR,
    _WRAPPERS,
)
from build_traces.kernel_names.nvidia import _CUBLAS, _CUTLASS, _CUTLASS_PARTS, _CUTLASS_WRAPPERS, _PLAIN
from build_traces.kernel_names.pieces import Known, Meanings
from build_traces.kernel_names.triton import (
    _INDUCTOR,
    _INDUCTOR_COUNT,
    _INDUCTOR_LIST,
    _INDUCTOR_OP,
    _INDUCTOR_PARTS,
    _LIGER,
    _OP_MAX_WORDS,
    _OPS,
)
from build_traces.kernel_names.values import FAMILIES
from build_traces.work_kinds import GEMM_FAMILIES, POINTWISE_BEGINNINGS

WORD = r"[\p{L}\p{N}_]"
"""What `\\w` is in Python, unless the pattern is of ASCII."""


def tables() -> dict[str, object]:
    """Everything that `decode` goes by."""
    return {
        "makers": {key: family.maker for key, family in FAMILIES.items()},
        "patterns": [
            *([family, _pattern(pattern), _meanings(known)] for family, pattern, known in _PLAIN),
            ["tensile", _pattern(_TENSILE), _meanings(_TENSILE_PARTS)],
        ],
        "inductor": [_pattern(_INDUCTOR), _meanings(_INDUCTOR_PARTS)],
        "inductorOps": sorted(_OPS),
        "inductorWords": _OP_MAX_WORDS,
        "inductorSays": [
            _INDUCTOR_OP.meaning,
            _INDUCTOR_LIST.meaning,
            _INDUCTOR_COUNT.meaning,
        ],
        "liger": _said(_LIGER),
        "atenKernels": {name: [known.meaning, numbers] for name, (known, numbers) in _ATEN_KERNELS.items()},
        "atenKernel": _ATEN_KERNEL.meaning,
        "atenFunctor": _ATEN_FUNCTOR.meaning,
        "atenFunctors": _said(_ATEN_FUNCTORS),
        "atenOuter": _said(_ATEN_OUTER),
        "atenWrappers": sorted(_WRAPPERS),
        "functor": _pattern(_FUNCTOR),
        "cutlass": [_pattern(_CUTLASS), _meanings(_CUTLASS_PARTS)],
        "cutlassWrappers": sorted(_CUTLASS_WRAPPERS),
        "cutlassWrapper": "kernel template of CUTLASS",
        "cublas": _said(_CUBLAS),
        "gemmFamilies": sorted(GEMM_FAMILIES),
        "pointwiseBeginnings": list(POINTWISE_BEGINNINGS),
    }


def _pattern(pattern: re.Pattern[str]) -> str:
    word = "[A-Za-z0-9_]" if pattern.flags & re.ASCII else WORD
    return pattern.pattern.replace("(?P<", "(?<").replace(r"\w", word)


def _said(known: dict[str, Known]) -> dict[str, str]:
    return {name: one.meaning for name, one in known.items()}


def _meanings(meanings: Meanings) -> dict[str, object]:
    return {key: known.meaning if isinstance(known, Known) else _said(dict(known)) for key, known in meanings.items()}
