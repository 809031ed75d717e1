"""The recorder of labs, with small labs and a stand-in for the look at the machine."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from build_traces import cli, labs, machine, notebooks
from build_traces.errors import RecordingError
from build_traces.freshness import State
from build_traces.notebooks import Lab
from build_traces.processes import LOCAL_KERNELS_HINT, Limits

from .conftest import WORKER, Bench, is_running

TITLE = "# %% [markdown]\n# # Lab: {}\n\n"
GOOD = '# %%\nprint("one")\n\n# %% tags=["needs-gpu"]\nprint("two")\n'

Run = Callable[..., labs.Outcome]


@pytest.fixture
def folder(bench: Bench) -> Path:
    made = bench.root / "labs"
    made.mkdir()
    return made


@pytest.fixture
def lab(folder: Path) -> Callable[[str, str], Lab]:
    """Writes a lab with these cells."""

    def write(name: str, text: str) -> Lab:
        (folder / f"{name}.py").write_text(TITLE.format(name) + text, encoding="utf-8")
        return Lab(folder / f"{name}.py")

    return write


@pytest.fixture
def run(bench: Bench, folder: Path) -> Run:
    """Records the labs of the folder; what was said is in `run.said`."""
    bench.ladder("good")

    def record(**changes: object) -> labs.Outcome:
        settings: dict[str, object] = {
            "labs": notebooks.find(folder),
            "snippets": bench.root / "snippets",
            "limits": Limits(60),
            "logs": bench.root / "logs",
            "worker": WORKER,
        }
        return labs.record(labs.Request(**(settings | changes)), record.said.append)

    record.said = []
    return record


def outputs(lab: Lab) -> list[str]:
    cells = nbformat.read(lab.notebook, as_version=4).cells
    return ["".join(o.text for o in cell.outputs) for cell in cells if cell.cell_type == "code"]


def test_a_lab_is_recorded_with_its_outputs_and_where_they_are_from(run: Run, lab) -> None:
    good = lab("good", GOOD)
    assert run() == labs.Outcome(("good",), ())
    assert outputs(good) == ["one\n", "two\n"]
    found = notebooks.status(good)
    assert found.state is State.FRESH
    assert (found.record.gpu, found.record.torch, found.record.driver) == ("Stand-in GPU", "2.11.0+cu130", "1.0")
    assert found.record.commit == "0123456789abcdef"
    assert found.record.sha256 == notebooks.digest(good)
    assert run.said[0] == "Stand-in GPU: 1 lab to record" and run.said[1].startswith("recorded good ")


def test_a_draft_is_replaced(run: Run, lab) -> None:
    good = lab("good", GOOD)
    notebooks.write_drafts((good,))
    run()
    cells = nbformat.read(good.notebook, as_version=4).cells
    assert [cell.id for cell in cells] == ["cell-1", "cell-2", "cell-3", "stamp"]


def test_a_fresh_lab_is_left_alone_unless_everything_is_asked_for(run: Run, lab) -> None:
    good = lab("good", GOOD)
    run()
    before = good.notebook.stat().st_mtime_ns
    assert run() == labs.Outcome((), ())
    assert good.notebook.stat().st_mtime_ns == before
    assert run(everything=True).recorded == ("good",)
    assert good.notebook.stat().st_mtime_ns != before


def test_two_runs_that_print_the_same_write_the_same_file(run: Run, lab) -> None:
    good = lab("good", GOOD)
    run()
    first = good.notebook.read_bytes()
    run(everything=True)
    assert good.notebook.read_bytes() == first


def test_a_stale_lab_is_run_again(run: Run, lab) -> None:
    lab("good", GOOD)
    run()
    good = lab("good", GOOD.replace("one", "uno"))
    assert run().recorded == ("good",)
    assert outputs(good)[0] == "uno\n"


def test_an_edit_while_it_runs_is_noticed(run: Run, lab, folder: Path) -> None:
    edit = f'# %%\nfrom pathlib import Path\n\nPath({str(folder / "good.py")!r}).open("a").write("# edited\\n")\n'
    good = lab("good", edit)
    run()
    assert notebooks.status(good).state is State.STALE


def test_a_lab_that_fails_leaves_its_old_notebook_and_does_not_keep_the_others(run: Run, lab, bench: Bench) -> None:
    bad, last = lab("bad", GOOD), lab("last", GOOD)
    run()
    before = bad.notebook.read_bytes()
    bad = lab("bad", GOOD + '\n# %%\nprint("three")\nraise ValueError("no such kernel")\n')
    lab("last", GOOD.replace("two", "due"))
    outcome = run()
    assert outcome.recorded == ("last",) and outputs(last)[1] == "due\n"
    assert bad.notebook.read_bytes() == before
    (error,) = outcome.failed
    log = bench.root / "logs" / "lab-bad" / "log.txt"
    assert str(error).splitlines() == [
        f"lab bad, cell 4 ({bad.script}:10): it raised ValueError: no such kernel",
        f"  log: {log}",
        "  next: read the log",
    ]
    assert "three" in log.read_text(encoding="utf-8") and "ValueError" in log.read_text(encoding="utf-8")
    assert f"FAILED {error}" in run.said


def test_a_known_cause_has_its_hint(run: Run, lab) -> None:
    lab("bad", '# %%\nraise ConnectionError("httpx2.ConnectError: Name or service not known")\n')
    (error,) = run().failed
    assert error.hint == LOCAL_KERNELS_HINT


def test_a_lab_that_hangs_is_ended_in_time(run: Run, lab, bench: Bench) -> None:
    pid = bench.root / "pid"
    text = f"# %%\nimport os, time\n\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\n\n# %%\ntime.sleep(600)\n"
    slow = lab("slow", text)
    (error,) = run(limits=Limits(4)).failed
    assert error.where == slow.place(3)
    assert "did not end within 4 s" in error.message and "--time-limit" in error.hint
    assert not is_running(int(pid.read_text()))
    assert not slow.notebook.exists()


def test_the_time_limit_is_of_the_whole_lab(run: Run, lab) -> None:
    lab("slow", "# %%\nimport time\n\n" + "\n# %%\ntime.sleep(2)\n" * 5)
    (error,) = run(limits=Limits(4)).failed
    assert "did not end within 4 s" in error.message


def test_a_kernel_that_dies_is_told_with_its_cell(run: Run, lab) -> None:
    dead = lab("dead", "# %%\nimport os\n\nos._exit(3)\n")
    (error,) = run().failed
    assert error.where == dead.place(2) and "the kernel died" in error.message


def test_a_kernel_that_does_not_see_the_gpu_is_refused(run: Run, lab) -> None:
    skipped = lab("skipped", f'# %% tags=["needs-gpu"]\nprint("{labs.SKIPPED}, and there is none: skipped.")\n')
    (error,) = run().failed
    assert error.where == skipped.place(2) and "the kernel sees no GPU" in error.message
    assert not skipped.notebook.exists()


def test_warnings_and_paths_of_the_machine_are_not_published(run: Run, lab) -> None:
    text = (
        "# %%\nimport os, sys, warnings\n\n"
        'warnings.warn("a warning")\nprint("to stderr", file=sys.stderr)\n'
        "print(os.getcwd() + '/made.json', os.path.expanduser('~/x'), 'µs')\n"
    )
    good = lab("good", text)
    run()
    assert outputs(good) == ["made.json x µs\n"]


def test_each_lab_has_a_fresh_kernel_of_this_python_with_empty_caches(run: Run, lab, monkeypatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/somewhere")
    text = (
        "# %%\nimport os, sys\n\nprint(sys.executable, 'left' in globals())\nleft = 1\n"
        "print([len(os.listdir(p)) if os.path.exists(p) else 0\n"
        "       for p in (os.environ['TORCHINDUCTOR_CACHE_DIR'], os.environ['TRITON_CACHE_DIR'])])\n"
        "print(os.environ['TORCHINDUCTOR_CACHE_DIR'] == '/somewhere', os.listdir())\n"
    )
    first, second = lab("first", text), lab("second", text)
    run()
    for one in (first, second):
        assert outputs(one) == [
            f"{sys.executable.removeprefix(str(Path.cwd()) + '/')} False\n[0, 0]\nFalse ['caches']\n"
        ]


def test_nothing_is_left_behind(run: Run, lab, folder: Path, tmp_path_factory, monkeypatch) -> None:
    temporary = tmp_path_factory.mktemp("t")
    monkeypatch.setattr(labs.tempfile, "tempdir", str(temporary))
    lab("good", GOOD + '\n# %%\nopen("left.json", "w").write("{}")\n')
    run()
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == ["good.ipynb", "good.py"]


def test_without_a_temporary_folder_nothing_is_recorded(run: Run, lab, monkeypatch) -> None:
    lab("good", GOOD)
    monkeypatch.setattr(labs.tempfile, "tempdir", "/nowhere")
    with pytest.raises(RecordingError, match="no temporary folder can be made"):
        run()


def test_a_log_that_cannot_be_kept_does_not_hide_the_error(run: Run, lab, bench: Bench) -> None:
    (bench.root / "a-file").write_text("")
    lab("bad", '# %%\nraise ValueError("why")\n')
    (error,) = run(logs=bench.root / "a-file").failed
    assert error.message == "it raised ValueError: why"


def test_what_runs_notebooks_must_be_installed(run: Run, lab, monkeypatch) -> None:
    original = machine.importlib.util.find_spec
    monkeypatch.setattr(
        machine.importlib.util, "find_spec", lambda name: None if name == "nbclient" else original(name)
    )
    with pytest.raises(RecordingError, match="nbclient is not installed"):
        run()


# The command line


@pytest.fixture
def command(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Runs a command in a repository with one lab."""
    bench.ladder("good")
    path = bench.root / "docs" / "labs" / "good.py"
    path.parent.mkdir(parents=True)
    path.write_text(TITLE.format("good") + GOOD, encoding="utf-8")
    monkeypatch.chdir(bench.root)
    monkeypatch.setenv("COLUMNS", "200")
    request = labs.Request
    monkeypatch.setattr(labs, "Request", lambda *args: request(*args, worker=WORKER))
    return lambda *words: CliRunner().invoke(cli.app, list(words))


