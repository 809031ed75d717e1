"""Triton compiles the kernels for Hopper without a GPU, and they use its tensor cores and its copy engine."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# In a process of its own: it must not find Triton's interpreter switched on, nor leave modules behind.
COMPILE = """
import importlib, json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon._runtime import GluonASTSource

name, descriptors, constants, options = json.loads(sys.argv[1])
module = importlib.import_module(name)
function = module.geglu_gemm_kernel
layout = getattr(module, "LAYOUT", None)
signature = dict.fromkeys(function.arg_names, "i32") | dict.fromkeys(constants, "constexpr")
for argument, block in descriptors.items():
    signature[argument] = f"tensordesc<bf16{block}{f',{layout!r}' if layout else ''}>"
source = (GluonASTSource if layout else ASTSource)(
    function, signature, {(function.arg_names.index(key),): value for key, value in constants.items()}
)
done = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
print(json.dumps([done.asm["ptx"], done.metadata.shared, done.metadata.num_warps]))
"""


def compiled(folder: str, name: str, descriptors: dict, constants: dict, **options: int) -> tuple[str, int, int]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-c", COMPILE, json.dumps([name, descriptors, constants, options])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return tuple(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def ours() -> tuple[str, int, int]:
    blocks = {"x": [64, 64], "w_gate": [128, 64], "w_up": [128, 64], "out": [64, 128]}
    return compiled("kernel/geglu-gemm/build/torch-universal", "geglu_gemm", blocks, {}, num_warps=4)


def count(pattern: str, ptx: str) -> int:
    return len(re.findall(pattern, ptx))


def test_both_consumers_multiply_64_rows_by_256_columns(ours: tuple[str, int, int]) -> None:
    # 64 terms in products of 16, the first step and the others, two consumers: 4 · 2 · 2
    assert count(r"wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.bf16\.bf16", ours[0]) == 16
    assert count(r"wgmma\.mma_async", ours[0]) == 16


def test_all_memory_traffic_is_the_copy_engines(ours: tuple[str, int, int]) -> None:
    # x for each consumer, gate, up; a result from each consumer
    assert count(r"cp\.async\.bulk\.tensor\.2d\.shared::\S+\.global", ours[0]) == 4
    assert count(r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta", ours[0]) == 2
    assert not count(r"(ld|st)\.global", ours[0])


def test_results_go_to_shared_memory_by_matrix_stores_and_tanh_is_one_instruction(ours: tuple[str, int, int]) -> None:
    # 64 · 128 results a consumer: 64 a thread, 8 of them in each stmatrix.x4
    assert count(r"stmatrix\.sync\.aligned\.m8n8\.x4", ours[0]) == 2 * 64 // 8
    assert count(r"tanh\.approx\.f32", ours[0]) == 2 * 64


def test_registers_move_from_the_loader_to_the_consumers(ours: tuple[str, int, int]) -> None:
    assert count(r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32\s+240", ours[0]) >= 2
    assert count(r"setmaxnreg\.dec\.sync\.aligned\.u32\s+24;", ours[0]) >= 1


def test_it_fits_one_multiprocessor(ours: tuple[str, int, int]) -> None:
    _, shared, warps = ours
    # 4 slots of (2 · 64 + 256) · 64 bf16, two results of 64 · 128, and 9 barriers of 8 bytes, to begin with
    assert 229_376 + 72 <= shared <= 232_448  # a block may have 227 KiB
    assert warps == 12  # the loader's warp is padded to a group of four


def test_the_first_version_compiles_to_the_same_instructions() -> None:
    blocks = {"x": [128, 64], "w_gate": [128, 64], "w_up": [128, 64], "out": [128, 128]}
    ptx, _, warps = compiled("snippets", "geglu_gemm_first", blocks, {"GROUP": 8}, num_warps=8, num_stages=3)
    assert warps == 8 and count(r"wgmma\.mma_async\S*m64n128k16", ptx) == 8
    assert count(r"cp\.async\.bulk\.tensor\.2d\.shared", ptx) >= 3


def test_the_second_version_has_one_product_for_both() -> None:
    blocks = {"x": [128, 64], "w": [256, 64], "out": [128, 128]}
    ptx, _, _ = compiled("snippets", "geglu_gemm_second", blocks, {"GROUP": 8}, num_warps=8, num_stages=3)
    assert count(r"wgmma\.mma_async\S*m64n256k16", ptx) == 4
    assert count(r"cp\.async\.bulk\.tensor\.2d\.shared", ptx) >= 2
