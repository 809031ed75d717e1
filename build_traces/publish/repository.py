"""The repository that is published from: is it clean, at which commit, and who commits?"""

import os
import subprocess
from datetime import UTC, datetime

from build_traces.publish import PublishError


def git(*arguments: str) -> str:
    """What a git command prints. Raises PublishError."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = done.stderr.strip().removeprefix("fatal: ") or f"git {arguments[0]} ended with {done.returncode}"
        raise PublishError(message, where="git")
    return done.stdout.rstrip("\n")


def refuse_dirty() -> None:
    """Raises PublishError if a version built from the working tree would not be that of its commit."""
    changed = git("status", "--porcelain").splitlines()
    if changed:
        shown = ", ".join(line[3:] for line in changed[:3]) + (", …" if len(changed) > 3 else "")
        message = f"the working tree differs from the commit that the version would name: {shown}"
        raise PublishError(message, hint="commit these changes, or put them aside with git stash --include-untracked")


def refuse_nameless() -> None:
    """Raises PublishError if git would not know who commits to the branch of versions."""
    for key in ("name", "email"):
        if os.environ.get(f"GIT_COMMITTER_{key.upper()}"):
            continue
        found = subprocess.run(["git", "config", f"user.{key}"], capture_output=True, text=True, check=False)
        if not found.stdout.strip():
            message = f"git does not know your {key}, and a version is a commit"
            raise PublishError(message, hint='git config user.name "…" and git config user.email "…"')


def head() -> tuple[str, str]:
    """The commit that is checked out, and its time in UTC as in RFC 3339."""
    commit, seconds = git("show", "--no-patch", "--format=%H %ct", "HEAD").split()
    return commit, datetime.fromtimestamp(int(seconds), UTC).isoformat()
