"""The first version, in Triton: a tile of gate and a tile of up, each with sums of its own.

Each program takes every so-many-th tile. One load of x serves both products, and what comes of them meets in
registers. What it lacks: eight warps wait for each other at every tile's end, while no tensor core has work.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

ROWS, COLUMNS, DEPTH, GROUP = 128, 128, 64, 8


@triton.jit
def _geglu(gate, up):
    """gelu(gate) · up: the tanh form is g · sigmoid(2z)."""
    z = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    return gate * tl.sigmoid(2 * z) * up


@triton.jit
def _tile_at(tile, row_tiles, column_tiles, GROUP: tl.constexpr):
    group = tile // (GROUP * column_tiles)
    first = group * GROUP
    height = min(row_tiles - first, GROUP)
    within = tile - first * column_tiles
    return first + within % height, within // height


# --8<-- [start:kernel]
@triton.jit
def geglu_gemm_kernel(x, w_gate, w_up, out, row_tiles, column_tiles, steps, GROUP: tl.constexpr):
    """x, weights and out are descriptors: their blocks say how much one load or store moves."""
    rows: tl.constexpr = x.block_shape[0]
    depth: tl.constexpr = x.block_shape[1]
    columns: tl.constexpr = w_gate.block_shape[0]
    for tile in range(tl.program_id(0), row_tiles * column_tiles, tl.num_programs(0)):
        row, column = _tile_at(tile, row_tiles, column_tiles, GROUP)
        gate = tl.zeros((rows, columns), tl.float32)
        up = tl.zeros((rows, columns), tl.float32)
        for k in range(steps):
            part = x.load([row * rows, k * depth])
            gate = tl.dot(part, w_gate.load([column * columns, k * depth]).T, gate)
            up = tl.dot(part, w_up.load([column * columns, k * depth]).T, up)
        out.store([row * rows, column * columns], _geglu(gate, up).to(out.dtype))


# --8<-- [end:kernel]


def geglu_gemm(x: Tensor, w_gate: Tensor, w_up: Tensor, programs: int | None = None) -> Tensor:
    """x [rows, dim], weights [hidden, dim]: [rows, hidden]. Checks nothing; the kernel that is shipped does."""
    (rows, dim), hidden = x.shape, w_gate.shape[0]
    out = x.new_empty(rows, hidden)
    row_tiles, column_tiles = triton.cdiv(rows, ROWS), triton.cdiv(hidden, COLUMNS)
    programs = programs or torch.cuda.get_device_properties(x.device).multi_processor_count
    geglu_gemm_kernel[(min(programs, row_tiles * column_tiles),)](
        TensorDescriptor.from_tensor(x, [ROWS, DEPTH]),
        TensorDescriptor.from_tensor(w_gate, [COLUMNS, DEPTH]),
        TensorDescriptor.from_tensor(w_up, [COLUMNS, DEPTH]),
        TensorDescriptor.from_tensor(out, [ROWS, COLUMNS]),
        row_tiles,
        column_tiles,
        triton.cdiv(dim, DEPTH),
        GROUP,
        num_warps=8,
        num_stages=3,
    )
    return out
