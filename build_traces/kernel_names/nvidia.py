"""Names of cuBLAS, cuDNN, CUTLASS and CuTe DSL."""

import re

from build_traces.kernel_names.pieces import Known, Meanings, function_in, made, part_of, parts_of, said
from build_traces.kernel_names.values import KernelName, Part

_CUTLASS_REPO = "https://github.com/NVIDIA/cutlass"
_CUTLASS_READING = f"{_CUTLASS_REPO}/issues/1025"
_CUTLASS_PROFILER = f"{_CUTLASS_REPO}/blob/main/media/docs/cpp/profiler.md"
_CUTLASS_GRAMMAR = f"{_CUTLASS_REPO}/blob/main/python/cutlass_library/gemm_operation.py"
_CUTLASS_LAYOUTS = f"{_CUTLASS_REPO}/blob/main/python/cutlass_library/library.py"
_CUTLASS_WRAPPER = f"{_CUTLASS_REPO}/blob/main/include/cutlass/device_kernel.h"
_PYPROF = "https://github.com/NVIDIA/PyProf/blob/main/pyprof/prof"
_TENSOR_CORES = f"{_PYPROF}/tc.py"
_TAO = (
    "https://github.com/NVIDIA-TAO/tao-pytorch/blob/d999a78b1ddf7ed91f0ec7e3f3ffb80d541aeeb0/"
    "nvidia_tao_pytorch/cv/grounding_dino/scripts/train.py"
)
_META_NVJET = "https://github.com/facebookexperimental/triton/pull/2767"
_META_SMALL = "https://github.com/facebookexperimental/triton/pull/2757"
_NVFUSER = "https://github.com/NVIDIA/Fuser/issues/3279"
_VLLM_TILE = "https://github.com/vllm-project/vllm/issues/35467"
_TENSILE_DOCS = "https://github.com/ROCm/Tensile/blob/develop/docs/src"
_GEMM_TERMS = f"{_TENSILE_DOCS}/reference/nomenclature.rst"


# The last letters are two pieces: with inputs NT NVIDIA/Fuser met NTT (issue 3279) and NTN
# (issue 3137), so the third letter is not a layout of the problem.
_NVJET = re.compile(
    r"(?P<nvjet>nvjet)(?:_(?P<sm>sm[0-9]{2,3}))?_(?P<types>[a-z]{3,8})(?:_(?P<tf32>tf32))?"
    r"(?:_(?P<tile>[0-9]+x[0-9]+)_(?P<k>[0-9]+x[0-9]+)(?:_(?P<cluster>[0-9]+x[0-9]+)(?=_))?"
    r"(?P<rest>(?:_[A-Za-z0-9]+)*?)(?:_(?P<inputs>[NT]{2})(?P<third>[NT]))?"
    r"|(?P<rest_unlike>(?:_[A-Za-z0-9]+)*))"
)
_NVJET_PARTS: Meanings = {
    # Statements by NVIDIA.
    **said(_TAO, nvjet="matrix multiplication of cuBLASLt", sm="for architecture {text}"),
    "types": {
        **said(_TAO, tst="bf16 matrices", hsh="fp16 matrices", sss="float32 matrices"),
        **said(_META_NVJET, hss="fp16 inputs, float32 output"),
    },
    **said(_TAO, tf32="computed in TF32"),
    **said(_NVFUSER, inputs="inputs {text} (T transposed, N not)"),
    # Others, with evidence: every tile id was run; the step of K was measured, its stages not.
    **said(_VLLM_TILE, tile="output tile {0}x{1}"),
    **said(_META_NVJET, k="steps of {0} along K, {1} stages"),
    "rest": said(_META_NVJET, splitK="K split, a second kernel adds the sums"),
    # Said in the same place, without a measurement of its own.
    **said(_META_NVJET, cluster="clusters of {0}x{1} blocks"),
}


# The letter is BLAS only without an instruction: s16816gemm works on 16-bit inputs.
_NVIDIA_GEMM = re.compile(
    r"(?P<arch>maxwell|volta|turing|ampere)_(?:(?P<type>[a-z]+[0-9]+)_)?"
    r"(?:(?P<blas>[a-z]{1,3})|(?P<letter>[a-z])(?P<mma>[0-9]+))(?P<gemm>gemm)"
    r"(?P<rest>(?:_[A-Za-z0-9]+)*)"
)
_NVIDIA_GEMM_PARTS: Meanings = {
    "blas": said(
        _GEMM_TERMS,
        s="single precision",
        d="double precision",
        h="half precision",
        c="single precision complex",
        z="double precision complex",
    ),
    "mma": {digits: Known("on Tensor Cores", _TENSOR_CORES) for digits in ("884", "1688", "16816")},
    **said(_GEMM_TERMS, gemm="general matrix multiplication"),
}
_XMMA = re.compile(r"(?P<arch>sm[0-9]{2,3})_(?P<xmma>xmma(?:_sparse)?_gemm|xmma)(?P<rest>(?:_[A-Za-z0-9]+)+)")
_XMMA_PARTS: Meanings = {
    "xmma": said(
        _TENSOR_CORES,
        xmma_gemm="matrix multiplication on Tensor Cores",
        xmma_sparse_gemm="sparse matrix multiplication on Tensor Cores",
    )
}


