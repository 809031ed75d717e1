# %% [markdown]
# # Lab: the MLP, and what compiling it changes
#
# Guess what three Linears and a gate run, and what `torch.compile` makes of them. Then let your own trace decide.
#
# The lab needs `torch`, and `build_traces` to read the traces. From the root of a checkout of this guide,
# `pip install .` installs it; from there on this file runs anywhere. Without a GPU the lab runs from top to bottom as
# well, with fewer rows. The cells marked `needs-gpu` then say so and are skipped.
#
# Each question has three parts: the question, a cell for your guess, and a cell that measures. Put your guess in the
# place of `None` before you run the measuring cell.

# %%
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from build_traces import trace
from build_traces.guesses import check

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
DTYPE = torch.bfloat16
SEED = 0
print(torch.cuda.get_device_name() if GPU else "no GPU", "· torch", torch.__version__)

# %% [markdown]
# ## How a step is profiled
#
# The loop is the one that recorded this guide: wait a step, warm up for two, profile three, and let the GPU finish
# before the next step begins. `profiled` keeps the trace in a file beside this one, and reads it back.

# %%
Step = Callable[[], Tensor]


def profile_steps(step: Step, label: str, wait: int = 1, warmup: int = 2, active: int = 3) -> profile:
    """Profile `active` steps, after `wait` steps without and `warmup` steps with a profiler."""
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=wait, warmup=warmup, active=active, repeat=1),
        record_shapes=True,
    ) as prof:
        for _ in range(wait + warmup + active):
            with record_function(label):
                step()
            # Without this, kernels of one step still run when the next one begins.
            synchronize()
            prof.step()
    return prof


def synchronize() -> None:
    """Wait until the GPU, if there is one, has done all that it was given."""
    if GPU:
        torch.cuda.synchronize()


def profiled(step: Step, label: str) -> trace.Trace:
    """Warm up, profile, keep the trace as LABEL.trace.json, and read it."""
    for _ in range(20 if GPU else 2):
        step()
    synchronize()
    path = Path(f"{label}.trace.json")
    profile_steps(step, label).export_chrome_trace(str(path))
    return trace.read(path)


def on_gpu() -> bool:
    """Whether there is a GPU; where there is none, says that the cell needs one."""
    if not GPU:
        print("This cell needs a GPU, and there is none: skipped.")
    return GPU


def last_step(seen: trace.Trace) -> int:
    """The number of the last profiled step: the one that is looked at."""
    return seen.steps[-1].number


def kernel_lines(seen: trace.Trace) -> list[str]:
    """The kernels of the last step, in the order they ran."""
    return [f"{kernel.dur_us:6.1f} µs  {kernel.name[:60]}" for kernel in seen.kernels(last_step(seen))]


def gpu_us(seen: trace.Trace) -> float:
    """How long the GPU works on a step: kernels, memsets and copies, the median of the steps."""
    return statistics.median(sum(a.dur_us for a in seen.activities if a.step == s.number) for s in seen.steps)


# %% [markdown]
# ## The MLP
#
# The block that this guide makes faster: two products of the input, GELU on one of them, the other as its gate, and a
# product back to the width of the input. Its three layers have no bias.

# %%
BATCH, SEQUENCE, DIM, HIDDEN = 64 if GPU else 1, 128, 768, 3072


def random_input(*shape: int) -> Tensor:
    """A standard normal tensor of this shape; the same one in every process."""
    generator = torch.Generator(DEVICE).manual_seed(SEED)
    return torch.randn(*shape, generator=generator, device=DEVICE, dtype=DTYPE)


