"""Decode what is publicly documented in a GPU kernel's name, for the reader of a trace.

`decode` takes a name as a trace has it and returns its pieces, each with a meaning and the
page that says so. A piece that nobody documents has no meaning here. What counts is a
statement by the kernel's maker, or a public source that shows its evidence.

Names are hostile text: they are cut, never evaluated, and every scan is linear.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SHORT_MAX_CHARS = 60
SUMMARY_MAX_PARTS = 14

_NUMBER = re.compile(r"[0-9]+")

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
_XMMA_ANSWER = "https://github.com/NVIDIA/TensorRT-LLM/issues/1541"
_TORCH = "https://github.com/pytorch/pytorch/blob/main"
_INDUCTOR_NAME = f"{_TORCH}/torch/_inductor/codegen/triton.py"
_INDUCTOR_KIND = f"{_TORCH}/torch/_inductor/wrapper_benchmark.py"
_INDUCTOR_FUSED = f"{_TORCH}/torch/_inductor/utils.py"
_INDUCTOR_COUNTER = f"{_TORCH}/torch/_inductor/codegen/wrapper.py"
_ATEN_CUDA = f"{_TORCH}/aten/src/ATen/native/cuda"
_TENSILE_DOCS = "https://github.com/ROCm/Tensile/blob/develop/docs/src"
_TENSILE_NAME = f"{_TENSILE_DOCS}/conceptual/kernel-parameters.rst"
_GEMM_TERMS = f"{_TENSILE_DOCS}/reference/nomenclature.rst"
_LIGER_OPS = "https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/ops"


@dataclass(frozen=True)
class Part:
    """A piece of a name as written; `meaning` and `source` are both there or both None."""

    text: str
    meaning: str | None
    source: str | None


@dataclass(frozen=True)
class KernelName:
    """A decoded name. `short` and `summary` fit a table cell; `summary` has known parts only."""

    name: str
    family: str
    maker: str
    short: str
    summary: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Family:
    """A kind of name, for the reference page; only "unknown" has no source."""

    key: str
    maker: str
    example: str
    documented: str
    source: str | None


_NVIDIA = "cuBLAS or cuDNN (NVIDIA)"
_ROWS = (
    Family(
        "nvjet",
        "cuBLAS (NVIDIA)",
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT",
        "NVIDIA publishes no grammar; architecture, types, tile, K step, cluster and input "
        "layouts have a public source each, the other pieces have none.",
        _TAO,
    ),
    Family(
        "nvidia_gemm",
        _NVIDIA,
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "CUTLASS says that these are not its kernels; of their names only the BLAS part and the "
        "Tensor Core mark are documented.",
        _CUTLASS_READING,
    ),
    Family(
        "cublas",
        "cuBLAS (NVIDIA)",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams)",
        "What a few small kernels do is documented; their template arguments are not.",
        f"{_PYPROF}/linear.py",
    ),
    Family(
        "xmma",
        _NVIDIA,
        "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4",
        "NVIDIA was asked about such names and answered that they are confidential.",
        _XMMA_ANSWER,
    ),
    Family(
        "cutlass",
        "CUTLASS (NVIDIA)",
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>",
        "CUTLASS documents its procedural names piece by piece.",
        _CUTLASS_PROFILER,
    ),
    Family(
        "inductor",
        "TorchInductor (Triton)",
        "triton_poi_fused__unsafe_view_gelu_mul_0",
        "PyTorch's source shows how the name is made: kind, names of ops in sorted order, counter.",
        _INDUCTOR_NAME,
    ),
    Family(
        "aten",
        "ATen",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)",
        "The name is C++ of PyTorch's public source; its functor tells the op.",
        f"{_ATEN_CUDA}/CUDALoops.cuh",
    ),
    Family(
        "liger",
        "Liger Kernel (Triton)",
        "_geglu_tanh_forward_kernel",
        "The name is a function of Liger's public source; another project may use it too.",
        f"{_LIGER_OPS}/geglu.py",
    ),
    Family(
        "tensile",
        "Tensile (AMD)",
        "Cijk_Alik_Bljk_SB_MT64x16x32_MI16x16x1_SN_MO40_PGR2_PLR1_WG64_4_1",
        "Tensile documents operation, type, tile and a table of codes; newer codes are not in it.",
        _TENSILE_NAME,
    ),
    Family(
        "unknown",
        "unknown",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>",
        "Nothing public was found about the name, or the name does not prove who made it.",
        None,
    ),
)
FAMILIES: dict[str, Family] = {row.key: row for row in _ROWS}


@dataclass(frozen=True)
class Known:
    """A documented meaning; `{0}`, `{1}` are the numbers in the piece, `{text}` is all of it."""

    meaning: str
    source: str

    def part(self, text: str) -> Part:
        """The piece with this meaning."""
        meaning = self.meaning.format(*_NUMBER.findall(text), text=text)
        return Part(text, meaning, self.source)


Meanings = Mapping[str, Known | Mapping[str, Known]]
"""What a named group means: one meaning, or a table of the texts it may have."""


def _said(source: str, **meanings: str) -> dict[str, Known]:
    return {key: Known(meaning, source) for key, meaning in meanings.items()}


def _part(text: str, known: Known | None) -> Part:
    return known.part(text) if known else Part(text, None, None)


def _parts(match: re.Match[str], meanings: Meanings) -> list[Part]:
    """The named groups in the order of the name, the groups `rest…` cut at each underscore."""
    found = {key: text for key, text in match.groupdict().items() if text}
    parts: list[Part] = []
    for key in sorted(found, key=match.start):
        known = meanings.get(key, {})
        for text in found[key][1:].split("_") if key.startswith("rest") else [found[key]]:
            parts.append(_part(text, known if isinstance(known, Known) else known.get(text)))
    return parts


def _short(text: str) -> str:
    """At most 60 printable characters; the middle goes, as both ends tell kernels apart."""
    head, tail = SHORT_MAX_CHARS * 2 // 3, SHORT_MAX_CHARS // 3 - 1
    cut = text if len(text) <= SHORT_MAX_CHARS else f"{text[:head]}…{text[-tail:]}"
    return "".join(char if char.isprintable() else "?" for char in cut)


def _made(name: str, family: str, parts: list[Part], *, short: str) -> KernelName:
    meanings = [part.meaning for part in parts if part.meaning] or ["no piece is documented"]
    if len(meanings) > SUMMARY_MAX_PARTS:
        meanings[SUMMARY_MAX_PARTS - 1 :] = ["…"]
    text = "; ".join([meanings[0][0].upper() + meanings[0][1:], *meanings[1:]])
    maker = FAMILIES[family].maker
    return KernelName(name, family, maker, _short(short), f"{text}.", tuple(parts))


@dataclass(frozen=True)
class Function:
    """A C++ kernel in a name: its path, its template arguments, and where these end."""

    path: str
    args: tuple[str, ...]
    args_start: int
    args_end: int


_PATH = re.compile(r"(?:void )?((?:(?:\(anonymous namespace\)|[A-Za-z_]\w*)::)*[A-Za-z_]\w*)")
_BRACKET = re.compile(r"[<({\[,\]})>]")
_DEPTH = {"<": 1, "(": 1, "{": 1, "[": 1, ",": 0, "]": -1, "}": -1, ")": -1, ">": -1}


def _function(name: str) -> Function | None:
    """The C++ function a name starts with; arguments that do not close end with the name."""
    match = _PATH.match(name)
    if not match:
        return None
    path, end = match[1], match.end()
    if not name.startswith("<", end):
        return Function(path, (), end, end)
    args, depth, start = list[str](), 0, end + 1
    for bracket in _BRACKET.finditer(name, end):
        depth += _DEPTH[bracket[0]]
        if depth <= 0 or (depth == 1 and bracket[0] == ","):
            args.append(name[start : bracket.start()].strip())
            start = bracket.end()
        if depth <= 0:
            return Function(path, tuple(args), end, start)
    return Function(path, (*args, name[start:].strip()), end, len(name))


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
    **_said(_TAO, nvjet="matrix multiplication of cuBLASLt", sm="for architecture {text}"),
    "types": {
        **_said(_TAO, tst="bf16 matrices", hsh="fp16 matrices", sss="float32 matrices"),
        **_said(_META_NVJET, hss="fp16 inputs, float32 output"),
    },
    **_said(_TAO, tf32="computed in TF32"),
    **_said(_NVFUSER, inputs="inputs {text} (T transposed, N not)"),
    # Others, with evidence: every tile id was run; the step of K was measured, its stages not.
    **_said(_VLLM_TILE, tile="output tile {0}x{1}"),
    **_said(_META_NVJET, k="steps of {0} along K, {1} stages"),
    "rest": _said(_META_NVJET, splitK="K split, a second kernel adds the sums"),
    # Said in the same place, without a measurement of its own.
    **_said(_META_NVJET, cluster="clusters of {0}x{1} blocks"),
}


# The letter is BLAS only without an instruction: s16816gemm works on 16-bit inputs.
_NVIDIA_GEMM = re.compile(
    r"(?P<arch>maxwell|volta|turing|ampere)_(?:(?P<type>[a-z]+[0-9]+)_)?"
    r"(?:(?P<blas>[a-z]{1,3})|(?P<letter>[a-z])(?P<mma>[0-9]+))(?P<gemm>gemm)"
    r"(?P<rest>(?:_[A-Za-z0-9]+)*)"
)
_NVIDIA_GEMM_PARTS: Meanings = {
    "blas": _said(
        _GEMM_TERMS,
        s="single precision",
        d="double precision",
        h="half precision",
        c="single precision complex",
        z="double precision complex",
    ),
    "mma": {digits: Known("on Tensor Cores", _TENSOR_CORES) for digits in ("884", "1688", "16816")},
    **_said(_GEMM_TERMS, gemm="general matrix multiplication"),
}
_XMMA = re.compile(r"(?P<arch>sm[0-9]{2,3})_(?P<xmma>xmma(?:_sparse)?_gemm|xmma)(?P<rest>(?:_[A-Za-z0-9]+)+)")
_XMMA_PARTS: Meanings = {
    "xmma": _said(
        _TENSOR_CORES,
        xmma_gemm="matrix multiplication on Tensor Cores",
        xmma_sparse_gemm="sparse matrix multiplication on Tensor Cores",
    )
}


# Some of these sit in no namespace; their parameters then name cuBLAS.
_SMALL = "product with a small dimension, on CUDA cores"
_CUBLAS = {
    **_said(_META_NVJET, splitKreduce_kernel="adds the sums of a product split along K"),
    **_said(_META_SMALL, gemmSN_NN_kernel=_SMALL, gemv2T_kernel=_SMALL),
    **_said(_META_SMALL, dot_kernel=f"{_SMALL}, first part", reduce_1Block_kernel=f"{_SMALL}, second part"),
}


def _cublas(name: str) -> KernelName | None:
    function = _function(name) if "cublas" in name else None
    last = function.path.rpartition("::")[2] if function else ""
    if function is None or not (last in _CUBLAS or function.path.startswith("cublasLt::")):
        return None
    return _made(name, "cublas", [_part(last, _CUBLAS.get(last))], short=function.path)


_TYPE = r"(?:c?f64|c?f32|tf32|f16|bf16|e4m3|e5m2|[su](?:4|8|16|32)|void)"
_CUTLASS = re.compile(
    rf"cutlass(?:_(?P<arch>[0-9][0-9]))?_(?P<unit>tensorop|simt)_(?:(?P<c_type>{_TYPE})_)?"
    rf"(?P<acc>[shid])(?P<mma>[0-9]+)?(?P<via>{_TYPE})?(?P<op>gemm|fprop|dgrad|wgrad)"
    rf"(?:_(?P<relu>relu))?(?:_(?P<iterator>analytic|optimized))?(?:_(?P<a_type>{_TYPE}))?"
    r"_(?P<tile>[0-9]+x[0-9]+)_(?P<k>[0-9]+x[0-9]+)_(?P<layout>[nt]{2}|nhwc)_(?P<align>align[0-9]+)"
)
_CUTLASS_PARTS: Meanings = {
    **_said(
        _CUTLASS_READING,
        arch="for architecture {text}",
        relu="ReLU on the result",
        tile="output tile {0}x{1}",
        k="steps of {0} along K, {1} stages",
    ),
    **_said(_CUTLASS_PROFILER, align="inputs aligned to {0} elements"),
    **_said(_CUTLASS_GRAMMAR, a_type="A in {text}", c_type="C in {text}", via="multiplied in {text}"),
    **_said(_CUTLASS_LAYOUTS, layout="layouts {text} (n column-major, t row-major)"),
    "unit": _said(_CUTLASS_PROFILER, tensorop="on Tensor Cores", simt="on CUDA cores"),
    "acc": _said(_CUTLASS_GRAMMAR, s="sums in f32", h="sums in f16", i="sums in s32", d="sums in f64"),
    "mma": {
        digits: Known(f"instruction {shape}", _CUTLASS_GRAMMAR)
        for digits, shape in {"884": "8x8x4", "1688": "16x8x8", "16816": "16x8x16"}.items()
    },
    "op": _said(
        _CUTLASS_PROFILER,
        gemm="matrix multiplication",
        fprop="convolution",
        dgrad="gradient of a convolution's input",
        wgrad="gradient of a convolution's weights",
    ),
}
_CUTLASS_WRAPPERS = {"cutlass::Kernel", "cutlass::Kernel2", "cutlass::device_kernel"}


def _cutlass(name: str) -> KernelName | None:
    function = _function(name)
    if function is None or function.path not in _CUTLASS_WRAPPERS:
        match = _CUTLASS.fullmatch(name)
        return _made(name, "cutlass", _parts(match, _CUTLASS_PARTS), short=name) if match else None
    wrapper = Part(function.path, "kernel template of CUTLASS", _CUTLASS_WRAPPER)
    inner = function.args[0] if function.args else ""
    match = _CUTLASS.fullmatch(inner)
    parts = _parts(match, _CUTLASS_PARTS) if match else [Part(inner, None, None)] * bool(inner)
    return _made(name, "cutlass", [wrapper, *parts], short=inner or function.path)


# Inductor sorts the names of the ops and joins them by "_", which they may contain too. A list
# is cut only where it is made of these ops: none begins with another, and in sorted order no
# other names of ATen read the same (a test holds both), so no cut is a guess.
_OP_NAMES = """
    _softmax _to_copy _unsafe_view abs add addmm amax amin bmm cat clamp clone constant_pad_nd
    convert_element_type cos cumsum div embedding eq exp expand ge gelu gt le lt mean mm mul
    native_dropout native_layer_norm ne neg permute pow reciprocal relu rsqrt sigmoid silu sin
    slice split sqrt squeeze stack sub sum t tanh transpose unsqueeze view where
