"""The versions before the kernel that is shipped compute the same, under Triton's interpreter."""

import os
import subprocess
import sys
from pathlib import Path

SNIPPETS = Path(__file__).parents[2] / "snippets"

# In float32, because the interpreter's bf16 products are wrong; it also knows no inline assembly.
RUN = """
import torch, triton, triton.language as tl
import geglu_gemm_first as first, geglu_gemm_second as second

@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1

second._tanh = tanh
torch.manual_seed(0)
for rows, hidden, dim in [(130, 144, 80), (1, 16, 16), (257, 16, 64)]:
    x, w_gate, w_up = torch.randn(rows, dim), torch.randn(hidden, dim) / dim**0.5, torch.randn(hidden, dim) / dim**0.5
    gate, up = x.double() @ w_gate.double().T, x.double() @ w_up.double().T
    want = 0.5 * gate * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (gate + 0.044715 * gate**3))) * up
    for got in (
        first.geglu_gemm(x, w_gate, w_up, programs=2),
        second.geglu_gemm(x, second.in_turns(w_gate, w_up), programs=2),
    ):
        print(float((got - want).norm() / want.norm()))
"""


def test_both_versions_compute_geglu_at_sizes_that_no_tile_divides() -> None:
    environment = os.environ | {
        "TRITON_INTERPRET": "1",
        "PYTHONPATH": str(SNIPPETS),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    errors = [float(line) for line in done.stdout.split()]
    assert len(errors) == 6 and max(errors) < 1e-5
