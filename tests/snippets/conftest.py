import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import kernels
import pytest
import torch
from by_hand import SMALL, gelu_tanh

from build_traces import local_kernels

SNIPPETS = Path("snippets").resolve()


def put_stand_ins_for_gpu_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas in place of the kernels that need a GPU, with the contract that their callers rely on."""

    def gemm_gated(a, b, *, activation: str, store_preact: bool, tuned: bool):
        assert (activation, store_preact, tuned, a.ndim) == ("geglu", False, False, 2)
        both = a @ b
        return None, gelu_tanh(both[:, 0::2]) * both[:, 1::2]  # quack.gemm_interface.gemm_act_ref

    def get_local_kernel(folder: Path):
        assert folder == Path("kernel/geglu-gemm").resolve()
        return SimpleNamespace(geglu_gemm=lambda x, gate, up: gelu_tanh(x @ gate.T) * (x @ up.T))

    def first(x, gate, up):
        assert x.ndim == 2
        return gelu_tanh(x @ gate.T) * (x @ up.T)

    def second(x, both):
        assert x.ndim == 2
        return gelu_tanh(x @ both[0::2].T) * (x @ both[1::2].T)

    monkeypatch.setattr(importlib.import_module("geglu_gemm_first"), "geglu_gemm", first)
    monkeypatch.setattr(importlib.import_module("geglu_gemm_second"), "geglu_gemm", second)
    monkeypatch.setitem(sys.modules, "quack", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "quack.gemm_interface", SimpleNamespace(gemm_gated=gemm_gated))
    monkeypatch.setattr(kernels, "get_local_kernel", get_local_kernel)


@pytest.fixture
def snippet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a snippet afresh with the problem made small and put on the CPU."""
    monkeypatch.syspath_prepend(str(SNIPPETS))
    own = {path.stem for path in SNIPPETS.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in own & set(sys.modules)}
    problem = importlib.import_module("problem")
    for name, size in SMALL.items():
        monkeypatch.setattr(problem, name, size)
    monkeypatch.setattr(problem, "DEVICE", torch.device("cpu"))
    monkeypatch.setattr(problem, "DTYPE", torch.float32)
    monkeypatch.setattr(torch, "compile", lambda module, **_: module)  # 24 s of C++ would prove nothing here
    put_stand_ins_for_gpu_kernels(monkeypatch)
    yield importlib.import_module
    for name in own:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture
def run_liger_on_cpu(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a program, which gets the folder of snippets, with Liger's kernels in Triton's interpreter."""
    folder = local_kernels.build(tmp_path / "liger-kernels")
    environment = os.environ | {
        "LOCAL_KERNELS": local_kernels.local_kernels_value(folder),
        "HF_HUB_OFFLINE": "1",
        "TRITON_INTERPRET": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(program: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, str(SNIPPETS)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        return done

    return run
