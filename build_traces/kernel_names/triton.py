"""Names of Triton kernels: those that Inductor writes, and Liger's."""

import re

from build_traces.kernel_names.pieces import Known, Meanings, made, parts_of, said
from build_traces.kernel_names.values import KernelName

_TORCH = "https://github.com/pytorch/pytorch/blob/main"
_INDUCTOR_NAME = f"{_TORCH}/torch/_inductor/codegen/triton.py"
_INDUCTOR_KIND = f"{_TORCH}/torch/_inductor/wrapper_benchmark.py"
_INDUCTOR_FUSED = f"{_TORCH}/torch/_inductor/utils.py"
_INDUCTOR_COUNTER = f"{_TORCH}/torch/_inductor/codegen/wrapper.py"
_LIGER_OPS = "https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/ops"


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
    **said(_INDUCTOR_NAME, triton="Triton kernel that Inductor wrote"),
    "kind": said(
        _INDUCTOR_KIND,
        poi="pointwise",
        red="reduction",
        per="persistent reduction",
        tem="from a template",
        spl="split scan",
        **{"for": "foreach"},
    ),
    **said(_INDUCTOR_FUSED, fused="fuses the ops that follow"),
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


def inductor(name: str) -> KernelName | None:
    """`triton_<kind>_fused_<ops>_<counter>`."""
    match = _INDUCTOR.fullmatch(name)
    if not match:
        return None
    listed, _, counter = (match[4] or "").rpartition("_")
    if not counter.isdecimal():
        # Without its counter the name was cut, perhaps inside an op.
        listed, counter = match[4] or "", ""
    ops = [_INDUCTOR_OP.part(op) for op in _ops(listed) if counter]
    parts = parts_of(match, _INDUCTOR_PARTS)
    parts += ops or [_INDUCTOR_LIST.part(listed)] * bool(listed)
    parts += [_INDUCTOR_COUNT.part(counter)] * bool(counter)
    return made(name, "inductor", parts, short=name)


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


def liger(name: str) -> KernelName | None:
    """A function of Liger's source; any other hand-written kernel proves nothing by its name."""
    known = _LIGER.get(name)
    return made(name, "liger", [known.part(name)], short=name) if known else None
