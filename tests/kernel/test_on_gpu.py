"""On a Hopper GPU the fused kernel is right for many shapes, writes all of its output and nothing beside it.

The reference is float64 arithmetic by the formula of the GELU's authors. Inputs are drawn anew in each run.
"""

import importlib
import math
import sys
from pathlib import Path

import pytest
import torch

KERNEL = Path(__file__).parents[2] / "kernel/geglu-gemm/build/torch-universal"
HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 9
pytestmark = pytest.mark.skipif(not HOPPER, reason="the kernel is for an NVIDIA Hopper GPU, and there is none")

GUARD = 4096
SENTINEL = 12345.0  # no bf16 is nearer to it than 12352, which is what is then compared
SHAPES = [
    # rows, hidden, dim: the guide's own, then sizes at, below and above a tile of 128 × 128 and a step of 64
    (8192, 3072, 768),
    (1, 16, 16),
    (1, 3072, 768),
    (2, 16, 768),
    (7, 48, 32),
    (16, 16, 64),
    (63, 128, 64),
    (64, 128, 64),
    (65, 128, 64),
    (127, 112, 48),
    (128, 128, 64),
    (128, 128, 80),
    (129, 144, 80),
    (129, 144, 128),
    (191, 256, 192),
    (192, 240, 208),
    (193, 272, 240),
    (255, 256, 256),
    (256, 256, 272),
    (257, 384, 320),
    (300, 400, 304),
    (511, 1040, 512),
    (513, 1536, 16),
    (1000, 3072, 64),
    (1537, 1552, 112),
    (1536, 1536, 128),
    (1663, 1424, 192),
    (2048, 5632, 2048),
    (3000, 16, 4096),
    (4096, 4096, 1024),
    (5000, 3072, 256),
    (8191, 3056, 752),
    (8193, 3088, 784),
    (16384, 2048, 32),
    (20000, 768, 96),
    (100000, 64, 48),
]


@pytest.fixture(scope="module")
def geglu_gemm():
    sys.path.insert(0, str(KERNEL))
    try:
        yield importlib.import_module("geglu_gemm").geglu_gemm
    finally:
        sys.path.remove(str(KERNEL))


def draw(rows: int, hidden: int, dim: int):
    generator = torch.Generator("cuda")
    seed = generator.seed()
    x = torch.randn(rows, dim, generator=generator, device="cuda").bfloat16()
    weights = [torch.empty(hidden, dim, device="cuda").uniform_(-1, 1, generator=generator) for _ in range(2)]
    return seed, x, *(w.mul(dim**-0.5).bfloat16() for w in weights)


def guarded(rows: int, hidden: int):
    """An output full of NaN, between margins that must stay as they are."""
    memory = torch.full((GUARD + rows * hidden + GUARD,), SENTINEL, device="cuda", dtype=torch.bfloat16)
    out = memory[GUARD:-GUARD].view(rows, hidden)
    out.fill_(float("nan"))
    return memory, out


def by_hand(x: torch.Tensor, w_gate: torch.Tensor, w_up: torch.Tensor):
    gate, up = (x.double() @ w.double().T for w in (w_gate, w_up))
    tanh = torch.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))
    return gate, up, 0.5 * gate * (1 + tanh) * up


@pytest.mark.parametrize(("rows", "hidden", "dim"), SHAPES)
def test_it_is_as_near_to_float64_as_bf16_can_be(rows: int, hidden: int, dim: int, geglu_gemm) -> None:
    seed, x, w_gate, w_up = draw(rows, hidden, dim)
    memory, out = guarded(rows, hidden)
    assert geglu_gemm(x, w_gate, w_up, out=out) is out
    gate, up, want = by_hand(x, w_gate, w_up)
    # Rounding to bf16: 2⁻⁸ of the value. The hardware's tanh: 2⁻¹¹ of gate·up/2. Sums in float32: far less.
    allowed = 2**-8 * want.abs() + 2**-12 * (gate * up).abs() + 1e-5 * want.abs().max()
    wrong = ~((out.double() - want).abs() <= allowed)  # so that NaN counts as wrong
    assert not wrong.any(), (
        f"{int(wrong.sum())} of {wrong.numel()} wrong, first at {wrong.nonzero()[0].tolist()}; {seed=}"
    )
    if out.numel() > 10_000:  # fewer may all be rounded the same way
        assert torch.linalg.vector_norm(out.double() - want) < 2e-3 * torch.linalg.vector_norm(want), f"{seed=}"
    margins = torch.cat([memory[:GUARD], memory[-GUARD:]])
    assert torch.equal(margins, torch.full_like(margins, SENTINEL)), f"written beside the output; {seed=}"


def test_the_same_input_gives_the_same_bits(geglu_gemm) -> None:
    _, x, w_gate, w_up = draw(3000, 1040, 272)
    first = geglu_gemm(x, w_gate, w_up)
    for _ in range(50):
        assert torch.equal(geglu_gemm(x, w_gate, w_up), first)


def test_leading_dimensions_stay(geglu_gemm) -> None:
    _, x, w_gate, w_up = draw(6, 32, 16)
    assert torch.equal(geglu_gemm(x.view(2, 3, 16), w_gate, w_up), geglu_gemm(x, w_gate, w_up).view(2, 3, 32))
    assert geglu_gemm(x[:0], w_gate, w_up).shape == (0, 32)


def test_large_values_neither_overflow_nor_lose_their_sign(geglu_gemm) -> None:
    _, x, w_gate, w_up = draw(128, 128, 64)
    _, up, _ = by_hand(x, w_gate, w_up)
    out = geglu_gemm(x, (w_gate.float() * 1e4).bfloat16(), w_up).double()
    gate = x.double() @ (w_gate.float() * 1e4).bfloat16().double().T
    want = gate.clamp(min=0) * up  # so far out, gelu is relu
    assert torch.linalg.vector_norm(out - want) < 2e-3 * torch.linalg.vector_norm(want)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x, g, u: (x.t().contiguous().t(), g, u), "x is not contiguous"),
        (lambda x, g, u: (x, g.half(), u), "w_gate is torch.float16"),
        (lambda x, g, u: (x, g, u.cpu()), "w_up is on cpu, and x on cuda:0"),
        (
            lambda x, g, u: (torch.empty(128 * 64 + 1, device="cuda").bfloat16()[1:].view(128, 64), g, u),
            "x does not begin",
        ),
    ],
)
def test_what_it_cannot_take_it_refuses(change, says: str, geglu_gemm) -> None:
    _, x, w_gate, w_up = draw(128, 32, 64)
    with pytest.raises(ValueError, match=says):
        geglu_gemm(*change(x, w_gate, w_up))
