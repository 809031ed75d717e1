"""gelu_tanh(x Wgᵀ) · (x Wuᵀ) in one kernel: two GEMMs whose results meet in registers and never reach memory.

For NVIDIA Hopper, in Gluon, Triton's lower level, where the program says which warps do what:

    loader       1 warp    copies tiles of x, Wg and Wu into a ring of slots in shared memory
    consumer 0   4 warps   multiplies the upper 64 rows of each tile, then applies gelu and the product
    consumer 1   4 warps   the same for the lower 64 rows, a little later

A tensor core idles while its warps compute tanh. So the consumers take turns: one multiplies while the
other is at its activation. That is why there are two, and why the second one starts late.
"""

import torch
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

CONSUMERS = gl.constexpr(2)
ROWS = gl.constexpr(64)  # of x, for one consumer: the height of one wgmma instruction
COLUMNS = gl.constexpr(128)  # of gate and as many of up: together 256, the width of one wgmma instruction
DEPTH = gl.constexpr(64)  # of the sum at a time: 128 bytes of bf16, the widest swizzle, so that no bank conflicts
STAGES = gl.constexpr(4)  # slots of 48 KiB in the ring; with 32 KiB for results that is what an SM has
GROUP = gl.constexpr(11)  # rows of tiles: 132 that run at one time form a block of 11 × 12 and share x and W

LAYOUT = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
ALIGNMENT = 16
"""What sizes must be divisible by: the copy engine wants rows of a multiple of 16 bytes."""


# --8<-- [start:epilogue]
@gluon.jit
def _tanh(x):
    """The GPU's own tanh: one instruction, wrong by 2⁻¹¹ at most, an eighth of what rounding to bf16 does."""
    return gl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=gl.float32, is_pure=True, pack=1)


@gluon.jit
def _geglu(gate, up):
    """gelu(gate) · up, with gelu(g) = g/2 · (1 + tanh(√(2/π) · (g + 0.044715 g³)))."""
    inner = gate * (0.7978845608028654 + 0.035677408136300125 * gate * gate)
    half = 0.5 * gate * up
    return half + half * _tanh(inner)


# --8<-- [end:epilogue]


@gluon.jit
def _tile_at(tile, row_tiles, column_tiles):
    """Row and column of a tile: down a group of GROUP rows of tiles, then one column on."""
    group = tile // (GROUP * column_tiles)
    first = group * GROUP
    height = min(row_tiles - first, GROUP)
    within = tile - first * column_tiles
    return first + within % height, within // height


