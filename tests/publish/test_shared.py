"""Recordings move beside the version, and every link to them moves along."""

import shutil
from pathlib import Path

import pytest

from build_traces import links
from build_traces.publish.shared import share

NAME = "nvidia-h200_torch-2.11.0"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A version as it was built, in the folder of all versions."""
    site = tmp_path / "1.0"
    for name, text in {
        f"recordings/{NAME}/mlp/trace.json.gz": "trace",
        f"recordings/{NAME}/environment.json": "{}",
        "index.html": f'<a href="recordings/{NAME}/mlp/trace.json.gz" download>a</a><code>recordings/{NAME}/</code>',
        "stages/mlp/index.html": f"<a href='../../recordings/{NAME}/environment.json' data-title=x>b</a>",
        "stages/mlp/index.html.md": f"[b](../../recordings/{NAME}/environment.json) docs/recordings/{NAME}/mlp",
        "llms.txt": f"[b](recordings/{NAME}/environment.json)",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_each_recording_stands_in_a_folder_named_by_its_content(whole: Path) -> None:
    (name,) = share(whole / "1.0", whole)
    assert name.startswith(f"{NAME}-") and len(name) == len(NAME) + 13
    assert (whole / "recordings" / name / "mlp" / "trace.json.gz").read_text(encoding="utf-8") == "trace"
    assert not (whole / "1.0" / "recordings").exists()


def test_links_follow_and_text_does_not(whole: Path) -> None:
    (name,) = share(whole / "1.0", whole)
    assert links.broken(whole) == []
    start = (whole / "1.0" / "index.html").read_text(encoding="utf-8")
    assert f'href="../recordings/{name}/mlp/trace.json.gz"' in start
    assert f"<code>recordings/{NAME}/</code>" in start
    twin = (whole / "1.0" / "stages" / "mlp" / "index.html.md").read_text(encoding="utf-8")
    assert twin == f"[b](../../../recordings/{name}/environment.json) docs/recordings/{NAME}/mlp"
    assert (whole / "1.0" / "llms.txt").read_text(encoding="utf-8") == f"[b](../recordings/{name}/environment.json)"


def test_the_folders_name_changes_with_a_byte_and_with_the_name_of_a_file(whole: Path) -> None:
    recording = whole / "1.0" / "recordings" / NAME
    names = [name_of(recording, whole / "first"), name_of(recording, whole / "same")]
    (recording / "environment.json").write_text("{ }", encoding="utf-8")
    names.append(name_of(recording, whole / "byte"))
    (recording / "environment.json").rename(recording / "machine.json")
    names.append(name_of(recording, whole / "name"))
    assert names[0] == names[1] and len(set(names)) == 3


def name_of(recording: Path, copy: Path) -> str:
    shutil.copytree(recording, copy / "recordings" / NAME)
    (copy / "llms.txt").write_text("", encoding="utf-8")
    (name,) = share(copy, copy / "shared")
    return name


def test_a_link_to_a_file_that_the_recording_lacks_is_found_before_it_is_published(whole: Path) -> None:
    (whole / "1.0" / "recordings" / NAME / "environment.json").unlink()
    share(whole / "1.0", whole)
    assert [problem.why for problem in links.broken(whole)] == ["there is no such file"]
