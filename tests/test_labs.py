"""The labs themselves: they run top to bottom on a CPU, and judge guesses by a trace as a reader's would be."""

import ast
import contextlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import jupytext
import nbformat
import pytest

from build_traces import ladder, local_kernels, notebooks, recording
from build_traces.facts import Facts
from build_traces.freshness import State
from build_traces.labs import NEEDS_GPU, SKIPPED, execute
from build_traces.notebooks import OURS, Lab
from build_traces.processes import Limits

ROOT = Path(__file__).parents[1]
LABS = {lab.name: lab for lab in notebooks.find(ROOT / "docs" / "labs")}
RECORDING = ROOT / "docs" / "recordings" / "nvidia-h200_torch-2.11.0"
GUESS = re.compile(r"^(guess_\w+) = None  # .+$", re.MULTILINE)

every_lab = pytest.mark.parametrize("lab", LABS.values(), ids=LABS)


def read(lab: Lab) -> nbformat.NotebookNode:
    return nbformat.read(lab.notebook, as_version=4)


def cells(notebook: nbformat.NotebookNode) -> list[tuple[str, str, list[str]]]:
    """The cells that a person wrote: kind, text, tags."""
    tagged = [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in notebook.cells]
    return [cell for cell in tagged if OURS not in cell[2]]


def code_cells(lab: Lab) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebooks.read_script(lab).cells if cell.cell_type == "code"]


# Script and notebook


def test_there_are_three_labs() -> None:
    assert set(LABS) == {"linear", "mlp_and_compile", "liger"}


@every_lab
def test_the_notebook_holds_the_cells_of_its_script(lab: Lab) -> None:
    assert cells(read(lab)) == cells(jupytext.read(lab.script, fmt="py:percent"))


@every_lab
def test_the_notebook_written_back_is_its_script(lab: Lab) -> None:
    notebook = read(lab)
    notebook.cells = [cell for cell in notebook.cells if OURS not in cell.metadata.get("tags", [])]
    notebook.metadata = {"jupytext": {"notebook_metadata_filter": "-all", "cell_metadata_filter": "tags"}}
    assert jupytext.writes(notebook, fmt="py:percent") == lab.script.read_text(encoding="utf-8")


@every_lab
def test_the_notebook_is_fresh_or_a_draft(lab: Lab) -> None:
    assert notebooks.status(lab).state in (State.FRESH, State.MISSING), notebooks.status(lab).why


@every_lab
def test_no_output_is_an_error_a_warning_or_a_cpu_and_no_notebook_is_half_run(lab: Lab) -> None:
    ran = [cell for cell in read(lab).cells if cell.cell_type == "code"]
    recorded = notebooks.status(lab).record is not None
    assert [cell.execution_count for cell in ran] == [n if recorded else None for n in range(1, len(ran) + 1)]
    for output in (output for cell in ran for output in cell.outputs):
        assert (output.output_type, output.name) == ("stream", "stdout")
        assert SKIPPED not in output.text and "no GPU" not in output.text


# What is repeated is repeated to the letter


def functions(path: Path) -> dict[str, str]:
    """The source of every function and class of a file, by name."""
    text = path.read_text(encoding="utf-8")
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: str(ast.get_source_segment(text, node)) for node in found}


def snippet_functions() -> dict[str, str]:
    order = ("problem", "measure", "mlp_liger", "linear_eager", "mlp_eager")
    return {name: text for stem in order for name, text in functions(ROOT / "snippets" / f"{stem}.py").items()}


@every_lab
def test_the_loop_and_the_models_are_those_of_the_snippets(lab: Lab) -> None:
    snippets = snippet_functions()
    mine = functions(lab.script)
    shared = set(mine) & set(snippets)
    assert {"profile_steps", "random_input", "make_input"} < shared
    for name in shared:
        # On a CPU there is nothing to wait for; that is the one difference.
        assert mine[name] == snippets[name].replace("torch.cuda.synchronize()", "synchronize()"), name


