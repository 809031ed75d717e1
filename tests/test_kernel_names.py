"""A kernel's name is taken apart only as far as public sources go.

The values here are worked out by hand, from the name and from the page that documents it
(named above each group), and not printed from the code. The names are those of the traces in
tests/traces and of the cited pages; long C++ names are cut after their template arguments.
"""

import ast
import gzip
import itertools
import json
import time
from pathlib import Path

import liger_kernel
import pytest
import torch

from build_traces.kernel_names import FAMILIES, KernelName, decode
from build_traces.kernel_names.pieces import SHORT_MAX_CHARS
from build_traces.kernel_names.triton import _LIGER, _OPS

NVJET_BIAS = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"
NVJET_A = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
NVJET_B = "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT"
QUACK = (
    "kernel_cutlass_kernel_quackepiloguefrontendGemmMod_linear_act_epi_93b70c6335d592ca_g_none_sm9_object_at__"
    "TiledMMA_ThrLayoutVMNK1281111000_PermutationMNK____MMAAtom_ThrID1281_ShapeMNK64192_0"
)
ADD = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add"
    "<c10::BFloat16> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)"
    "::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> >)"
)
FOREACH_COPY = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "TensorListMetadata<2>, at::native::(anonymous namespace)::UnaryOpFunctor<c10::BFloat16, 2, 1, 1>, "
    "at::native::Copy<c10::BFloat16, c10::BFloat16> >(at::native::(anonymous namespace)::TensorListMetadata<2>)"
)
GELU = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::"
    "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&))"
)
MUL = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
    "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)"
)
MUL_NUMBER = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int)"
)
COPY = (
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}"
    "::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"
)
MEAN = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
    "float>, unsigned int, float, 4> >(at::native::ReduceOp<float>)"
)
SUM = (
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
    "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
    "unsigned int, float, 4> >(at::native::ReduceOp<float>)"
)
FILL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)"
)
RANDOM = (
    "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, at::native::"
    "templates::cuda::uniform_and_transform<float, float, 4ul, at::CUDAGeneratorImpl*>(at::TensorIteratorBase&)>(long)"
)
MAX_POOL = "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*)"
CUTLASS = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>"
CUTLASS_RELU = "cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x128_32x4_tn_align8"
XMMA = (
    "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_"
    "warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel_cudnn"
)
SPLIT_K = "void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>, float const*)"
SPLIT_K_BARE = "void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>, float const*)"
TENSILE = (
    "Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN_LDSB0_AFC1_EPS0_ISA90a_IU1_K1_"
    "LRVW4_LWPMn1_MIWT1_1_MO40_PGR2_PLR1_WS64_WG64_4_1"
)
INDUCTOR = "triton_poi_fused__unsafe_view_gelu_mul_0"
LIGER = "_geglu_tanh_forward_kernel"

H200_PROBE = (NVJET_BIAS, NVJET_A, NVJET_B, ADD, INDUCTOR, FOREACH_COPY, GELU, MUL, LIGER)


def said(kernel: KernelName) -> dict[str, str | None]:
    """What each piece means; a piece that occurs twice keeps its last meaning."""
    return {part.text: part.meaning for part in kernel.parts}


def meaning(name: str, piece: str) -> str:
    """The meaning of a piece that has to have one."""
    found = said(decode(name))[piece]
    assert found is not None, piece
    return found


