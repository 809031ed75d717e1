"""Another recording is shown by two edits, and only if it has what the shown one has."""

import re
import shutil
from pathlib import Path

import pytest
from raw_recording import SHOWN

from build_traces.errors import BuildTracesError
from build_traces.new import NewError
from build_traces.new.shown import plan as plan_shown

ROOT = Path(__file__).parents[1]
NEWER = f"{SHOWN.partition('_torch-')[0]}_torch-2.99.1"


@pytest.fixture
def recorded_anew(tmp_path: Path) -> Path:
    """A copy with a second recording of the same GPU, as a newer torch would make it."""
    for name in ("snippets", "kernel", "docs/recordings"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    recordings = tmp_path / "docs" / "recordings"
    old = (recordings / SHOWN / "environment.json").read_text(encoding="utf-8")
    torch, triton = (re.search(rf'"{name}": "([^"]+)"', old)[1] for name in ("torch", "triton"))
    shutil.copytree(recordings / SHOWN, recordings / NEWER)
    for path in (recordings / NEWER).rglob("*.json"):  # every stage says on which machine it was recorded
        text = path.read_text(encoding="utf-8").replace(torch, "2.99.1+cu130")
        text = text.replace(f"triton {triton}", "triton 3.99.0").replace(f'"triton": "{triton}"', '"triton": "3.99.0"')
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_newer_recording_is_shown_by_two_edits(recorded_anew: Path) -> None:
    plan = plan_shown(recorded_anew, NEWER)
    assert not plan.made
    for path, text in plan.changed.items():
        before = (recorded_anew / path).read_text(encoding="utf-8").splitlines()
        changed = [(old, new) for old, new in zip(before, text.splitlines(), strict=True) if old != new]
        if path.name == "mkdocs.yml":
            ((old, new),) = changed
            assert new == old.replace(SHOWN, NEWER) != old
        else:
            assert [new.strip() for _, new in changed] == ['"torch==2.99.1",', '"triton==3.99.0",']
            assert '"torch==2.13.0",' in text  # that of the tests stays


def test_a_recording_that_lacks_a_stage_is_not_shown(recorded_anew: Path) -> None:
    shutil.rmtree(recorded_anew / "docs" / "recordings" / NEWER / "mlp_liger")
    with pytest.raises(NewError, match=r"not whole: mlp_liger \(not recorded yet\)") as error:
        plan_shown(recorded_anew, NEWER)
    assert "nox -s record" in error.value.hint


def test_a_stage_that_no_recording_has_keeps_none_from_being_shown(recorded_anew: Path) -> None:
    for name in (SHOWN, NEWER):
        shutil.rmtree(recorded_anew / "docs" / "recordings" / name / "mlp_liger")
    assert plan_shown(recorded_anew, NEWER).changed


def test_a_recording_that_is_not_there_is_not_shown(recorded_anew: Path) -> None:
    with pytest.raises(BuildTracesError, match="there is no recording in"):
        plan_shown(recorded_anew, "nvidia-h200_torch-3.0.0")


def test_a_group_that_pins_a_package_twice_is_refused(recorded_anew: Path) -> None:
    path = recorded_anew / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("record = [\n", 'record = [\n    "torch==1.0.0",\n'), encoding="utf-8")
    with pytest.raises(NewError, match="pins torch 2 times"):
        plan_shown(recorded_anew, NEWER)