# Some of these sit in no namespace; their parameters then name cuBLAS.
_SMALL = "product with a small dimension, on CUDA cores"
_CUBLAS = {
    **said(_META_NVJET, splitKreduce_kernel="adds the sums of a product split along K"),
    **said(_META_SMALL, gemmSN_NN_kernel=_SMALL, gemv2T_kernel=_SMALL),
    **said(_META_SMALL, dot_kernel=f"{_SMALL}, first part", reduce_1Block_kernel=f"{_SMALL}, second part"),
}


def cublas(name: str) -> KernelName | None:
    """A small kernel of cuBLAS, or anything of cublasLt."""
    function = function_in(name) if "cublas" in name else None
    last = function.path.rpartition("::")[2] if function else ""
    if function is None or not (last in _CUBLAS or function.path.startswith("cublasLt::")):
        return None
    return made(name, "cublas", [part_of(last, _CUBLAS.get(last))], short=function.path)


_TYPE = r"(?:c?f64|c?f32|tf32|f16|bf16|e4m3|e5m2|[su](?:4|8|16|32)|void)"
_CUTLASS = re.compile(
    rf"cutlass(?:_(?P<arch>[0-9][0-9]))?_(?P<unit>tensorop|simt)_(?:(?P<c_type>{_TYPE})_)?"
    rf"(?P<acc>[shid])(?P<mma>[0-9]+)?(?P<via>{_TYPE})?(?P<op>gemm|fprop|dgrad|wgrad)"
    rf"(?:_(?P<relu>relu))?(?:_(?P<iterator>analytic|optimized))?(?:_(?P<a_type>{_TYPE}))?"
    r"_(?P<tile>[0-9]+x[0-9]+)_(?P<k>[0-9]+x[0-9]+)_(?P<layout>[nt]{2}|nhwc)_(?P<align>align[0-9]+)"
)
_CUTLASS_PARTS: Meanings = {
    **said(
        _CUTLASS_READING,
        arch="for architecture {text}",
        relu="ReLU on the result",
        tile="output tile {0}x{1}",
        k="steps of {0} along K, {1} stages",
    ),
    **said(_CUTLASS_PROFILER, align="inputs aligned to {0} elements"),
    **said(_CUTLASS_GRAMMAR, a_type="A in {text}", c_type="C in {text}", via="multiplied in {text}"),
    **said(_CUTLASS_LAYOUTS, layout="layouts {text} (n column-major, t row-major)"),
    "unit": said(_CUTLASS_PROFILER, tensorop="on Tensor Cores", simt="on CUDA cores"),
    "acc": said(_CUTLASS_GRAMMAR, s="sums in f32", h="sums in f16", i="sums in s32", d="sums in f64"),
    "mma": {
        digits: Known(f"instruction {shape}", _CUTLASS_GRAMMAR)
        for digits, shape in {"884": "8x8x4", "1688": "16x8x8", "16816": "16x8x16"}.items()
    },
    "op": said(
        _CUTLASS_PROFILER,
        gemm="matrix multiplication",
        fprop="convolution",
        dgrad="gradient of a convolution's input",
        wgrad="gradient of a convolution's weights",
    ),
}
_CUTLASS_WRAPPERS = {"cutlass::Kernel", "cutlass::Kernel2", "cutlass::device_kernel"}


def cutlass(name: str) -> KernelName | None:
    """A procedural name of CUTLASS, by itself or as the argument of a kernel template."""
    function = function_in(name)
    if function is None or function.path not in _CUTLASS_WRAPPERS:
        match = _CUTLASS.fullmatch(name)
        return made(name, "cutlass", parts_of(match, _CUTLASS_PARTS), short=name) if match else None
    wrapper = Part(function.path, "kernel template of CUTLASS", _CUTLASS_WRAPPER)
    inner = function.args[0] if function.args else ""
    match = _CUTLASS.fullmatch(inner)
    parts = parts_of(match, _CUTLASS_PARTS) if match else [Part(inner, None, None)] * bool(inner)
    return made(name, "cutlass", [wrapper, *parts], short=inner or function.path)


# Neither the function nor one argument can be told from the next: all of them may contain underscores.
_CUTE = re.compile(r"(?P<dsl>kernel_cutlass)_(?P<function>[A-Za-z0-9_]+)_(?P<counter>[0-9]+)")
_CUTE_PARTS: Meanings = said(
    f"{_CUTLASS_REPO}/blob/main/python/CuTeDSL/cutlass/base_dsl/dsl.py",
    dsl="kernel written in CuTe DSL",
    function="its Python function and what that was called with, cut at 180 characters",
    counter="number {text} among the kernels of the program",
)
_PLAIN = (
    ("nvjet", _NVJET, _NVJET_PARTS),
    ("nvidia_gemm", _NVIDIA_GEMM, _NVIDIA_GEMM_PARTS),
    ("xmma", _XMMA, _XMMA_PARTS),
    ("cute_dsl", _CUTE, _CUTE_PARTS),
)


def plain(name: str) -> KernelName | None:
    """A name of cuBLAS, cuDNN or CuTe DSL that one pattern takes apart."""
    for family, pattern, meanings in _PLAIN:
        if match := pattern.fullmatch(name):
            return made(name, family, parts_of(match, meanings), short=name)
    return None