FAMILY_AND_SHORT = [
    (NVJET_BIAS, "nvjet", NVJET_BIAS),
    (NVJET_A, "nvjet", NVJET_A),
    (NVJET_B, "nvjet", NVJET_B),
    (ADD, "aten", "elementwise CUDAFunctor_add"),
    (FOREACH_COPY, "aten", "multi_tensor_apply UnaryOpFunctor Copy"),
    (GELU, "aten", "vectorized_elementwise GeluCUDAKernelImpl"),
    (MUL, "aten", "vectorized_elementwise MulFunctor"),
    (MUL_NUMBER, "aten", "vectorized_elementwise AUnaryFunctor MulFunctor"),
    (COPY, "aten", "elementwise direct_copy_kernel_cuda"),
    (MEAN, "aten", "reduce MeanOps"),
    (SUM, "aten", "reduce sum_functor"),
    (FILL, "aten", "vectorized_elementwise FillFunctor"),
    (RANDOM, "aten", "distribution_elementwise_grid_stride uniform_and_transform"),
    (MAX_POOL, "aten", "max_pool_forward_nchw"),
    (INDUCTOR, "inductor", INDUCTOR),
    ("triton_poi_fused_add_cos_sin_0", "inductor", "triton_poi_fused_add_cos_sin_0"),
    (LIGER, "liger", LIGER),
    (CUTLASS, "cutlass", "cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4"),
    # 66 characters: the first 40, the ellipsis, the last 19.
    (CUTLASS_RELU, "cutlass", "cutlass_80_tensorop_f16_s16816gemm_relu_…x128_32x4_tn_align8"),
    ("ampere_sgemm_32x32_sliced1x4_tn", "nvidia_gemm", "ampere_sgemm_32x32_sliced1x4_tn"),
    ("volta_sgemm_64x64_nt", "nvidia_gemm", "volta_sgemm_64x64_nt"),
    (XMMA, "xmma", "sm80_xmma_fprop_implicit_gemm_indexed_tf…xecute_kernel_cudnn"),
    (SPLIT_K, "cublas", "cublasLt::splitKreduce_kernel"),
    (SPLIT_K_BARE, "cublas", "splitKreduce_kernel"),
    (QUACK, "cute_dsl", "kernel_cutlass_kernel_quackepiloguefront…281_ShapeMNK64192_0"),
    ("kernel_cutlass_without_a_counter", "unknown", None),
    (TENSILE, "tensile", "Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32"),
    # No family: cuDNN documents no name, and the last four prove no maker.
    ("void cudnn::ops::nchwToNhwcKernel<float>(int)", "unknown", "cudnn::ops::nchwToNhwcKernel<float>"),
    ("cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "unknown", None),
    ("void cask_cudnn::computeOffsetsKernel<false, false>(cask_cudnn::ComputeOffsetsParams)", "unknown", None),
    ("void (anonymous namespace)::softmax_warp_forward<float, 10>(float*)", "unknown", None),
    ("void epilogue::impl::globalKernel<float, float>(int)", "unknown", None),
    ("_layer_norm_fwd_fused", "unknown", "_layer_norm_fwd_fused"),
    ("my_matmul_kernel", "unknown", "my_matmul_kernel"),
]


@pytest.mark.parametrize(("name", "family", "short"), FAMILY_AND_SHORT)
def test_a_name_has_a_family_a_maker_and_a_short_form(name: str, family: str, short: str | None) -> None:
    kernel = decode(name)
    assert kernel.name == name
    assert kernel.family == family
    assert kernel.maker == FAMILIES[family].maker
    assert short is None or kernel.short == short
    assert bool(kernel.parts) == (family != "unknown")


@pytest.mark.parametrize("name", H200_PROBE)
def test_every_name_of_the_probe_says_something(name: str) -> None:
    assert decode(name).family != "unknown"
    assert any(part.meaning for part in decode(name).parts)


def test_every_kernel_of_the_probe_s_traces_is_one_of_those_above() -> None:
    files = sorted((Path(__file__).parent / "traces" / "h200_probe").glob("*.json.gz"))
    events = (event for file in files for event in json.loads(gzip.decompress(file.read_bytes()))["traceEvents"])
    shorts = {decode(event["name"]).short for event in events if event.get("cat") == "kernel"}
    assert shorts == {decode(name).short for name in H200_PROBE}


# nvjet. Types: the table in NVIDIA-TAO/tao-pytorch. Tile: vllm-project/vllm 35467. K step, stages,
# cluster, splitK: facebookexperimental/triton 2767. Inputs: NVIDIA/Fuser 3279.
@pytest.mark.parametrize(
    ("name", "tile", "tile_said", "k", "k_said"),
    [
        (NVJET_BIAS, "256x128", "output tile 256x128", "64x4", "steps of 64 along K, 4 stages"),
        (NVJET_A, "256x128", "output tile 256x128", "64x4", "steps of 64 along K, 4 stages"),
        (NVJET_B, "192x128", "output tile 192x128", "64x5", "steps of 64 along K, 5 stages"),
    ],
)
def test_nvjet_tells_tile_steps_cluster_types_and_inputs(
    name: str, tile: str, tile_said: str, k: str, k_said: str
) -> None:
    pieces = said(decode(name))
    assert pieces[tile] == tile_said
    assert pieces[k] == k_said
    assert pieces["1x2"] == "clusters of 1x2 blocks"
    assert pieces["tst"] == "bf16 matrices"
    assert pieces["sm90"] == "for architecture sm90"
    assert pieces["TN"] == "inputs TN (T transposed, N not)"


def test_what_nobody_documents_of_nvjet_is_unknown() -> None:
    pieces = said(decode(NVJET_BIAS))
    assert {text for text, told in pieces.items() if told is None} == {"h", "bz", "coopA", "bias", "T"}
    assert said(decode(NVJET_B))["coopB"] is None


def test_nvjet_of_other_architectures_is_read_only_where_the_grammar_is_the_same() -> None:
    # CUDA 12.8 has no architecture in the name.
    assert said(decode("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT"))["hsh"] == "fp16 matrices"
    split = decode("nvjet_sm100_tst_64x16_64x8_2x4_2cta_v_bz_splitK_TNT")
    assert said(split)["64x16"] == "output tile 64x16"
    assert said(split)["splitK"] == "K split, a second kernel adds the sums"
    assert said(split)["2cta"] is said(split)["v"] is None
    # 2x2f is no plain cluster, and nobody says what the f is.
    assert said(decode("nvjet_sm100_hsh_128x256_64x6_2x2f_2cta_h_bz_NNT"))["2x2f"] is None
    # sm120 names have another grammar: nothing after the types is known.
    other = decode("nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN")
    assert [part.text for part in other.parts if part.meaning] == ["nvjet", "sm120", "tst"]
    assert said(decode("nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT"))["qqtst"] is None


# CUTLASS: issue 1025 of NVIDIA/cutlass reads this very name, gemm_operation.py writes it: the type
# before s16816gemm is C's, the one after A's; s is float32; 16816 is the instruction 16x8x16.
def test_cutlass_is_read_as_its_library_writes_it() -> None:
    texts = [(part.text, part.meaning) for part in decode(CUTLASS_RELU).parts]
    assert texts == [
        ("80", "for architecture 80"),
        ("tensorop", "on Tensor Cores"),
        ("f16", "C in f16"),
        ("s", "sums in f32"),
        ("16816", "instruction 16x8x16"),
        ("gemm", "matrix multiplication"),
        ("relu", "ReLU on the result"),
        ("f16", "A in f16"),
        ("128x128", "output tile 128x128"),
        ("32x4", "steps of 32 along K, 4 stages"),
        ("tn", "layouts tn (n column-major, t row-major)"),
        ("align8", "inputs aligned to 8 elements"),
    ]


# dsl.py of CUTLASS: "kernel_", the prefix "cutlass" with what was mangled, of which 180 characters are kept, and how
# many kernels came before.
def test_a_kernel_of_cute_dsl_is_cut_where_its_name_is_joined() -> None:
    first, middle, last = decode(QUACK).parts
    assert (first.text, first.meaning) == ("kernel_cutlass", "kernel written in CuTe DSL")
    assert len("cutlass_") + len(middle.text) == 180 and middle.text.startswith("kernel_quackepilogue")
    assert (last.text, last.meaning) == ("0", "number 0 among the kernels of the program")
    assert decode(QUACK.replace("_0", "_12")).parts[-1].text == "12"


def test_cutlass_is_read_inside_its_wrappers_and_a_strange_type_there_is_unknown() -> None:
    assert meaning(CUTLASS, "128x128") == "output tile 128x128"
    assert meaning(CUTLASS, "32x3") == "steps of 32 along K, 3 stages"
    assert meaning(CUTLASS, "1688") == "instruction 16x8x8"
    assert meaning(CUTLASS, "nn") == "layouts nn (n column-major, t row-major)"
    assert meaning(CUTLASS, "align4") == "inputs aligned to 4 elements"
    # profiler.md: tf32 between the instruction and the operation is what is multiplied.
    assert meaning("cutlass_tensorop_s1688tf32gemm_256x128_16x3_nn_align4", "tf32") == "multiplied in tf32"
    attention = decode("void cutlass::device_kernel<flash::FlashAttnFwdSm90<int> >(flash::Params)")
    assert said(attention) == {
        "cutlass::device_kernel": "kernel template of CUTLASS",
        "flash::FlashAttnFwdSm90<int>": None,
    }


# PyProf's tc.py lists 16816, s1688, h884 and xmma_gemm as marks of Tensor Core kernels; Tensile's
# nomenclature lists SGEMM, DGEMM, HGEMM, CGEMM and ZGEMM. Of the rest nobody says anything.
def test_nvidia_s_older_names_tell_only_the_blas_name_and_the_tensor_core_mark() -> None:
    wide = said(decode("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"))
    assert {text for text, told in wide.items() if told} == {"16816", "gemm"}
    assert wide["16816"] == "on Tensor Cores"
    single = said(decode("volta_sgemm_64x32_sliced1x4_tn"))
    assert {text: told for text, told in single.items() if told} == {
        "s": "single precision",
        "gemm": "general matrix multiplication",
    }
    assert said(decode("ampere_gcgemm_64x64_nt"))["gc"] is None


def test_xmma_is_confidential_but_for_the_mark_of_tensor_cores() -> None:
    assert all(part.meaning is None for part in decode(XMMA).parts)
    gemm = decode("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4")
    assert [part.text for part in gemm.parts if part.meaning] == ["xmma_gemm"]


# torch/_inductor: kind from wrapper_benchmark.py, op names sorted and joined in utils.py.
@pytest.mark.parametrize(
    ("name", "kind", "ops", "counter"),
    [
        (INDUCTOR, "pointwise", ["_unsafe_view", "gelu", "mul"], "0"),
        ("triton_poi_fused_add_cos_sin_0", "pointwise", ["add", "cos", "sin"], "0"),
        (
            "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_12",
            "reduction",
            ["_to_copy", "add", "mean", "mul", "pow", "rsqrt"],
            "12",
        ),
        ("triton_per_fused_native_layer_norm_1", "persistent reduction", ["native_layer_norm"], "1"),
        ("triton_tem_fused_mm_t_view_28", "from a template", ["mm", "t", "view"], "28"),
        ("triton_for_fused_0", "foreach", [], "0"),
    ],
)
def test_inductor_tells_kind_ops_and_counter(name: str, kind: str, ops: list[str], counter: str) -> None:
    _, prefix, _, *rest = decode(name).parts
    assert prefix.meaning == kind
    assert [part.text for part in rest] == [*ops, counter]
    assert [part.meaning for part in rest[:-1]] == [f"op {op}" for op in ops]


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        # select and scatter, or select_scatter.
        ("triton_poi_fused_select_scatter_3", "select_scatter"),
        # An op that the table does not have takes the whole list with it.
        ("triton_poi_fused_add_my_op_mul_0", "add_my_op_mul"),
        # Inductor sorts, so mul before add is no list of two ops.
        ("triton_poi_fused_mul_add_0", "mul_add"),
        # No counter: the name was cut.
        ("triton_poi_fused_add_mul", "add_mul"),
    ],
)
def test_a_list_of_ops_that_the_table_does_not_prove_stays_whole(name: str, listed: str) -> None:
    parts = decode(name).parts
    assert parts[3].text == listed
    assert not [part for part in parts if (part.meaning or "").startswith("op ")]