"""
_OPS = frozenset(_OP_NAMES.split())
_OP_MAX_WORDS = max(op.count("_") + 1 for op in _OPS)
_INDUCTOR = re.compile(r"(?P<triton>triton)_(?P<kind>poi|red|per|tem|for|spl)_(?P<fused>fused)(?:_(\w+))?", re.ASCII)
_INDUCTOR_PARTS: Meanings = {
    **_said(_INDUCTOR_NAME, triton="Triton kernel that Inductor wrote"),
    "kind": _said(
        _INDUCTOR_KIND,
        poi="pointwise",
        red="reduction",
        per="persistent reduction",
        tem="from a template",
        spl="split scan",
        **{"for": "foreach"},
    ),
    **_said(_INDUCTOR_FUSED, fused="fuses the ops that follow"),
}
_INDUCTOR_OP = Known("op {text}", _INDUCTOR_FUSED)
_INDUCTOR_LIST = Known("names of ops, joined by underscores", _INDUCTOR_FUSED)
_INDUCTOR_COUNT = Known("number {text} in the module that Inductor wrote", _INDUCTOR_COUNTER)


def _ops(listed: str) -> list[str]:
    """The ops of a list, or none where the table does not prove every cut."""
    words, start, found = listed.split("_"), 0, list[str]()
    for end in range(1, len(words) + 1):
        op = "_".join(words[start:end])
        if op in _OPS:
            found.append(op)
            start = end
        elif end - start == _OP_MAX_WORDS:
            return []
    return found if start == len(words) and found == sorted(set(found)) else []


def _inductor(name: str) -> KernelName | None:
    match = _INDUCTOR.fullmatch(name)
    if not match:
        return None
    listed, _, counter = (match[4] or "").rpartition("_")
    if not counter.isdecimal():
        # Without its counter the name was cut, perhaps inside an op.
        listed, counter = match[4] or "", ""
    ops = [_INDUCTOR_OP.part(op) for op in _ops(listed) if counter]
    parts = _parts(match, _INDUCTOR_PARTS)
    parts += ops or [_INDUCTOR_LIST.part(listed)] * bool(listed)
    parts += [_INDUCTOR_COUNT.part(counter)] * bool(counter)
    return _made(name, "inductor", parts, short=name)


# ATen: what runs, the template arguments that are numbers, and the functor that is the op.
_LOOPS, _REDUCE = f"{_ATEN_CUDA}/CUDALoops.cuh", f"{_ATEN_CUDA}/Reduce.cuh"
_RANDOM, _MANY = f"{_ATEN_CUDA}/DistributionTemplates.h", f"{_ATEN_CUDA}/MultiTensorApply.cuh"
_ATEN_KERNELS: dict[str, tuple[Known, tuple[str, ...]]] = {
    "vectorized_elementwise_kernel": (
        Known("elementwise kernel, wide loads and stores", _LOOPS),
        ("{text} values a load",),
    ),
    "elementwise_kernel": (Known("elementwise kernel", _LOOPS), ("{text} threads a block", "{text} values a thread")),
    "unrolled_elementwise_kernel": (Known("elementwise kernel, unrolled", _LOOPS), ()),
    "reduce_kernel": (Known("reduction", _REDUCE), ("at most {text} threads a block", "output vector of {text}")),
    "distribution_elementwise_grid_stride_kernel": (
        Known("fills with random numbers", _RANDOM),
        ("", "unrolled {text} times"),
    ),
    "multi_tensor_apply_kernel": (Known("one kernel over many tensors", _MANY), ()),
}
_ATEN_TREE = "https://github.com/pytorch/pytorch/tree/main/aten/src/ATen/native/cuda"
_ATEN_KERNEL = Known("kernel of ATen's source", _ATEN_TREE)
_ATEN_FUNCTOR = Known("function of ATen's source that it applies", _ATEN_TREE)
_WRAPPER_NAMES = """
    gpu_kernel_impl gpu_kernel_impl_nocast BinaryFunctor ReduceOp func_wrapper_t
    TensorListMetadata TensorListScalarListMetadata
