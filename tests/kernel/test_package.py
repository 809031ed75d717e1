"""The kernel's folder is what the `kernels` library loads, and it refuses what it cannot compute, by name.

Loaded on the CPU, where checks run and the kernel does not: that a CPU is refused comes last of all checks.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from unkind_machine import Machine, load

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "kernel/geglu-gemm"
VARIANT = FOLDER / "build/torch-universal"

LOAD = """
import sys
from collections.abc import Callable
from pathlib import Path
import torch
from kernels import get_local_kernel
kernel = get_local_kernel(Path(sys.argv[1]))
print(kernel.__all__, kernel.geglu_gemm.__module__)
try:
    kernel.geglu_gemm(torch.zeros(2, 16).bfloat16(), *2 * [torch.zeros(16, 16).bfloat16()])
except ValueError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    sys.path.insert(0, str(VARIANT))
    try:
        return importlib.import_module("geglu_gemm")
    finally:
        sys.path.remove(str(VARIANT))


def test_get_local_kernel_loads_it_with_no_network() -> None:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("LOCAL_KERNELS", None)
    command = [sys.executable, "-c", LOAD, str(FOLDER)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    names, refusal = done.stdout.splitlines()
    described = json.loads((VARIANT / "metadata.json").read_text(encoding="utf-8"))
    assert names == f"['geglu_gemm'] {described['id']}.geglu_gemm"
    assert refusal == "x is on cpu, and the kernel is for NVIDIA Hopper, compute capability 9.0"


def test_its_metadata_has_what_kernels_asks_for() -> None:
    described = json.loads((VARIANT / "metadata.json").read_text(encoding="utf-8"))
    assert described["name"] == FOLDER.name
    assert set(described) == {"name", "id", "version", "license", "python-depends", "backend"}
    assert described["backend"] == {"type": "cuda", "archs": ["9.0a"]}
    assert described["license"] == "Apache-2.0"
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def bf16(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.bfloat16)


REFUSED = {
    "dim": ((bf16(8, 24), bf16(32, 24), bf16(32, 24)), r"dim is 24, .* by 16: w_gate has shape \(32, 24\)"),
    "hidden": ((bf16(8, 32), bf16(40, 32), bf16(40, 32)), r"hidden is 40, .* by 16: w_gate has shape \(40, 32\)"),
    "no dim": ((bf16(8, 0), bf16(32, 0), bf16(32, 0)), "dim is 0"),
    "inner sizes": ((bf16(8, 32), bf16(32, 16), bf16(32, 16)), r"x has shape \(8, 32\) and w_gate \(32, 16\)"),
    "up": ((bf16(8, 32), bf16(32, 32), bf16(48, 32)), r"w_up has shape \(48, 32\) and w_gate \(32, 32\)"),
    "weights of 3 dimensions": ((bf16(8, 32), bf16(1, 32, 32), bf16(1, 32, 32)), "w_gate"),
    "a number": ((bf16(), bf16(32, 32), bf16(32, 32)), r"x has shape \(\)"),
    "dtype of x": ((bf16(8, 32).float(), bf16(32, 32), bf16(32, 32)), "x is torch.float32, .* torch.bfloat16"),
    "dtype of up": ((bf16(8, 32), bf16(32, 32), bf16(32, 32).half()), "w_up is torch.float16"),
    "strides of x": ((bf16(32, 8).t(), bf16(32, 32), bf16(32, 32)), r"x is not contiguous: strides \(1, 8\)"),
    "strides of gate": ((bf16(8, 32), bf16(32, 32).t(), bf16(32, 32)), "w_gate is not contiguous"),
    "a slice": ((bf16(8, 64)[:, :32], bf16(32, 32), bf16(32, 32)), r"x is not contiguous: strides \(64, 1\)"),
    "where it begins": (
        (bf16(257)[1:].view(8, 32), bf16(32, 32), bf16(32, 32)),
        "x does not begin at a multiple of 16",
    ),
    "a gradient": ((bf16(8, 32), bf16(32, 32).requires_grad_(), bf16(32, 32)), "w_gate requires a gradient"),
    "the device": ((bf16(8, 32), bf16(32, 32), bf16(32, 32)), "x is on cpu, and the kernel is for NVIDIA Hopper"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_cannot_take_is_refused_with_its_name_and_shape(name: str, kernel: ModuleType) -> None:
    tensors, says = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        kernel.geglu_gemm(*tensors)


def test_without_gradients_a_parameter_is_no_reason(kernel: ModuleType) -> None:
    with torch.no_grad(), pytest.raises(ValueError, match="NVIDIA Hopper"):
        kernel.geglu_gemm(bf16(8, 32), bf16(32, 32).requires_grad_(), bf16(32, 32))


@pytest.mark.parametrize(
    ("out", "says"),
    [
        (bf16(8, 48), r"out has shape \(8, 48\), and should have \(8, 32\)"),
        (bf16(8, 32).float(), "out is torch.float32"),
        (bf16(32, 8).t(), "out is not contiguous"),
        (torch.zeros(8, 32, dtype=torch.bfloat16, device="meta"), "out is on meta, and x on cpu"),
    ],
)
def test_an_output_of_another_kind_is_refused(out: torch.Tensor, says: str, kernel: ModuleType) -> None:
    with pytest.raises(ValueError, match=says):
        kernel.geglu_gemm(bf16(8, 32), bf16(32, 32), bf16(32, 32), out=out)


@pytest.fixture(scope="module")
def tile_at() -> Callable[[int, int, int], tuple[int, int]]:
    """The kernel's own function, on plain numbers."""
    return load(Machine(seed=0, programs=1))._tile_at


@pytest.mark.parametrize(("row_tiles", "column_tiles"), [(1, 1), (11, 12), (64, 24), (7, 3), (23, 1), (12, 5)])
def test_the_order_of_tiles_takes_each_one_once(row_tiles: int, column_tiles: int, tile_at) -> None:
    order = [tile_at(tile, row_tiles, column_tiles) for tile in range(row_tiles * column_tiles)]
    assert sorted(order) == [(row, column) for row in range(row_tiles) for column in range(column_tiles)]


def test_tiles_that_run_at_one_time_form_a_block(tile_at) -> None:
    order = [tile_at(tile, 64, 24) for tile in range(132)]  # as many as an H200 has multiprocessors
    assert {row for row, _ in order} == set(range(11)) and {column for _, column in order} == set(range(12))