def test_the_labs_share_their_helpers() -> None:
    helpers = ("synchronize", "profiled", "on_gpu", "last_step", "kernel_lines", "gpu_us")
    for name in helpers:
        assert len({functions(lab.script)[name] for lab in LABS.values()}) == 1, name


@every_lab
def test_the_sizes_on_a_gpu_are_those_of_the_stages(lab: Lab) -> None:
    assert "BATCH, SEQUENCE, DIM, HIDDEN = 64 if GPU else 1, 128, 768, 3072" in lab.script.read_text(encoding="utf-8")
    assert "BATCH, SEQUENCE, DIM, HIDDEN = 64, 128, 768, 3072" in (ROOT / "snippets" / "problem.py").read_text("utf-8")


# The form of a question


@every_lab
def test_every_guess_has_a_cell_of_its_own_before_the_cell_that_judges_it(lab: Lab) -> None:
    text = lab.script.read_text(encoding="utf-8")
    sources = [cell.source for cell in code_cells(lab)]
    guesses = GUESS.findall(text)
    assert len(guesses) >= 4 and len(set(guesses)) == len(guesses)
    for guess in guesses:
        asking = [n for n, source in enumerate(sources) if GUESS.fullmatch(source) and source.startswith(f"{guess} ")]
        judging = [n for n, source in enumerate(sources) if re.search(rf"check\([^)]*\b{guess}\b", source)]
        assert len(asking) == 1 and judging == [asking[0] + 1], guess


@every_lab
def test_the_mark_is_on_every_cell_that_needs_a_gpu_and_on_no_other(lab: Lab) -> None:
    for cell in code_cells(lab):
        asks = cell.source.startswith("if on_gpu():\n")
        assert (NEEDS_GPU in cell.metadata.get("tags", [])) == asks
        if "def on_gpu" not in cell.source:
            assert asks == ("on_gpu" in cell.source)
        if asks:  # nothing beside the skipped part
            assert all(line.startswith("    ") or not line for line in cell.source.splitlines()[1:])


# On a CPU


@every_lab
def test_on_a_cpu_it_runs_to_its_end_and_the_cells_that_need_a_gpu_say_so(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # where there is a GPU, too
    ran = execute(lab, tmp_path / "run", Limits(200), tmp_path / "logs")
    code = [cell for cell in ran.cells if cell.cell_type == "code"]
    printed = ["".join(output.text for output in cell.outputs) for cell in code]
    needing = [NEEDS_GPU in cell.metadata.get("tags", []) for cell in code]
    assert [text.startswith(SKIPPED) for text in printed] == needing
    assert sum("your guess   none yet" in text for text in printed) == 1  # what a CPU can measure too
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_the_script_runs_without_jupyter_and_keeps_the_trace(tmp_path: Path) -> None:
    command = [sys.executable, str(LABS["linear"].script)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(SKIPPED) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["linear_eager.trace.json"]
    assert json.loads((tmp_path / "linear_eager.trace.json").read_bytes())["traceEvents"]


# A recorded trace as if it were the reader's


def run_on_the_recording(lab: Lab, guesses: Mapping[str, object]) -> dict[str, str]:
    """Run a lab's cells with these guesses, each profile replaced by the recorded trace of its label.

    Returns what each guess's cell printed.
    """
    namespace: dict[str, object] = {"__name__": "__main__", "RECORDING": RECORDING}
    said: dict[str, str] = {}
    judged = ""
    for cell in code_cells(lab):
        source = cell.source
        if match := GUESS.fullmatch(source):
            judged = match[1]
            source = f"{judged} = {guesses.get(judged)!r}"
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, str(lab.script), "exec"), namespace)
            if "def profiled" in source:
                exec(READ_RECORDED, namespace)
            if source.endswith(".shape))"):  # the model is made, on the CPU; from here on this is a GPU machine
                namespace["GPU"] = True
        if "check(" in source and "def " not in source:
            said[judged] = out.getvalue()
    assert set(said) == set(GUESS.findall(lab.script.read_text(encoding="utf-8")))
    return said