def test_no_two_readings_of_a_list_of_known_ops_exist_in_aten() -> None:
    schemas = torch._C._jit_get_all_schemas()
    aten = {schema.name.partition("::")[2] for schema in schemas if schema.name.startswith(("aten::", "prims::"))}
    assert aten >= _OPS

    def readings(words: list[str]) -> int:
        heads = ("_".join(words[:end]) for end in range(1, len(words) + 1))
        return sum(readings(words[head.count("_") + 1 :]) for head in heads if head in aten) if words else 1

    for first, second in itertools.combinations(sorted(_OPS), 2):
        assert not second.startswith(f"{first}_"), (first, second)
        assert readings(f"{first}_{second}".split("_")) == 1, (first, second)


# ATen: the template parameters as CUDALoops.cuh, Reduce.cuh and DistributionTemplates.h declare
# them: <vec_size, …>, <nt, vt, …>, <nt, output_vec_size, …>, <type, unroll_factor, …>.
@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        (GELU, {"8": "8 values a load", "GeluCUDAKernelImpl": "GELU"}),
        (MUL, {"8": "8 values a load", "MulFunctor": "multiplication"}),
        (MUL_NUMBER, {"4": "4 values a load", "AUnaryFunctor": "first input a number", "MulFunctor": "multiplication"}),
        (ADD, {"128": "128 threads a block", "4": "4 values a thread", "CUDAFunctor_add": "addition"}),
        (COPY, {"128": "128 threads a block", "2": "2 values a thread", "direct_copy_kernel_cuda": "copy"}),
        (FILL, {"4": "4 values a load", "FillFunctor": "fill with one value"}),
        (MEAN, {"512": "at most 512 threads a block", "1": "output vector of 1", "MeanOps": "mean"}),
        (SUM, {"128": "at most 128 threads a block", "4": "output vector of 4", "sum_functor": "sum"}),
        (RANDOM, {"4": "unrolled 4 times", "uniform_and_transform": "uniformly distributed"}),
        (FOREACH_COPY, {"UnaryOpFunctor": "a list of tensors", "Copy": "copy"}),
    ],
)
def test_aten_tells_its_numbers_and_its_functor(name: str, pieces: dict[str, str]) -> None:
    _, *told = decode(name).parts
    assert {part.text: part.meaning for part in told} == pieces