def test_record_labs_says_what_was_recorded(command) -> None:
    done = command("record", "--labs")
    assert done.exit_code == 0
    assert "Stand-in GPU: 1 lab to record" in done.output and "labs: 1 recorded, 0 failed" in done.output
    assert notebooks.status(Lab(Path("docs/labs/good.py"))).state is State.FRESH


def test_record_labs_ends_non_zero_if_a_lab_failed(command) -> None:
    Path("docs/labs/bad.py").write_text(TITLE.format("bad") + "# %%\n1 / 0\n", encoding="utf-8")
    done = command("record", "--labs")
    assert done.exit_code != 0 and isinstance(done.exception, RecordingError)
    assert "labs: 1 recorded, 1 failed" in done.output and "ZeroDivisionError" in done.output


def test_record_labs_takes_no_stages(command) -> None:
    done = command("record", "--labs", "--stages", "good")
    assert done.exit_code == 2


def test_a_draft_is_written_and_named(command) -> None:
    assert "docs/labs/good.ipynb: a draft" in command("draft-labs").output
    assert command("draft-labs").output == ""


def test_list_shows_the_labs(command, bench: Bench) -> None:
    import build_traces.record as stages

    from .conftest import Heard

    stages.record(bench.request("good", out=Path("docs/recordings")), Heard())
    assert "docs/labs/good.ipynb  missing  not recorded yet" in command("list").output
    command("record", "--labs")
    assert "docs/labs/good.ipynb  fresh  recorded " in command("list").output


def test_without_a_gpu_record_labs_is_one_error(bench: Bench, lab, monkeypatch) -> None:
    lab("good", GOOD)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    request = labs.Request(notebooks.find(bench.root / "labs"), bench.ladder("good").snippets, logs=bench.root / "logs")
    with pytest.raises(RecordingError, match="torch sees no GPU on this machine"):
        labs.record(request, lambda _: None)
