"""All or nothing: a folder or file is made beside its place and moved there when whole."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def half_made_folder(target: Path) -> Iterator[Path]:
    """A new empty folder that takes the place of `target` at the end, or vanishes on any error."""
    made = target.with_name(f".{target.name}.half-made")
    replaced = target.with_name(f".{target.name}.replaced")
    if replaced.exists() and not target.exists():  # an earlier run was killed between the two moves
        replaced.rename(target)
    for leftover in (made, replaced):
        shutil.rmtree(leftover, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        yield made
        if target.exists():
            target.rename(replaced)
        try:
            made.rename(target)
        except OSError:
            if replaced.exists():
                replaced.rename(target)
            raise
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def write_whole(target: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the new one, whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_name(f".{target.name}.half-made")
    try:
        made.write_bytes(content)
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
