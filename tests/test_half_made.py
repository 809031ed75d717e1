"""A folder or file is replaced whole or not at all."""

import errno
from pathlib import Path

import pytest

from build_traces.half_made import half_made_folder, write_whole


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "stage"
    target.mkdir()
    (target / "old").write_text("old")
    with half_made_folder(target) as made:
        (made / "new").write_text("new")
        assert (target / "old").exists(), "until then the old one stands"
    assert [p.name for p in target.iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["stage"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_any_error_leaves_the_old_folder(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "stage"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(type(error)), half_made_folder(target) as made:
        (made / "new").write_text("new")
        raise error
    assert [p.name for p in tmp_path.iterdir()] == ["stage"]
    assert (target / "old").read_text() == "old"


def test_a_failing_move_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "stage"
    target.mkdir()
    (target / "old").write_text("old")
    rename = Path.rename

    def failing(self: Path, to: Path) -> Path:
        if self.name.endswith("half-made"):
            raise OSError(errno.EIO, "broken")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="broken"), half_made_folder(target):
        pass
    assert (target / "old").read_text() == "old"


def test_a_run_killed_between_the_moves_is_mended_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".stage.replaced").mkdir()
    (tmp_path / ".stage.replaced" / "old").write_text("old")
    (tmp_path / ".stage.half-made").mkdir()
    with pytest.raises(ValueError, match="again"), half_made_folder(tmp_path / "stage"):
        raise ValueError("again")
    assert (tmp_path / "stage" / "old").read_text() == "old"


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "deep" / "file"
    write_whole(target, b"old")
    write = Path.write_bytes

    def cut_short(self: Path, data: bytes) -> int:
        write(self, data[:1])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "write_bytes", cut_short)
    with pytest.raises(OSError, match="full"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in target.parent.iterdir()] == ["file"]
