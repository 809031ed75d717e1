"""What GPU work is of, by names as they stand in the traces of the recording and in those of others."""

import pytest

from build_traces.trace import ActivityKind
from build_traces.work_kinds import WorkKind, work_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", "gemm"),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "gemm"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>", "gemm"),
        ("Cijk_Alik_Bljk_SB_MT64x16x32_MI16x16x1_SN_MO40_PGR2_PLR1_WG64_4_1", "gemm"),
        ("triton_tem_fused_mm_t_view_0", "gemm"),
        ("triton_tem_fused__unsafe_view_gelu_mm_mul_t_view_1", "gemm"),
        ("triton_tem_fused_flex_attention_0", "kernel"),
        ("triton_poi_fused__unsafe_view_gelu_mul_0", "pointwise"),
        ("triton_red_fused_sum_0", "kernel"),
        ("_geglu_tanh_forward_kernel", "pointwise"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)", "pointwise"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)", "kernel"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams)", "kernel"),
        ("my_kernel", "kernel"),
        ("", "kernel"),
    ],
)
def test_the_kind_of_a_kernel_is_read_off_its_name(name: str, kind: WorkKind) -> None:
    assert work_kind("kernel", name) == kind


@pytest.mark.parametrize("kind", ["memset", "memcpy"])
def test_other_work_is_what_it_is(kind: ActivityKind) -> None:
    assert work_kind(kind, "gemm") == kind
