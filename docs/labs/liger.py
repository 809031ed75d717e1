# %% [markdown]
# # Lab: a kernel that someone else wrote
#
# Liger's authors wrote GELU and gate as one Triton kernel by hand. Guess what it launches and whether it beats the one
# that Inductor generates. Then let your own trace decide.
#
# The lab needs `torch`, `kernels`, and `build_traces` to read the traces. From the root of a checkout of this guide,
# `pip install .` installs the last; from there on this file runs anywhere. Liger's layer comes from the Hugging Face
# Hub; where that cannot be reached, `export LOCAL_KERNELS="$(python -m build_traces local-kernels)"` builds it from
# the installed `liger-kernel`. Without a GPU the lab runs from top to bottom as well, with fewer rows. The cells marked
# `needs-gpu` then say so and are skipped.
#
# Each question has three parts: the question, a cell for your guess, and a cell that measures. Put your guess in the
# place of `None` before you run the measuring cell.

# %%
import statistics
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import torch
from kernels import get_kernel
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
# ## The MLP, and the same MLP with Liger's kernel
#
# Both have the same three products and the same weights. They differ in what happens between the products.

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


def make_liger_mlp() -> nn.Module:
    layers = get_kernel("kernels-community/liger-kernels", version=1).layers
    config = SimpleNamespace(hidden_size=DIM, intermediate_size=HIDDEN, hidden_act="gelu_pytorch_tanh")
    mlp = layers.LigerGEGLUMLP(config).to(DEVICE, DTYPE).requires_grad_(False)
    mlp.load_state_dict(make_mlp().state_dict())
    return mlp


mlp, x = make_mlp(), make_input()
print(tuple(x.shape), "→", tuple(mlp(x).shape))

# %% [markdown]
# ## What one program does
#
# A Triton kernel runs as many programs side by side. Liger's takes a row of the hidden layer a program, all 3072
# columns at once. A block in Triton has a power of two of lanes, so the kernel takes the next one and masks the rest.
#
# **How many percent of the lanes have nothing to do?** This is a sum; nothing is measured yet. A guess within a factor
# of 1.05 is right.

# %%
guess_idle = None  # %

# %%
lanes = 1 << (HIDDEN - 1).bit_length()  # the next power of two
idle = 100 * (lanes - HIDDEN) / lanes
sums = [f"{lanes:,} lanes for {HIDDEN:,} columns"]
print(check("How many lanes idle?", guess_idle, idle, unit="%", within=1.05, judge="the sum", evidence=sums))

# %% [markdown]
# What to see: nothing on your GPU goes into that number. It is the same wherever the kernel runs.
#
# ## What it launches
#
# **How many kernels does one forward of the MLP with Liger's kernel run?** Memsets do not count.

# %%
guess_kernels = None  # a whole number

# %% tags=["needs-gpu"]
if on_gpu():
    liger_mlp = make_liger_mlp()
    seen_liger = profiled(lambda: liger_mlp(x), "mlp_liger")
    lines = kernel_lines(seen_liger)
    print(check("How many kernels does the MLP with Liger's kernel run?", guess_kernels, len(lines), evidence=lines))

# %% [markdown]
# What to see: no compiler looked at this forward, and yet two ops of it share a kernel.
#
# **How many blocks does its kernel run?** The name has `geglu` in it; the input has 64 × 128 rows.

# %%
guess_blocks = None  # a whole number

# %% tags=["needs-gpu"]
if on_gpu():
    geglu = next(kernel for kernel in seen_liger.kernels() if "geglu" in kernel.name)
    launch = [f"grid {geglu.grid}, block {geglu.block}"]
    print(check("How many blocks does Liger's kernel run?", guess_blocks, geglu.grid[0], evidence=launch))

# %% [markdown]
# What to see: the grid follows from the rows alone, so another batch size needs no new kernel.
#
# ## Liger's kernel or Inductor's
#
# `torch.compile` generates a kernel for the same two ops. It does not take whole rows; it cuts the tensor into pieces
# that have no lane to spare.
#
# **Which of the two kernels is faster on your GPU?**

# %%
guess_faster = None  # "Liger" or "Inductor"

# %% tags=["needs-gpu"]
if on_gpu():
    compiled = torch.compile(mlp)
    seen_compiled = profiled(lambda: compiled(x), "mlp_compiled")
    liger_us = statistics.median(k.dur_us for k in seen_liger.kernels() if "geglu" in k.name)
    inductor_us = statistics.median(k.dur_us for k in seen_compiled.kernels() if k.name.startswith("triton_"))
    times = [f"{liger_us:6.1f} µs  Liger", f"{inductor_us:6.1f} µs  Inductor, in this process"]
    faster = "Liger" if liger_us < inductor_us else "Inductor"
    print(check("Which kernel is faster?", guess_faster, faster, options=("Liger", "Inductor"), evidence=times))

# %% [markdown]
# What to see: this is one compile. Another process may draw another grid, and with it another winner.
#
# ## Go on
#
# - Run the last question in a fresh kernel a few times, with an empty Inductor cache each time
#   (`TORCHINDUCTOR_CACHE_DIR` names its folder). How often does the winner change?
# - Set `HIDDEN = 4096`. Guess what becomes of the idle lanes, and of the time for each column.
# - Give both MLPs a batch of another size. Guess which of them has to compile again.
