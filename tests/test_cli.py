"""The command line: exit codes, and what a person reads."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from build_traces import cli, ladder, record, verify
from build_traces.errors import RecordingError
from build_traces.recording import Spread

ROOT = Path(__file__).parents[1]


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SOURCE_COMMIT": "0123", "COLUMNS": "200"}
    command = [sys.executable, "-m", "build_traces", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_record_without_a_gpu_is_one_error_and_exit_1(tmp_path: Path) -> None:
    done = run("record", "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "torch sees no GPU" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["record", "verify"])
def test_an_unknown_stage_is_one_error_that_lists_the_stages(command: str) -> None:
    done = run(command, "--stages", "mlp_eager,mlp_eagre")
    assert done.returncode == 1
    assert "there is no stage 'mlp_eagre'" in done.stderr
    assert all(name in done.stderr for name in ladder.load(ROOT / "snippets").names)


def test_an_unknown_option_is_refused() -> None:
    assert run("record", "--fast").returncode == 2


def test_list_shows_each_stage_with_its_state_and_why() -> None:
    done = run("list")
    assert done.returncode == 0
    assert re.search(
        r"^NVIDIA H200 · torch 2\.11\.0\S* · 20\d\d-\d\d-\d\d · commit [0-9a-f]{10}$", done.stdout, re.MULTILINE
    )
    rows = dict(re.findall(r"^(\w+) +(fresh|stale|missing) ", done.stdout, re.MULTILINE))
    loaded = ladder.load(ROOT / "snippets")
    assert tuple(rows) == (*loaded.names, *loaded.sweep_names)
    assert {rows[stage.name] for stage in loaded.rungs} == {"fresh"}
    assert set(rows.values()) <= {"fresh", "missing"}


def test_a_plan_needs_no_gpu_and_sums_up() -> None:
    done = run("record", "--plan", "--all", "--processes", "1", "--stages", "mlp_eager,batch_compiled_warm")
    assert done.returncode == 0
    stage, sweep, total = done.stdout.splitlines()
    assert stage.split()[:4] == ["mlp_eager", "2", "processes", "of"], "one, and one that counts bytes"
    assert sweep.split()[:4] == ["batch_compiled_warm", "2", "processes", "of"], "one, and one that fills the caches"
    assert total.startswith("together about ")


def test_list_without_a_recording_says_how_to_make_one(tmp_path: Path) -> None:
    done = run("list", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "python -m build_traces record" in done.stderr


def test_local_kernels_prints_the_value_and_nothing_else(tmp_path: Path) -> None:
    done = run("local-kernels", str(tmp_path / "liger"))
    assert done.returncode == 0
    assert done.stdout == f"kernels-community/liger-kernels={tmp_path / 'liger'}\n"
    assert (tmp_path / "liger" / "build" / "torch-universal" / "metadata.json").is_file()


def test_check_finds_what_was_left_unrendered(tmp_path: Path) -> None:
    stamp = '<aside class="stamp">x</aside>'
    (tmp_path / "index.html").write_text(f"<p>{{{{ mlp_eager.kernel_count }}}}</p>{stamp}", encoding="utf-8")
    done = run("check", str(tmp_path))
    assert done.returncode == 1 and "index.html" in done.stdout
    (tmp_path / "index.html").write_text(f"<p>5</p>{stamp}", encoding="utf-8")
    assert run("check", str(tmp_path)).returncode == 0


def test_this_machine_without_a_gpu_is_an_error() -> None:
    done = run("this-machine")
    assert done.returncode == 1 and "torch sees no GPU" in done.stderr


# What the commands print, with the recorder itself replaced


@pytest.fixture
def outcome(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in this process against a recorder that reports what it is told to."""

    def run_with(command: list[str], failed: tuple[RecordingError, ...] = (), drift: list[str] | None = None) -> Result:
        def fake_record(request: record.Request, reporter: record.Reporter) -> record.Outcome:
            reporter.planned("gpu_torch", 2, 4)
            reporter.running("one · process 1 of 2")
            reporter.process_done()
            reporter.stage_done("one", Spread(20.0, 19.0, 21.5))
            for error in failed:
                reporter.stage_failed(error)
            return record.Outcome(Path("recordings/gpu_torch"), ("one",), failed)

        monkeypatch.setattr(record, "record", fake_record)
        monkeypatch.setattr(
            verify, "verify", lambda *_: {"mlp_eager": [verify.Drift("launches", "a", d) for d in drift or []]}
        )
        return CliRunner().invoke(cli.app, command)

    return run_with


def test_record_says_what_was_recorded(outcome: Callable[..., Result]) -> None:
    done = outcome(["record"])
    assert done.exit_code == 0
    assert "recording gpu_torch: 1 recorded, 0 failed" in done.output


def test_record_ends_non_zero_if_a_stage_failed_and_names_it(outcome: Callable[..., Result]) -> None:
    done = outcome(["record"], failed=(RecordingError("mlp_eager", "it was killed"),))
    assert done.exit_code != 0
    assert isinstance(done.exception, RecordingError)
    assert "not recorded: mlp_eager" in str(done.exception)


def test_verify_ends_with_1_on_drift_and_0_without(outcome: Callable[..., Result]) -> None:
    same = outcome(["verify"])
    assert same.exit_code == 0 and "mlp_eager: as recorded" in same.output
    other = outcome(["verify"], drift=["b"])
    assert other.exit_code == 1
    assert "mlp_eager: 1 difference\n" in other.output and "launches: recorded a, now b" in other.output


def test_this_machine_prints_the_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "this_machine", lambda _: "gpu_torch")
    assert CliRunner().invoke(cli.app, ["this-machine"]).output == "gpu_torch\n"
