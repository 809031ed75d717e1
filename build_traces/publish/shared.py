"""Recordings stand once beside the versions, in a folder named by what is in it, and not once in each version.

    1.0/stages/mlp_eager/index.html  ──links to──▶  recordings/nvidia-h200_torch-2.11.0-3f2a…/mlp_eager/trace.json.gz

All links stay relative, so that the branch works from any address and as a plain folder. Pages must name recordings in
attributes, as `href` or `data-…`: an address that a script puts together cannot be rewritten.
"""

import hashlib
import re
import shutil
from pathlib import Path
from urllib.parse import quote

from build_traces.plain import INDEX, TWIN

FOLDER = "recordings"
HASH_LENGTH = 12
BEFORE_A_LINK = r"(?<![\w./>-])"
"""A quote or a bracket, and not the part of a longer path."""


def share(site: Path, shared: Path) -> tuple[str, ...]:
    """Move the recordings of a built site into folders of `shared`, and its links with them; the folders' names."""
    made = {}
    for recording in sorted((site / FOLDER).glob("*/")):
        made[recording.name] = f"{recording.name}-{_digest(recording)}"
        target = shared / FOLDER / made[recording.name]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(recording, target)
    shutil.rmtree(site / FOLDER, ignore_errors=True)
    for page in (*site.rglob("*.html"), *site.rglob(TWIN), site / INDEX):
        _relink(page, len(page.relative_to(site).parts) - 1, made)
    return tuple(made.values())


def _digest(folder: Path) -> str:
    """Over the names and the contents of all files."""
    sha = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        sha.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()[:HASH_LENGTH]


def _relink(page: Path, depth: int, names: dict[str, str]) -> None:
    """Links to a recording in the site go one folder further up, to the one beside the version."""
    written = page.read_text(encoding="utf-8")
    here = "../" * depth + f"{FOLDER}/"
    for name, shared in names.items():
        written = re.sub(BEFORE_A_LINK + re.escape(f"{here}{quote(name)}/"), f"../{here}{quote(shared)}/", written)
    page.write_text(written, encoding="utf-8")
