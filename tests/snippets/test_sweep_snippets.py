"""Every sweep makes the calls that its docstring names, in each set-up, and each call computes the MLP.

On the CPU at small sizes and in float32, as the snippets of the stages are tested.
"""

import inspect
import sys
from pathlib import Path

import pytest
import torch
from by_hand import SMALL, gelu_tanh

from build_traces import ladder

SNIPPETS = Path("snippets").resolve()
LADDER = ladder.load(SNIPPETS)
SETUPS = ("eager", "compiled", "dynamic", "static", "marked", "graph")
SHAPES = {
    "sweep_batch": {str(batch): (batch, 3, 32) for batch in (64, 32, 48, 16, 96, 1, 2)},
    "sweep_sequence": {str(sequence): (2, sequence, 32) for sequence in (128, 64, 256, 96)},
    "sweep_hidden": dict.fromkeys(("3072", "1536", "2048", "again"), (2, 3, 32)),
    "sweep_dtype": dict.fromkeys(("bf16", "fp16"), (2, 3, 32)),
    # two more than torch's own limit of eight, in steps of eight, and the first again
    "sweep_limit": {str(batch): (batch, 3, 32) for batch in range(8, 81, 8)} | {"again": (8, 3, 32)},
}


def by_hand(mlp: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    gate, up, down = (getattr(mlp, f"{name}_proj").weight.double().T for name in ("gate", "up", "down"))
    return (gelu_tanh(x.double() @ gate) * (x.double() @ up)) @ down


def test_every_sweep_snippet_is_run_by_a_sweep_and_tested_here() -> None:
    there = {path.stem for path in SNIPPETS.glob("sweep_*.py")}
    assert there == set(SHAPES) == {sweep.snippet.stem for sweep in LADDER.sweeps}


def test_every_set_up_of_the_ladder_is_there(snippet) -> None:
    for sweep in LADDER.sweeps:
        name, _, function = sweep.setup.partition(".")
        assert callable(getattr(snippet(name), function))
    assert {sweep.setup for sweep in LADDER.sweeps} == {
        *(f"setups.{name}" for name in (*SETUPS, "liger")),
        "setup_fused.fused",
    }


def test_the_fused_set_up_takes_the_weights_of_the_module_it_stands_in_for(snippet) -> None:
    mlp, x = snippet("mlp_eager").make_mlp(), torch.randn(2, 3, 32)
    forward = snippet("setup_fused").fused(mlp)
    asked = []
    snippet("mlp_fused_gemm").geglu_gemm = lambda x, gate, up: (
        asked.append((gate, up)),
        gelu_tanh(x @ gate.T) * (x @ up.T),
    )[1]
    torch.testing.assert_close(forward(x), mlp(x))
    ((gate, up),) = asked
    assert torch.equal(gate, mlp.gate_proj.weight) and torch.equal(up, mlp.up_proj.weight)
    fused = {sweep.name for sweep in LADDER.sweeps if sweep.setup == "setup_fused.fused"}
    assert fused == {sweep.name for sweep in LADDER.sweeps if sweep.kernel == SNIPPETS.parent / "kernel/geglu-gemm"}


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_sweep_makes_the_calls_that_it_names(name: str, setup: str, snippet) -> None:
    made = getattr(snippet("setups"), setup)
    mlps: list[torch.nn.Module] = []

    def watched(mlp: torch.nn.Module):
        mlps.append(mlp)
        return made(mlp)

    shapes = {}
    for call, step in snippet(name).sweep(watched):
        (x,) = step.args
        shapes[call] = tuple(x.shape)
        assert x.dtype == {"bf16": torch.bfloat16, "fp16": torch.float16}.get(call, torch.float32)
        error = (step().double() - by_hand(mlps[-1], x)).norm() / by_hand(mlps[-1], x).norm()
        assert error < (1e-5 if x.dtype == torch.float32 else 2e-2)
    assert shapes == SHAPES[name]
    many = name in ("sweep_hidden", "sweep_dtype")
    assert len(mlps) == (len(shapes) if many else 1), "one module for all shapes of its input"


def test_hidden_sizes_are_those_that_the_calls_are_named_after(snippet) -> None:
    mlps: list[torch.nn.Module] = []
    list(snippet("sweep_hidden").sweep(lambda mlp: mlps.append(mlp) or mlp))
    assert [mlp.gate_proj.out_features for mlp in mlps] == [3072, 1536, 2048, 1536]
    assert mlps[1] is not mlps[3], "another module of the same size"


def test_a_set_up_asks_torch_for_what_its_name_says(snippet, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(torch, "compile", lambda module, **options: (asked.append(options), module)[1])
    setups, mlp = snippet("setups"), snippet("mlp_eager").make_mlp()
    assert setups.eager(mlp) is mlp and asked == []
    for name in SETUPS[1:]:
        getattr(setups, name)(mlp)
    assert asked == [{}, {"dynamic": True}, {"dynamic": False}, {}, {"mode": "reduce-overhead"}]
    x = torch.ones(2, 3, 32)
    setups.marked(mlp)(x)
    assert x._dynamo_dynamic_indices == {0}, "the batch, and nothing else"


@pytest.mark.parametrize("name", SHAPES)
def test_a_sweep_run_alone_prints_a_line_a_call(
    name: str, snippet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sweep.py", "eager"])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    snippet("sweeping").show_sweep(snippet(name).sweep)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(SHAPES[name])
    assert all(line.endswith("0 graphs so far") for line in lines)
    text = (SNIPPETS / f"{name}.py").read_text(encoding="utf-8")
    assert "show_sweep(sweep)" in text and "--8<-- [start:sweep]" in text and "--8<-- [end:sweep]" in text


LIGER_ON_CPU = f"""
import sys, torch, triton, triton.language as tl
sys.path.insert(0, sys.argv[1])
import problem
for name, value in {SMALL}.items():
    setattr(problem, name, value)
problem.DEVICE, problem.DTYPE = torch.device("cpu"), torch.float32
import setups, sweep_hidden
sweep_hidden.HIDDEN_SIZES = {{"48": 48, "64": 64}}
made = []
def watched(mlp):
    layer = setups.liger(mlp)
    made.append((mlp, layer))
    return layer
@triton.jit
def tanh(x):  # libdevice's tanh returns None under the interpreter
    return 2 / (1 + tl.exp(-2 * x)) - 1
for name, step in sweep_hidden.sweep(watched):
    next(m for n, m in sys.modules.items() if n.endswith(".geglu") and hasattr(m, "tanh")).tanh = tanh
    mlp, layer = made[-1]
    (x,) = step.args
    print(type(layer).__name__, mlp.gate_proj.out_features, float((step() - mlp(x)).norm() / mlp(x).norm()))
"""


def test_the_liger_set_up_takes_the_weights_of_the_module_it_stands_in_for(run_liger_on_cpu) -> None:
    done = run_liger_on_cpu(inspect.cleandoc(LIGER_ON_CPU))
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["LigerGEGLUMLP", "48"], ["LigerGEGLUMLP", "64"]]
    assert all(float(row[2]) < 1e-5 for row in rows)
