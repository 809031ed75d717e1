"""Real git repositories in temporary folders."""

from pathlib import Path

import pytest

from publish.served import Served, git


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A repository with one commit on main, and no branch of versions yet."""
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    git("init", "-q", "-b", "main")
    git("config", "user.name", "A maintainer")
    git("config", "user.email", "maintainer@example.org")
    (root / "README.md").write_text("# Guide\n", encoding="utf-8")
    git("add", "-A")
    git("commit", "-qm", "Begin")
    return Served(root)
