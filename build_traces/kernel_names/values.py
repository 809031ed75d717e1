"""A decoded name, its pieces, and the families of names there are."""

from dataclasses import dataclass

_CUTLASS_REPO = "https://github.com/NVIDIA/cutlass"
_CUTLASS_READING = f"{_CUTLASS_REPO}/issues/1025"
_CUTLASS_PROFILER = f"{_CUTLASS_REPO}/blob/main/media/docs/cpp/profiler.md"
_CUTE_DSL = f"{_CUTLASS_REPO}/blob/main/python/CuTeDSL/cutlass/base_dsl/dsl.py"
_PYPROF = "https://github.com/NVIDIA/PyProf/blob/main/pyprof/prof"
_TAO = (
    "https://github.com/NVIDIA-TAO/tao-pytorch/blob/d999a78b1ddf7ed91f0ec7e3f3ffb80d541aeeb0/"
    "nvidia_tao_pytorch/cv/grounding_dino/scripts/train.py"
)
_XMMA_ANSWER = "https://github.com/NVIDIA/TensorRT-LLM/issues/1541"
_TORCH = "https://github.com/pytorch/pytorch/blob/main"
_INDUCTOR_NAME = f"{_TORCH}/torch/_inductor/codegen/triton.py"
_ATEN_CUDA = f"{_TORCH}/aten/src/ATen/native/cuda"
_TENSILE_DOCS = "https://github.com/ROCm/Tensile/blob/develop/docs/src"
_TENSILE_NAME = f"{_TENSILE_DOCS}/conceptual/kernel-parameters.rst"
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
        "cute_dsl",
        "CuTe DSL (NVIDIA)",
        "kernel_cutlass_kernel_quackepiloguefrontendGemmMod_linear_act_epi_93b70c6335d592ca_g_none_sm9_object_at__"
        "TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK64192_0",
        "CUTLASS's source shows how the name is made: the Python function and its arguments run together, cut at 180 "
        "characters, and a counter. What the arguments say is the library's own.",
        _CUTE_DSL,
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