# --8<-- [start:load]
@gluon.jit
def _load(tensors, slots, barriers, sizes, WHO: gl.constexpr):
    """The loader: keep the ring full."""
    x, w_gate, w_up, _ = tensors
    x_slots, w_slots, _ = slots
    full, empty, _ = barriers
    row_tiles, column_tiles, steps = sizes
    turn = 0
    for tile in range(gl.program_id(0), row_tiles * column_tiles, gl.num_programs(0)):
        row, column = _tile_at(tile, row_tiles, column_tiles)
        for k in range(steps):
            slot = turn % STAGES
            # The ring's first round finds all slots empty: the phase before the first counts as done.
            mbarrier.wait(empty.index(slot), (turn // STAGES & 1) ^ 1)
            ready = full.index(slot)
            mbarrier.expect(ready, CONSUMERS * x.block_type.nbytes + w_gate.block_type.nbytes + w_up.block_type.nbytes)
            for who in gl.static_range(CONSUMERS):
                here = x_slots.index(slot * CONSUMERS + who)
                tma.async_copy_global_to_shared(x, [(row * CONSUMERS + who) * ROWS, k * DEPTH], ready, here)
            # Rows of Wg above rows of Wu make one matrix: one wgmma multiplies by both.
            w = w_slots.index(slot)
            tma.async_copy_global_to_shared(w_gate, [column * COLUMNS, k * DEPTH], ready, w.slice(0, COLUMNS))
            tma.async_copy_global_to_shared(w_up, [column * COLUMNS, k * DEPTH], ready, w.slice(COLUMNS, COLUMNS))
            turn += 1


# --8<-- [end:load]


# --8<-- [start:consume]
@gluon.jit
def _consume(tensors, slots, barriers, sizes, WHO: gl.constexpr):
    """A consumer: multiply 64 rows by gate and up, 64 terms of the sum at a time; then activate and store."""
    out = tensors[3]
    x_slots, w_slots, out_slots = slots
    full, empty, lead = barriers
    row_tiles, column_tiles, steps = sizes
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], warps_per_cta=[4, 1], instr_shape=[16, 2 * COLUMNS, 16])
    staged = out_slots.index(WHO)
    turn = 0
    tiles_done = 0
    for tile in range(gl.program_id(0), row_tiles * column_tiles, gl.num_programs(0)):
        if WHO == 1:
            # Not before consumer 0 has begun this tile. With fewer steps than slots consumer 0 could be
            # two tiles ahead, and this phase be over: then nobody waits.
            mbarrier.wait(lead.index(0), tiles_done & 1, pred=steps >= STAGES)
        # The first step writes the sums and the others add to them: clearing 128 registers takes time.
        both = gl.zeros([ROWS, 2 * COLUMNS], gl.float32, layout)
        both = _multiply(both, x_slots, w_slots, full, turn, WHO, False)
        turn += 1
        if WHO == 0:
            mbarrier.arrive(lead.index(0))
        row, column = _tile_at(tile, row_tiles, column_tiles)  # here, where the tensor core has work
        for _ in range(1, steps):
            both = _multiply(both, x_slots, w_slots, full, turn, WHO, True)
            mbarrier.arrive(empty.index((turn - 1) % STAGES))
            turn += 1
        both = warpgroup_mma_wait(0, deps=[both])
        mbarrier.arrive(empty.index((turn - 1) % STAGES))
        # gate is the left half of the columns, up the right half; each thread holds both of what it needs.
        gate, up = both.reshape([ROWS, 2, COLUMNS]).permute([0, 2, 1]).split()
        h = _geglu(gate, up).to(out.dtype)
        tma.store_wait(0)  # the last tile's result has left the staging buffer
        staged.store(h)
        fence_async_shared()  # the copy engine must see what the threads have written
        tma.async_copy_shared_to_global(out, [(row * CONSUMERS + WHO) * ROWS, column * COLUMNS], staged)
        tiles_done += 1
    tma.store_wait(0)


