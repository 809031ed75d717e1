# %% [markdown]
# # Lab: one Linear
#
# Guess what one `nn.Linear` runs. Then profile it on your own GPU and let your trace decide.
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
# ## The layer
#
# A batch of 64 sequences of 128 positions each: a product of 8192 rows with a weight of 768 by 3072, and a bias.

# %%
BATCH, SEQUENCE, DIM, HIDDEN = 64 if GPU else 1, 128, 768, 3072


def random_input(*shape: int) -> Tensor:
    """A standard normal tensor of this shape; the same one in every process."""
    generator = torch.Generator(DEVICE).manual_seed(SEED)
    return torch.randn(*shape, generator=generator, device=DEVICE, dtype=DTYPE)


def make_linear(bias: bool = True) -> nn.Linear:
    torch.manual_seed(SEED)
    return nn.Linear(DIM, HIDDEN, bias=bias, device=DEVICE, dtype=DTYPE).requires_grad_(False)


def make_input() -> Tensor:
    return random_input(BATCH, SEQUENCE, DIM)


linear, x = make_linear(), make_input()
print(tuple(x.shape), "→", tuple(linear(x).shape))

# %% [markdown]
# ## What the CPU does
#
# `linear(x)` is one line of Python. Below it, PyTorch passes from op to op until one of them does the work, and the
# profiler sees each of them.
#
# **How many ops does one forward run on the CPU?** Count `aten::linear` and everything inside it. A CPU alone takes
# other ops than a CPU with a GPU, so it may have another answer.

# %%
guess_ops = None  # a whole number

# %%
seen = profiled(lambda: linear(x), "linear_eager")
ops = [op for op in seen.ops if op.kind == "op" and op.step == last_step(seen)]
chain = ["  " * (op.depth - ops[0].depth) + op.name for op in ops]
print(check("How many ops does one forward run?", guess_ops, len(ops), evidence=chain))

# %% [markdown]
# What to see: `aten::addmm` is where the work is. The others only describe the same numbers in another way.
#
# ## What the GPU does
#
# The layer multiplies, then adds a bias to each of its 3072 columns.
#
# **How many kernels does one forward run on the GPU?**

# %%
guess_kernels = None  # a whole number

# %% tags=["needs-gpu"]
if on_gpu():
    lines = kernel_lines(seen)
    print(check("How many kernels does one forward run?", guess_kernels, len(lines), evidence=lines))

# %% [markdown]
# What to see: the name of the kernel. Does it say where the bias went?
#
# ## How long it takes
#
# A product of 8192 × 768 with 768 × 3072 is a multiplication and an addition for each row, column and inner index.

# %%
rows = 64 * 128
flop = 2 * rows * DIM * HIDDEN
moved = 2 * (rows * DIM + DIM * HIDDEN + rows * HIDDEN)  # bf16: two bytes a number
print(f"{flop / 1e9:.1f} GFLOP, and at least {moved / 1e6:.1f} MB to read and write")

# %% [markdown]
# Look up what your GPU can do: its dense bf16 rate, and the bandwidth of its memory. The longer of the two times is
# the least that the layer can take.
#
# **For how many µs does the GPU work on one forward?** A guess within a factor of 1.5 is right.

# %%
guess_us = None  # µs

# %% tags=["needs-gpu"]
if on_gpu():
    us = gpu_us(seen)
    rates = [f"{flop / us / 1e6:.0f} TFLOP/s", f"{moved / us / 1e6:.2f} TB/s"]
    print(check("How long does the GPU work on one forward?", guess_us, us, unit="µs", within=1.5, evidence=rates))

# %% [markdown]
# What to see: which of the two rates is the nearer to your GPU's limit. That one holds the layer back.
#
# ## The same, but small
#
# Now the layer has 32 inputs and 64 outputs, and the input has 1024 rows.
#
# **Which is busy for longer in one step: the CPU inside the forward, or the GPU?**

# %%
guess_longer = None  # "CPU" or "GPU"

# %% tags=["needs-gpu"]
if on_gpu():
    small = nn.Linear(32, 64, device=DEVICE, dtype=DTYPE).requires_grad_(False)
    few = random_input(1024, 32)
    seen_small = profiled(lambda: small(few), "linear_small")
    cpu_us = statistics.median(op.dur_us for op in seen_small.ops if op.name == "linear_small")
    busy = [f"{cpu_us:6.1f} µs  the CPU, in the forward", f"{gpu_us(seen_small):6.1f} µs  the GPU, in its kernels"]
    longer = "CPU" if cpu_us > gpu_us(seen_small) else "GPU"
    print(check("Which is busy for longer?", guess_longer, longer, options=("CPU", "GPU"), evidence=busy))

# %% [markdown]
# What to see: a faster kernel cannot make a step shorter that waits for its launch.
#
# ## Go on
#
# - Leave out the bias: `make_linear(bias=False)`. Guess the number of ops first, then run the first question again.
# - Set `HIDDEN = 3071`. Guess whether the kernel's name stays, and whether its time does.
# - Open `linear_eager.trace.json` in Perfetto and find the kernel by hand.
