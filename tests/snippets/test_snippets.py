"""Every snippet computes what it says, here on the CPU at small sizes and in float32.

The expected values come from plain tensor arithmetic in float64, not from the snippets' own modules. A stage with a
file of its own beside this one, test_<stage>.py, is held against what stands there.
"""

from pathlib import Path
from types import ModuleType

import pytest
import torch
from by_hand import agree, gelu_tanh

from build_traces import ladder

SNIPPETS = Path("snippets").resolve()
STAGES = ladder.load(SNIPPETS).names
OWN_FILES = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")} & set(STAGES)
LIGER = tuple(name for name in STAGES if "liger" in name)


def linear_by_hand(module: ModuleType) -> torch.Tensor:
    layer, x = module.make_linear(), module.make_input()
    return x.double() @ layer.weight.double().T + layer.bias.double()


def mlp_by_hand(module: ModuleType) -> torch.Tensor:
    mlp, x = module.make_mlp(), module.make_input().double()
    gate, up, down = (getattr(mlp, f"{name}_proj").weight.double().T for name in ("gate", "up", "down"))
    return (gelu_tanh(x @ gate) * (x @ up)) @ down


def expected(name: str, load) -> torch.Tensor:
    if name.startswith("linear_small"):
        return linear_by_hand(load("linear_small"))
    if name == "linear_nobias":
        eager = load("linear_eager")
        return eager.make_input().double() @ eager.make_linear(bias=False).weight.double().T
    if name.startswith("mlp"):
        return mlp_by_hand(load("mlp_eager"))
    whole = linear_by_hand(load("linear_eager"))
    return whole.reshape(-1, whole.shape[-1]) if name.startswith("matmul_add_compiled") else whole  # rows of a matrix


@pytest.mark.parametrize("name", [n for n in STAGES if n not in {*LIGER, *OWN_FILES}])
def test_a_stage_and_its_reference_compute_what_its_docstring_says(name: str, snippet) -> None:
    module = snippet(name)
    agree(module, expected(name, snippet))


@pytest.mark.parametrize("name", [n for n in STAGES if n not in OWN_FILES])
def test_a_stage_counts_the_operations_of_its_gemms(name: str, snippet) -> None:
    # 2·rows·inner·columns each: small 2·5·4·8, Linear 2·6·32·48, the MLP three of those
    flops = 320 if name.startswith("linear_small") else 18432 * (3 if name.startswith("mlp") else 1)
    if name in LIGER:
        assert (
            "import FLOPS" in (SNIPPETS / f"{name}.py").read_text() or "FLOPS," in (SNIPPETS / f"{name}.py").read_text()
        )
        name = "mlp_eager"
    assert flops == snippet(name).FLOPS


def test_a_stage_with_a_file_of_its_own_is_computed_and_counted_there() -> None:
    for name in OWN_FILES:
        text = Path(__file__).with_name(f"test_{name}.py").read_text(encoding="utf-8")
        assert "def test_it_computes_what_its_docstring_says(" in text, name
        assert "def test_it_counts_the_operations_of_its_gemms(" in text, name
        assert f'snippet("{name}")' in text, name


@pytest.mark.parametrize("name", STAGES)
def test_a_snippet_exposes_the_contract_of_a_stage(name: str) -> None:
    text = (SNIPPETS / f"{name}.py").read_text(encoding="utf-8")
    own_loop = "def profile_steps(" in text
    run = f'profile_steps(step, "{name}")' if own_loop else f'show(stage, "{name}"'
    assert run in text, "run alone, it profiles itself under its own name"
    assert "--8<-- [start:model]" in text and "--8<-- [end:model]" in text


def test_the_third_input_of_linear_restrided_has_equal_values_and_other_strides(
    snippet, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(torch, "compile", lambda module, **_: lambda x: (seen.append(x), module(x))[1])
    step = snippet("linear_restrided").stage()
    for _ in range(4):
        step()
    # [2, 3, 32] in rows: 96, 32, 1; stored as [3, 2, 32] and seen as [2, 3, 32]: 32, 64, 1.
    assert [x.stride() for x in seen] == [(96, 32, 1), (96, 32, 1), (32, 64, 1), (32, 64, 1)]
    assert all(torch.equal(x, seen[0]) for x in seen)


def test_a_second_dimension_of_the_bias_changes_nothing_but_its_shape(snippet) -> None:
    assert torch.equal(snippet("matmul_add_compiled_2d").stage()(), snippet("matmul_add_compiled").stage()())


def test_mlp_stages_share_weights_and_inputs(snippet) -> None:
    first, second = snippet("mlp_eager").make_mlp(), snippet("mlp_eager").make_mlp()
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(snippet("mlp_eager").make_input(), snippet("mlp_eager").make_input())


LIGER_ON_CPU = """
import sys, torch, triton, triton.language as tl
sys.path.insert(0, sys.argv[1])
import problem
for name, value in dict(BATCH=2, SEQUENCE=3, DIM=32, HIDDEN=48, ROWS=6).items():
    setattr(problem, name, value)
problem.DEVICE, problem.DTYPE = torch.device("cpu"), torch.float32
import mlp_eager, mlp_liger
step = mlp_liger.stage()
geglu = next(m for n, m in sys.modules.items() if n.endswith(".geglu") and hasattr(m, "tanh"))
@triton.jit
def tanh(x):  # libdevice's tanh returns None under the interpreter
    return 2 / (1 + tl.exp(-2 * x)) - 1
geglu.tanh = tanh
error = (step().double() - mlp_eager.reference()).norm() / mlp_eager.reference().norm()
print(float(error))
"""


def test_the_liger_stage_computes_the_same_mlp_through_get_kernel(run_liger_on_cpu) -> None:
    done = run_liger_on_cpu(LIGER_ON_CPU)
    assert float(done.stdout) < 1e-5  # float32 arithmetic on both sides