@gluon.jit
def _multiply(both, x_slots, w_slots, full, turn, WHO: gl.constexpr, ADD: gl.constexpr):
    """Start one step as soon as its slot is full, and return when the step before it is done."""
    slot = turn % STAGES
    mbarrier.wait(full.index(slot), turn // STAGES & 1)
    x, w = x_slots.index(slot * CONSUMERS + WHO), w_slots.index(slot)
    both = warpgroup_mma(x, w.permute([1, 0]), both, use_acc=ADD, is_async=True)
    return warpgroup_mma_wait(1, deps=[both])


# --8<-- [end:consume]


# --8<-- [start:kernel]
@gluon.jit(do_not_specialize=["row_tiles", "column_tiles", "steps"])
def geglu_gemm_kernel(x, w_gate, w_up, out, row_tiles, column_tiles, steps):
    """One program for each SM; each takes every so-many-th tile."""
    dtype: gl.constexpr = x.dtype
    x_slots = gl.allocate_shared_memory(dtype, [STAGES * CONSUMERS, ROWS, DEPTH], x.layout)
    w_slots = gl.allocate_shared_memory(dtype, [STAGES, 2 * COLUMNS, DEPTH], w_gate.layout)
    out_slots = gl.allocate_shared_memory(dtype, [CONSUMERS, ROWS, COLUMNS], out.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    lead = gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=CONSUMERS)
    mbarrier.init(lead.index(0), count=1)
    tensors, slots = (x, w_gate, w_up, out), (x_slots, w_slots, out_slots)
    barriers, sizes = (full, empty, lead), (row_tiles, column_tiles, steps)
    # The first runs in the kernel's own 4 warps, the others in warps of their own: 4 and 1 of them. A
    # consumer's thread holds 128 sums in registers; the loader needs few, and gives up the rest.
    gl.warp_specialize(
        [
            (_consume, (tensors, slots, barriers, sizes, 0)),
            (_consume, (tensors, slots, barriers, sizes, 1)),
            (_load, (tensors, slots, barriers, sizes, 0)),
        ],
        [4, 1],
        [240, 24],
    )


# --8<-- [end:kernel]


# --8<-- [start:call]
def geglu_gemm(x: Tensor, w_gate: Tensor, w_up: Tensor, *, out: Tensor | None = None) -> Tensor:
    """gelu_tanh(x w_gateᵀ) · (x w_upᵀ), for x [..., dim] and weights [hidden, dim], all bf16: [..., hidden].

    Any number of rows; dim and hidden divisible by 16; forward only. Raises ValueError otherwise.
    """
    if out is None:
        out = x.new_empty(*x.shape[:-1], w_gate.shape[0])
    _check(x, w_gate, w_up, out)
    dim, hidden = x.shape[-1], w_gate.shape[0]
    rows = x.numel() // dim
    if rows == 0:
        return out
    row_tiles, column_tiles = _ceil(rows, CONSUMERS.value * ROWS.value), _ceil(hidden, COLUMNS.value)
    with torch.cuda.device(x.device):
        programs = torch.cuda.get_device_properties(x.device).multi_processor_count
        geglu_gemm_kernel[(min(programs, row_tiles * column_tiles),)](
            _described(x, rows, dim, ROWS.value, DEPTH.value),
            _described(w_gate, hidden, dim, COLUMNS.value, DEPTH.value),
            _described(w_up, hidden, dim, COLUMNS.value, DEPTH.value),
            _described(out, rows, hidden, ROWS.value, COLUMNS.value),
            row_tiles,
            column_tiles,
            _ceil(dim, DEPTH.value),
            num_warps=4,
        )
    return out


def _described(tensor: Tensor, rows: int, columns: int, *block: int) -> TensorDescriptor:
    """What the copy engine needs: it fills what lies outside with zeros, and writes nothing there."""
    return TensorDescriptor(tensor, [rows, columns], [columns, 1], list(block), LAYOUT)


# --8<-- [end:call]


def _ceil(size: int, part: int) -> int:
    return -(-size // part)


def _check(x: Tensor, w_gate: Tensor, w_up: Tensor, out: Tensor) -> None:
    """Raise ValueError, which names the tensor, where the kernel would read or write something else."""
    tensors = {"x": x, "w_gate": w_gate, "w_up": w_up, "out": out}
    _check_shapes(tensors)
    for name, tensor in tensors.items():
        if tensor.dtype != torch.bfloat16:
            raise ValueError(f"{name} is {tensor.dtype}, and the kernel takes torch.bfloat16")
        if not tensor.is_contiguous():
            raise ValueError(f"{name} is not contiguous: strides {tensor.stride()} for shape {tuple(tensor.shape)}")
        if tensor.device != x.device:
            raise ValueError(f"{name} is on {tensor.device}, and x on {x.device}")
        if tensor.data_ptr() % ALIGNMENT:
            raise ValueError(f"{name} does not begin at a multiple of {ALIGNMENT} bytes; .clone() does")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(f"{name} requires a gradient, and the kernel has no backward: use torch.no_grad()")
    if x.device.type != "cuda" or torch.cuda.get_device_capability(x.device)[0] != 9:
        raise ValueError(f"x is on {_named(x.device)}, and the kernel is for NVIDIA Hopper, compute capability 9.0")


def _check_shapes(tensors: dict[str, Tensor]) -> None:
    x, w_gate, w_up, out = (tuple(tensor.shape) for tensor in tensors.values())
    if len(x) < 1 or len(w_gate) != 2 or w_gate[1] != x[-1]:
        raise ValueError(f"x has shape {x} and w_gate {w_gate}; they should be [..., dim] and [hidden, dim]")
    if w_up != w_gate:
        raise ValueError(f"w_up has shape {w_up} and w_gate {w_gate}; they should be equal")
    for name, size in (("dim", w_gate[1]), ("hidden", w_gate[0])):
        if size == 0 or size % ALIGNMENT:
            raise ValueError(f"{name} is {size}, and should be divisible by {ALIGNMENT}: w_gate has shape {w_gate}")
    if out != (*x[:-1], w_gate[0]):
        raise ValueError(f"out has shape {out}, and should have {(*x[:-1], w_gate[0])}")


def _named(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