READ_RECORDED = """
def profiled(step, label):
    return trace.read(RECORDING / label / "trace.json.gz")
"""


@pytest.fixture
def liger_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = local_kernels.build(tmp_path / "liger-kernels")
    monkeypatch.setenv("LOCAL_KERNELS", local_kernels.local_kernels_value(folder))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def the_facts() -> dict[str, dict[str, object]]:
    """What is right on the recording, by the route that the guide's pages take."""
    facts = Facts(recording.open_recording(RECORDING), ladder.load(ROOT / "snippets"))

    def value(path: str) -> float:
        return facts.get(path).value

    def names(stage: str) -> list[str]:
        return [
            str(facts.get(f"{stage}.kernel.{n}.name").value) for n in range(1, int(value(f"{stage}.kernel_count")) + 1)
        ]

    eager, compiled = names("mlp_eager"), names("mlp_compiled")
    geglu = next(n for n, name in enumerate(names("mlp_liger"), start=1) if "geglu" in name)
    fused = next(n for n, name in enumerate(compiled, start=1) if name.startswith("triton_"))
    liger_wins = value(f"mlp_liger.kernel.{geglu}.us") < value(f"mlp_compiled.kernel.{fused}.us")
    return {
        "linear": {
            "guess_ops": value("linear_eager.op_count"),
            "guess_kernels": value("linear_eager.kernel_count"),
            "guess_us": value("linear_eager.gpu_us"),
            "guess_longer": "CPU" if value("linear_small.cpu_us") > value("linear_small.gpu_us") else "GPU",
        },
        "mlp_and_compile": {
            "guess_working": sum(
                value(f"mlp_eager.op_count.aten::{op}") for op in ("mm", "addmm", "gelu", "mul")
            ),
            "guess_kernels": len(eager),
            "guess_compiled": len(compiled),
            "guess_same": sum(name in eager for name in compiled),
            "guess_ratio": value("mlp_eager.gpu_us") / value("mlp_compiled.gpu_us"),
        },
        "liger": {
            "guess_idle": 25,  # 3072 of 4096 lanes work
            "guess_kernels": value("mlp_liger.kernel_count"),
            "guess_blocks": 64 * 128,
            "guess_faster": "Liger" if liger_wins else "Inductor",
        },
    }  # fmt: skip


def wrong(guess: object) -> object:
    """Another answer of the same kind."""
    others = {"CPU": "GPU", "GPU": "CPU", "Liger": "Inductor", "Inductor": "Liger"}
    return others[guess] if isinstance(guess, str) else guess * 2 + 1


@every_lab
@pytest.mark.usefixtures("liger_at_hand")
def test_a_guess_is_right_if_the_trace_says_the_same_and_wrong_if_not(lab: Lab) -> None:
    right = the_facts()[lab.name]
    for guess, said in run_on_the_recording(lab, right).items():
        assert re.search(r"^  verdict +right", said, re.MULTILINE), f"{guess}: {said}"
    for guess, said in run_on_the_recording(lab, {name: wrong(value) for name, value in right.items()}).items():
        assert re.search(r"^  verdict +not right", said, re.MULTILINE), f"{guess}: {said}"


@every_lab
@pytest.mark.usefixtures("liger_at_hand")
def test_without_a_guess_the_trace_is_shown_and_nothing_is_judged(lab: Lab) -> None:
    for said in run_on_the_recording(lab, {}).values():
        assert "none yet" in said and "verdict" not in said


def test_what_decided_is_shown_beside_the_verdict() -> None:
    said = run_on_the_recording(LABS["linear"], {})
    assert "    aten::addmm" in said["guess_ops"]
    assert re.search(r"^ +\d+\.\d µs  nvjet_sm90_tst_256x128\S+_bias_TNT$", said["guess_kernels"], re.MULTILINE)
    assert "TFLOP/s" in said["guess_us"] and "TB/s" in said["guess_us"]
    assert re.search(r"µs  the CPU.*\n.*µs  the GPU", said["guess_longer"])
