"""What is known of a lab on disk: fresh, stale or missing, and why."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from build_traces import notebooks
from build_traces.freshness import State
from build_traces.notebooks import Lab, LabError, LabRecord, find, named, read_script, status, write_drafts, write_run

SCRIPT = '# %% [markdown]\n# # Lab: a small one\n#\n# Text.\n\n# %%\nfrom build_traces import trace\n\nprint("a")\n'

RUN = LabRecord(
    protocol=notebooks.PROTOCOL,
    sha256="",
    command=notebooks.RECORD_COMMAND,
    recorded="2026-12-01",
    commit="0123456789abcdef",
    gpu="Stand-in <GPU>",
    driver="1.0",
    cuda="13.0",
    torch="2.11.0+cu130",
    triton="3.6.0",
    python="3.12.3",
)


def record_of(lab: Lab, **changes: object) -> LabRecord:
    return notebooks.msgspec.structs.replace(RUN, **({"sha256": notebooks.digest(lab)} | changes))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    (tmp_path / "small.py").write_text(SCRIPT, encoding="utf-8")
    return Lab(tmp_path / "small.py")


@pytest.fixture
def recorded(lab: Lab) -> Lab:
    write_run(lab, read_script(lab), record_of(lab))
    return lab


def test_a_lab_has_its_name_its_title_and_its_place(lab: Lab) -> None:
    assert (lab.name, lab.title, lab.notebook.name) == ("small", "Lab: a small one", "small.ipynb")
    assert lab.place(2) == f"lab small, cell 2 ({lab.script}:6)"
    assert lab.place(9) == f"lab small, cell 9 ({lab.script})"


def test_labs_are_found_by_name_and_an_unknown_one_lists_them(lab: Lab, tmp_path: Path) -> None:
    assert find(tmp_path) == (lab,) and named("small", tmp_path) == lab
    with pytest.raises(LabError, match=r"(?s)no lab 'smal'.*the labs are small"):
        named("smal", tmp_path)
    with pytest.raises(LabError, match="there are no labs"):
        named("small", tmp_path / "nowhere")


def test_a_lab_without_a_title_is_refused(lab: Lab) -> None:
    lab.script.write_text("# %%\n1\n", encoding="utf-8")
    with pytest.raises(LabError, match="no title"):
        _ = lab.title


def test_a_script_alone_is_missing_and_so_is_its_draft(lab: Lab) -> None:
    assert (status(lab).state, status(lab).why) == (State.MISSING, "not recorded yet")
    assert write_drafts((lab,)) == (lab,)
    assert (status(lab).state, status(lab).why) == (State.MISSING, "not recorded yet")
    status(lab).refuse_stale()


def test_a_draft_says_at_its_top_that_it_is_one_and_has_no_outputs(lab: Lab) -> None:
    write_drafts((lab,))
    cells = nbformat.read(lab.notebook, as_version=4).cells
    assert [cell.id for cell in cells] == ["cell-1", "draft", "cell-2", "stamp"]
    assert 'class="draft"' in cells[1].source and "not recorded yet" in cells[1].source
    assert 'class="stamp"' in cells[3].source
    assert cells[2].outputs == [] and cells[2].execution_count is None


def test_a_draft_is_written_once(lab: Lab) -> None:
    write_drafts((lab,))
    assert write_drafts((lab,)) == ()


def test_a_draft_of_an_older_script_is_stale_until_it_is_written_anew(lab: Lab) -> None:
    write_drafts((lab,))
    lab.script.write_text(SCRIPT + "# edited\n", encoding="utf-8")
    assert status(lab).state is State.STALE and "small.py has changed" in status(lab).why
    assert write_drafts((lab,)) == (lab,)
    assert status(lab).state is State.MISSING


def test_equal_scripts_make_equal_files(lab: Lab) -> None:
    write_drafts((lab,))
    first = lab.notebook.read_bytes()
    lab.notebook.unlink()
    write_drafts((lab,))
    assert lab.notebook.read_bytes() == first


def test_a_recorded_lab_is_fresh_and_carries_its_stamp(recorded: Lab) -> None:
    found = status(recorded)
    assert (found.state, found.why) == (State.FRESH, "recorded 2026-12-01 on Stand-in <GPU>")
    assert found.record == record_of(recorded)
    last = nbformat.read(recorded.notebook, as_version=4).cells[-1]
    said = "This lab ran on Stand-in &lt;GPU&gt;, torch 2.11.0+cu130, 2026-12-01, from commit 0123456789."
    assert said in last.source and 'class="stamp"' in last.source
    assert write_drafts((recorded,)) == ()


def test_an_edit_of_the_script_makes_it_stale(recorded: Lab) -> None:
    recorded.script.write_text(SCRIPT + "# edited\n", encoding="utf-8")
    with pytest.raises(LabError, match=r"(?s)lab small: its notebook is stale.*small.py or a module.*record --labs"):
        status(recorded).refuse_stale()


def test_an_edit_of_a_module_of_ours_that_it_imports_makes_it_stale(
    recorded: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "build_traces"
    package.mkdir()
    source = Path(notebooks.__file__)
    for name in ("notebooks.py", "guesses.py"):
        (package / name).write_bytes(source.with_name(name).read_bytes())
    shutil.copytree(source.with_name("trace"), package / "trace")
    monkeypatch.setattr(notebooks, "__file__", str(package / "notebooks.py"))
    assert status(recorded).state is State.FRESH
    (package / "guesses.py").write_text("# not imported by this lab\n", encoding="utf-8")
    assert status(recorded).state is State.FRESH
    (package / "trace" / "events.py").write_text("# edited\n", encoding="utf-8")
    assert status(recorded).state is State.STALE


@pytest.mark.parametrize(
    "line", ["from build_traces import trace", "import build_traces.trace", "from build_traces.trace import read"]
)
def test_an_import_counts_however_it_is_written(lab: Lab, line: str) -> None:
    lab.script.write_text(f"# %%\n{line}\n", encoding="utf-8")
    script, *imported = notebooks.sources(lab)
    package = Path(notebooks.__file__).with_name("trace")
    assert (script, imported) == (lab.script, sorted(package.glob("*.py"))) and len(imported) > 1
    lab.script.write_text("# %%\nfrom build_traces import guesses\n", encoding="utf-8")
    assert [path.name for path in notebooks.sources(lab)] == ["small.py", "guesses.py"]


def test_another_protocol_makes_it_stale(lab: Lab) -> None:
    write_run(lab, read_script(lab), record_of(lab, protocol=0))
    assert (status(lab).state, status(lab).why) == (State.STALE, "recorded by protocol 0, now 1")


@pytest.mark.parametrize("draft", [True, False])
def test_a_notebook_that_was_run_or_edited_by_hand_is_stale(lab: Lab, draft: bool) -> None:
    """Its outputs would be another machine's under this one's stamp."""
    if draft:
        write_drafts((lab,))
    else:
        write_run(lab, read_script(lab), record_of(lab))
    content = nbformat.read(lab.notebook, as_version=4)
    ran = next(cell for cell in content.cells if cell.cell_type == "code")
    ran.outputs = [nbformat.v4.new_output("stream", name="stdout", text="by hand\n")]
    nbformat.write(content, lab.notebook)
    assert status(lab).state is State.STALE and "edited or run by hand" in status(lab).why
    assert write_drafts((lab,)) == (lab,)
    assert status(lab).state is State.MISSING


def test_a_notebook_saved_without_a_change_stays_fresh(recorded: Lab) -> None:
    nbformat.write(nbformat.read(recorded.notebook, as_version=4), recorded.notebook)
    assert status(recorded).state is State.FRESH


def without_metadata(notebook: dict[str, object]) -> None:
    notebook["metadata"] = {}


def with_a_list(notebook: dict[str, object]) -> None:
    notebook["metadata"] = []


def with_half_a_record(notebook: dict[str, object]) -> None:
    notebook["metadata"] = {notebooks.METADATA_KEY: {"script": "", "record": {"gpu": "x"}}}


@pytest.mark.parametrize("damage", [without_metadata, with_a_list, with_half_a_record])
def test_a_damaged_notebook_is_stale_and_says_so(recorded: Lab, damage: Callable[[dict[str, object]], None]) -> None:
    content = json.loads(recorded.notebook.read_bytes())
    damage(content)
    recorded.notebook.write_text(json.dumps(content), encoding="utf-8")
    assert status(recorded).state is State.STALE and "is damaged" in status(recorded).why


def test_a_notebook_cut_short_is_stale(recorded: Lab) -> None:
    recorded.notebook.write_bytes(recorded.notebook.read_bytes()[:-20])
    assert status(recorded).state is State.STALE and "is damaged" in status(recorded).why


def test_a_script_that_is_no_python_is_told_with_its_line(lab: Lab) -> None:
    lab.script.write_text("# %%\nif:\n", encoding="utf-8")
    with pytest.raises(LabError, match=r"small\.py:2: not valid Python"):
        notebooks.digest(lab)


def test_a_notebook_that_cannot_be_written_leaves_the_old_one(recorded: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(target: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    before = recorded.notebook.read_bytes()
    monkeypatch.setattr(notebooks, "write_whole", full)
    with pytest.raises(LabError, match=r"(?s)lab small: .*small.ipynb cannot be written: No space left"):
        write_run(recorded, read_script(recorded), record_of(recorded))
    assert recorded.notebook.read_bytes() == before