def test_a_functor_of_aten_that_the_table_lacks_is_still_named() -> None:
    backward = decode(COPY.replace("direct_copy_kernel_cuda", "mse_backward_cuda_kernel"))
    assert backward.short == "elementwise mse_backward_cuda_kernel"
    assert backward.parts[-1].meaning == "function of ATen's source that it applies"


# Tensile: kernel-parameters.rst reads MT64x256x16 as macro tile and unroll depth and SB as single
# precision that can use beta; nomenclature.rst: A_lik B_ljk is TN, A_ilk B_jlk is NT.
def test_tensile_tells_operation_type_and_tile() -> None:
    assert meaning(TENSILE, "Cijk_Alik_Bljk") == "batched matrix multiplication, inputs TN"
    assert meaning(TENSILE, "SB") == "single precision, may use beta"
    assert meaning(TENSILE, "MT64x16x32") == "macro tile 64x16, unroll depth 32"
    assert said(decode(TENSILE))["UserArgs"] is None
    flipped = TENSILE.replace("Alik_Bljk", "Ailk_Bjlk").replace("x32", "x16")
    assert meaning(flipped, "Cijk_Ailk_Bjlk") == "batched matrix multiplication, inputs NT"
    assert meaning(flipped, "MT64x16x16") == "macro tile 64x16, unroll depth 16"