class GegluMLP(nn.Module):
    """x [..., dim] → [..., dim], through `hidden` features and a gate."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate = gelu(self.gate_proj(x), approximate="tanh")
        return self.down_proj(gate * self.up_proj(x))


def make_mlp() -> GegluMLP:
    torch.manual_seed(SEED)
    return GegluMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)


def make_input() -> Tensor:
    return random_input(BATCH, SEQUENCE, DIM)


mlp, x = make_mlp(), make_input()
print(tuple(x.shape), "→", tuple(mlp(x).shape))

# %% [markdown]
# ## What the CPU does
#
# The forward has three Linears, a GELU and a product of two tensors. An op that does work on the numbers shows up by
# its own name; ops that only describe a tensor in another way, such as `aten::view`, move nothing.
#
# **How many ops of one forward work on the numbers?**

# %%
guess_working = None  # a whole number

# %%
seen_eager = profiled(lambda: mlp(x), "mlp_eager")
working = [
    op.name
    for op in seen_eager.ops
    if op.step == last_step(seen_eager) and op.name in ("aten::mm", "aten::addmm", "aten::gelu", "aten::mul")
]
print(check("How many ops of one forward work on the numbers?", guess_working, len(working), evidence=working))

# %% [markdown]
# What to see: they come in the order of the Python code. Nothing has been merged or moved.
#
# ## What the GPU does
#
# **How many kernels does one forward run on the GPU?** Memsets do not count.

# %%
guess_kernels = None  # a whole number

# %% tags=["needs-gpu"]
if on_gpu():
    lines = kernel_lines(seen_eager)
    print(check("How many kernels does one forward run?", guess_kernels, len(lines), evidence=lines))

# %% [markdown]
# What to see: which kernels share a name, and what the ones between the GEMMs cost. Those read and write a tensor of
# 8192 × 3072 numbers and hardly compute.
#
# ## What compiling changes
#
# `torch.compile` sees the whole forward before it runs, so it may put neighbors into one kernel.
#
# **How many kernels does one forward of the compiled MLP run?**

# %%
guess_compiled = None  # a whole number

# %% tags=["needs-gpu"]
if on_gpu():
    compiled = torch.compile(mlp)
    seen_compiled = profiled(lambda: compiled(x), "mlp_compiled")
    lines = kernel_lines(seen_compiled)
    print(check("How many kernels does the compiled MLP run?", guess_compiled, len(lines), evidence=lines))

# %% [markdown]
# What to see: the one name that begins with `triton_` lists what went into it.
#
# **How many of those kernels have a name that the eager MLP ran too?**

# %%
guess_same = None  # a whole number

# %% tags=["needs-gpu"]
if on_gpu():
    eager_names = {kernel.name for kernel in seen_eager.kernels(last_step(seen_eager))}
    compiled_names = [kernel.name for kernel in seen_compiled.kernels(last_step(seen_compiled))]
    same = [name[:60] for name in compiled_names if name in eager_names]
    print(check("How many kernels of the compiled MLP did eager run too?", guess_same, len(same), evidence=same))

# %% [markdown]
# What to see: a kernel of a library under the same name is the same code. Its two times say how far one run differs
# from another without any change.
#
# ## What it is worth
#
# Put the two lists of kernels beside each other and add up what is gone and what came in its place.
#
# **How many times as long does the GPU work on the eager forward as on the compiled one?** A guess within a factor of
# 1.05 is right.

# %%
guess_ratio = None  # 1.0 is no difference

# %% tags=["needs-gpu"]
if on_gpu():
    ratio = gpu_us(seen_eager) / gpu_us(seen_compiled)
    times = [f"{gpu_us(seen_eager):6.1f} µs  eager", f"{gpu_us(seen_compiled):6.1f} µs  compiled"]
    print(check("How many times as long is eager?", guess_ratio, ratio, within=1.05, evidence=times))

# %% [markdown]
# What to see: the part of the eager time that lies between the GEMMs is all that fusing could win.
#
# ## Go on
#
# - Run the lab again in a fresh kernel with an empty Inductor cache (`TORCHINDUCTOR_CACHE_DIR` names its folder). Does
#   it choose the same grid for the fused kernel? One compile is one draw.
# - Compile with `mode="reduce-overhead"`. Guess the number of launches first: `seen.launches(last_step(seen))`.
# - Open `mlp_eager.trace.json` and `mlp_compiled.trace.json` side by side in Perfetto.