"""
_WRAPPERS = frozenset(_WRAPPER_NAMES.split())
_ATEN_OUTER = {
    **_said(f"{_ATEN_CUDA}/Loops.cuh", AUnaryFunctor="first input a number"),
    **_said(f"{_ATEN_CUDA}/Loops.cuh", BUnaryFunctor="second input a number"),
    **_said(
        f"{_ATEN_CUDA}/ForeachFunctors.cuh",
        UnaryOpFunctor="a list of tensors",
        BinaryOpListAlphaFunctor="two lists of tensors",
        BinaryOpScalarFunctor="a list of tensors and a number",
    ),
}
_ADD, _COPY = f"{_TORCH}/torchgen/dest/ufunc.py", f"{_ATEN_CUDA}/Copy.cu"
_GELU, _SILU = f"{_ATEN_CUDA}/ActivationGeluKernel.cu", f"{_ATEN_CUDA}/ActivationSiluKernel.cu"
_ATEN_FUNCTORS = {
    **_said(_GELU, GeluCUDAKernelImpl="GELU", GeluBackwardCUDAKernelImpl="gradient of GELU"),
    **_said(_SILU, silu_kernel="SiLU", silu_backward_kernel="gradient of SiLU"),
    **_said(f"{_ATEN_CUDA}/ActivationThresholdKernel.cu", threshold_kernel_impl="threshold"),
    **_said(_ADD, CUDAFunctor_add="addition", CUDAFunctorOnSelf_add="addition of a number"),
    **_said(_ADD, CUDAFunctorOnOther_add="addition to a number"),
    **_said(f"{_ATEN_CUDA}/BinaryInternal.h", MulFunctor="multiplication", DivFunctor="division"),
    **_said(_COPY, direct_copy_kernel_cuda="copy", bfloat16_copy_kernel_cuda="copy to bf16"),
    **_said(_COPY, float16_copy_kernel_cuda="copy to fp16"),
    **_said(f"{_ATEN_CUDA}/ForeachBinaryOpList.cu", Copy="copy", plus="addition", multiplies="multiplication"),
    **_said(f"{_ATEN_CUDA}/FillKernel.cu", FillFunctor="fill with one value"),
    **_said(f"{_ATEN_CUDA}/TensorCompare.cu", launch_clamp_scalar="clamp to numbers"),
    **_said(f"{_ATEN_CUDA}/UnarySignKernels.cu", neg_kernel_cuda="negation"),
    **_said(f"{_ATEN_CUDA}/BinaryMiscOpsKernels.cu", mse_kernel_cuda="squared difference"),
    **_said(f"{_ATEN_CUDA}/PowKernel.cu", pow_tensor_scalar_kernel_impl="power"),
    **_said(f"{_ATEN_CUDA}/ReduceSumProdKernel.cu", sum_functor="sum"),
    **_said(f"{_TORCH}/aten/src/ATen/native/SharedReduceOps.h", MeanOps="mean"),
    **_said(_RANDOM, uniform_and_transform="uniformly distributed"),
}
_FUNCTOR = re.compile(
    r"(?:at::native::(?:(?:\(anonymous namespace\)|[A-Za-z_]\w*)::)*|std::(?=plus|multiplies))"
    r"([A-Za-z_]\w*)"
)


def _aten(name: str) -> KernelName | None:
    function = _function(name)
    if function is None or not function.path.startswith("at::native::"):
        return None
    kernel = function.path.rpartition("::")[2]
    if kernel not in _ATEN_KERNELS:
        return _made(name, "aten", [_ATEN_KERNEL.part(kernel)], short=kernel)
    known, numbers = _ATEN_KERNELS[kernel]
    parts = [known.part(kernel)]
    for meaning, arg in zip(numbers, function.args, strict=False):
        if meaning and arg.isdecimal():
            parts.append(Known(meaning, known.source).part(arg))
    shown = [kernel.removesuffix("_kernel")]
    for found in _FUNCTOR.finditer(name, function.args_start, function.args_end):
        functor = found[1]
        outer = _ATEN_OUTER.get(functor)
        if functor not in _WRAPPERS:
            parts.append((outer or _ATEN_FUNCTORS.get(functor, _ATEN_FUNCTOR)).part(functor))
            shown.append(functor)
            if not outer:
                break
    return _made(name, "aten", parts, short=" ".join(shown))


_LIGER = {
    kernel: Known(f"{layer}, Liger's kernel", f"{_LIGER_OPS}/{module}.py")
    for module, layer, kernels in (
        ("geglu", "GEGLU with tanh-GELU", "_geglu_tanh_{}_kernel"),
        ("swiglu", "SwiGLU", "_swiglu_{}_kernel _swiglu_{}_kernel_tiled"),
        ("rms_norm", "RMSNorm", "_rms_norm_{}_kernel _block_rms_norm_{}_kernel"),
        ("fused_add_rms_norm", "residual and RMSNorm", "_fused_add_rms_norm_{}_kernel"),
        ("layer_norm", "LayerNorm", "_layer_norm_{}_kernel"),
        ("group_norm", "GroupNorm", "_group_norm_{}_kernel"),
        ("poly_norm", "PolyNorm", "_poly_norm_{}_kernel"),
        ("relu_squared", "squared ReLU", "_relu_squared_{}_kernel"),
        ("sparsemax", "sparsemax", "_sparsemax_{}_kernel"),
        ("cross_entropy", "cross entropy", "liger_cross_entropy_kernel"),
        ("kl_div", "KL divergence", "_kldiv_kernel_{}"),
        ("jsd", "Jensen-Shannon divergence", "_jsd_kernel"),
        ("tvd", "total variation distance", "_tv_distance_kernel"),
        ("rope", "rotary position embedding", "_triton_rope"),
        ("llama4_rope", "rotary position embedding of Llama 4", "_llama4_rope_kernel"),
        ("qwen2vl_mrope", "rotary position embedding of Qwen2-VL", "_triton_qwen2vl_mrope"),
    )
    for pattern in kernels.split()
    for kernel in (pattern.format("forward"), pattern.format("backward"))
}


def _liger(name: str) -> KernelName | None:
    known = _LIGER.get(name)
    return _made(name, "liger", [known.part(name)], short=name) if known else None


_TENSILE = re.compile(
    r"(?P<op>Cijk_A[a-z]{3}_B[a-z]{3})_(?P<type>[A-Z][A-Z0-9]*)(?P<rest>(?:_[A-Za-z0-9]+)*?)"
    r"_(?P<tile>MT[0-9]+x[0-9]+x[0-9]+)(?:_(?P<codes>[A-Za-z0-9_]+))?"
)
_TENSILE_PARTS: Meanings = {
    "op": _said(
        _GEMM_TERMS,
        Cijk_Ailk_Bljk="batched matrix multiplication, inputs NN",
        Cijk_Ailk_Bjlk="batched matrix multiplication, inputs NT",
        Cijk_Alik_Bljk="batched matrix multiplication, inputs TN",
        Cijk_Alik_Bjlk="batched matrix multiplication, inputs TT",
    ),
    "type": _said(_TENSILE_NAME, SB="single precision, may use beta"),
    **_said(_TENSILE_NAME, tile="macro tile {0}x{1}, unroll depth {2}"),
    **_said(_TENSILE_NAME, codes="kernel parameters, abbreviated"),
}


_PLAIN = (
    ("nvjet", _NVJET, _NVJET_PARTS),
    ("nvidia_gemm", _NVIDIA_GEMM, _NVIDIA_GEMM_PARTS),
    ("xmma", _XMMA, _XMMA_PARTS),
    ("tensile", _TENSILE, _TENSILE_PARTS),
)


def _plain(name: str) -> KernelName | None:
    """A name that one pattern takes apart; Tensile's codes are no part of `short`."""
    for family, pattern, meanings in _PLAIN:
        if match := pattern.fullmatch(name):
            told = name.removesuffix(match.groupdict().get("codes") or "").rstrip("_")
            return _made(name, family, _parts(match, meanings), short=told)
    return None


def _unknown(name: str) -> KernelName:
    """No family; `short` is the C++ function with its template arguments, or the name."""
    function = _function(name)
    short = name[: function.args_end] if function and function.args else name
    unknown = FAMILIES["unknown"]
    short = _short(short.removeprefix("void "))
    return KernelName(name, unknown.key, unknown.maker, short, "Not decoded.", ())


_DECODERS: tuple[Callable[[str], KernelName | None], ...] = (_plain, _inductor, _liger, _aten, _cutlass, _cublas)


def decode(name: str) -> KernelName:
    """Take a kernel's name apart; any string is a name, and one of no family has no parts."""
    found = (decoder(name) for decoder in _DECODERS)
    return next((decoded for decoded in found if decoded), None) or _unknown(name)
