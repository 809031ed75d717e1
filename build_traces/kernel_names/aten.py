"""Names of ATen's templates: what runs, and the functor that is the op."""

import re

from build_traces.kernel_names.pieces import Known, function_in, made, said
from build_traces.kernel_names.values import KernelName

_TORCH = "https://github.com/pytorch/pytorch/blob/main"
_ATEN_CUDA = f"{_TORCH}/aten/src/ATen/native/cuda"


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
    **said(f"{_ATEN_CUDA}/Loops.cuh", AUnaryFunctor="first input a number"),
    **said(f"{_ATEN_CUDA}/Loops.cuh", BUnaryFunctor="second input a number"),
    **said(
        f"{_ATEN_CUDA}/ForeachFunctors.cuh",
        UnaryOpFunctor="a list of tensors",
        BinaryOpListAlphaFunctor="two lists of tensors",
        BinaryOpScalarFunctor="a list of tensors and a number",
    ),
}
_ADD, _COPY = f"{_TORCH}/torchgen/dest/ufunc.py", f"{_ATEN_CUDA}/Copy.cu"
_GELU, _SILU = f"{_ATEN_CUDA}/ActivationGeluKernel.cu", f"{_ATEN_CUDA}/ActivationSiluKernel.cu"
_ATEN_FUNCTORS = {
    **said(_GELU, GeluCUDAKernelImpl="GELU", GeluBackwardCUDAKernelImpl="gradient of GELU"),
    **said(_SILU, silu_kernel="SiLU", silu_backward_kernel="gradient of SiLU"),
    **said(f"{_ATEN_CUDA}/ActivationThresholdKernel.cu", threshold_kernel_impl="threshold"),
    **said(_ADD, CUDAFunctor_add="addition", CUDAFunctorOnSelf_add="addition of a number"),
    **said(_ADD, CUDAFunctorOnOther_add="addition to a number"),
    **said(f"{_ATEN_CUDA}/BinaryInternal.h", MulFunctor="multiplication", DivFunctor="division"),
    **said(_COPY, direct_copy_kernel_cuda="copy", bfloat16_copy_kernel_cuda="copy to bf16"),
    **said(_COPY, float16_copy_kernel_cuda="copy to fp16"),
    **said(f"{_ATEN_CUDA}/ForeachBinaryOpList.cu", Copy="copy", plus="addition", multiplies="multiplication"),
    **said(f"{_ATEN_CUDA}/FillKernel.cu", FillFunctor="fill with one value"),
    **said(f"{_ATEN_CUDA}/TensorCompare.cu", launch_clamp_scalar="clamp to numbers"),
    **said(f"{_ATEN_CUDA}/UnarySignKernels.cu", neg_kernel_cuda="negation"),
    **said(f"{_ATEN_CUDA}/BinaryMiscOpsKernels.cu", mse_kernel_cuda="squared difference"),
    **said(f"{_ATEN_CUDA}/PowKernel.cu", pow_tensor_scalar_kernel_impl="power"),
    **said(f"{_ATEN_CUDA}/ReduceSumProdKernel.cu", sum_functor="sum"),
    **said(f"{_TORCH}/aten/src/ATen/native/SharedReduceOps.h", MeanOps="mean"),
    **said(_RANDOM, uniform_and_transform="uniformly distributed"),
}
_FUNCTOR = re.compile(
    r"(?:at::native::(?:(?:\(anonymous namespace\)|[A-Za-z_]\w*)::)*|std::(?=plus|multiplies))"
    r"([A-Za-z_]\w*)"
)


def aten(name: str) -> KernelName | None:
    """A kernel in at::native; of its template arguments, those that are numbers."""
    function = function_in(name)
    if function is None or not function.path.startswith("at::native::"):
        return None
    kernel = function.path.rpartition("::")[2]
    if kernel not in _ATEN_KERNELS:
        return made(name, "aten", [_ATEN_KERNEL.part(kernel)], short=kernel)
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
    return made(name, "aten", parts, short=" ".join(shown))