def test_every_name_called_liger_s_is_a_function_of_the_module_it_cites() -> None:
    folder = Path(liger_kernel.__path__[0], "ops")
    for name, known in _LIGER.items():
        module = ast.parse((folder / known.source.rpartition("/")[2]).read_text())
        assert name in {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}, name
    assert decode(LIGER).parts[0].source == (
        "https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/ops/geglu.py"
    )


def test_the_table_of_families_is_whole_and_its_examples_are_of_their_family() -> None:
    for key, family in FAMILIES.items():
        assert family.key == key
        assert decode(family.example).family == key
        assert family.documented.endswith(".")
        assert (family.source is None) == (key == "unknown")


HOSTILE = [
    "",
    " ",
    "_",
    "void ",
    "<script>alert(1)</script>",
    "void at::native::vectorized_elementwise_kernel<",
    "void at::native::vectorized_elementwise_kernel<8, at::native::<script>",
    "void at::native::elementwise_kernel<{0}, {text}, at::native::{x}>",
    "void at::native::reduce_kernel<٣, ٤, at::native::MeanOps<float> >",  # digits, not ours
    "nvjet_sm90_tst_٣x٤_٣x٤_1x2_h_bz_TNT",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_TNT\n",
    "nvjet_{0}_{text}_%s",
    "triton_poi_fused_<img src=x onerror=alert(1)>_0",
    "triton_poi_fused_",
    "triton_poi_fused__0",
    "sm80_xmma_gemm__f16_",
    "Cijk_Alik_Bljk_SB_MT64",
    "Cijk_Alik_Bljk_SB_MT64x16x32_",
    "cutlass::Kernel<",
    "cutlass::Kernel<>",
    "cutlass_80_tensorop_",
    "\x00\x01\x1b[31m\u202e\ud800",
    "cublas" + "\x00" * 100,
    "void cublasLt::" + ">" * 50,
    ")" * 100,
    *(part * (100_000 // len(part)) for part in ("<", ">", "(", "_", "x", "1", "a", ",", "::", "_x1", "a::", "<a,")),
    "nvjet_sm90_tst_256x128_64x4_1x2" + "_h" * 50_000,
    "nvjet_sm90_tst_" + "1" * 100_000,
    "nvjet_sm90_tst_" + "1x1_" * 25_000 + "!",
    "triton_poi_fused_" + "add_" * 25_000 + "0",
    "triton_poi_fused_" + "convert_element_" * 6_000 + "0",
    "void at::native::multi_tensor_apply_kernel<" + "at::native::" * 8_000,
    "void at::native::multi_tensor_apply_kernel<" + "at::native::UnaryOpFunctor<" * 4_000,
    "void cutlass::Kernel<" + "cutlass_80_" * 9_000 + ">",
    "cutlass_tensorop_" + "f16_" * 25_000,
    "Cijk_Alik_Bljk_SB" + "_MT1x1" * 16_000,
    "ampere_" + "s" * 100_000 + "gemm",
    "sm80_xmma_" + "gemm_" * 20_000 + "!",
    *(name + "<script>" for name in H200_PROBE),
    *(name[: len(name) // 2] for name in H200_PROBE),
]


@pytest.mark.parametrize(
    "name", [*(name for name, *_ in FAMILY_AND_SHORT), *HOSTILE], ids=lambda name: ascii(name[:40])
)
def test_any_string_keeps_the_promises_of_a_decoded_name(name: str) -> None:
    kernel = decode(name)
    assert kernel.name == name
    assert kernel.family in FAMILIES
    assert len(kernel.short) <= SHORT_MAX_CHARS
    assert kernel.short.isprintable()
    assert kernel.summary.endswith(".")
    assert "\n" not in kernel.summary
    at = 0
    for part in kernel.parts:
        assert part.text
        at = name.index(part.text, at) + len(part.text)  # in the order of the name, never overlapping
        assert (part.meaning is None) == (part.source is None)
        assert part.source is None or part.source.startswith("https://")


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:40]))
def test_a_long_name_takes_no_longer_than_its_length(name: str) -> None:
    start = time.process_time()
    decode(name)
    assert time.process_time() - start < 1  # 100 kB in well under a second; a quadratic scan takes minutes
