"""Make a local kernel folder from the installed liger-kernel, for machines that cannot reach the Hub.

For whoever records. `snippets/mlp_liger.py` asks `kernels.get_kernel` for version 1 of
`kernels-community/liger-kernels`; with `LOCAL_KERNELS` set to `local_kernels_value(build(folder))`
the same call loads the folder instead of the Hub's. `origin` says which of the two a recording used.

The folder has the modules of the Hub's version 1 that GeGLU needs, under the same names
(`layers.LigerGEGLUMLP`, `geglu.LigerGELUMulFunction`), copied from the package and not imported
from it: only import lines change. Building reads files and imports neither torch nor liger_kernel.
"""

import ast
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from build_traces.errors import BuildTracesError

REPO = "kernels-community/liger-kernels"
HUB_VERSION = 1
"""The last version whose LigerGEGLUMLP has a constructor, so the one the snippet asks for."""
LIGER_VERSION = "0.8.5"
LICENCES = f"liger_kernel-{LIGER_VERSION}.dist-info/licenses"
OWN_IMPORT = re.compile(r"^\s*(?:from|import)\s+liger_kernel\b.*$", re.MULTILINE)

# The one variant that kernels picks for CUDA builds and for CPU builds of torch alike, so that the
# tests without a GPU load what the recording loads. It is no backend type, though: metadata.json
# names the backend that the kernels are compiled for, which is not compared with the machine.
VARIANT = "build/torch-universal"
METADATA = f"{VARIANT}/metadata.json"
BACKEND = "cuda"
BUILT_FROM = "built-from"

BUILD_HINT = "run: python -m build_traces local-kernels"
INSTALL_HINT = f"run: python -m pip install liger-kernel=={LIGER_VERSION}"


class LocalKernelError(BuildTracesError):
    """For the operator of a recording: what is wrong with the local kernel folder or its source."""


@dataclass(frozen=True)
class KernelOrigin:
    """Where `get_kernel` takes the Liger layers from, as environment.json records it."""

    repo: str
    kind: Literal["hub", "local"]
    detail: str


@dataclass(frozen=True)
class Inline:
    """Definitions of another file of the package that stand where its import stood."""

    source: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Copy:
    """One module of the folder: the file it is copied from, and what stands for its imports there."""

    name: str
    source: str
    imports: Mapping[str, str | Inline]


COPIES = (
    Copy(
        "geglu.py",
        "liger_kernel/ops/geglu.py",
        {
            "from liger_kernel.ops.utils import calculate_settings": "from .utils import calculate_settings",
            "from liger_kernel.ops.utils import compare_version": "from .utils import compare_version",
            "from liger_kernel.ops.utils import device_context": "from .utils import device_context",
            "from liger_kernel.ops.utils import ensure_contiguous": "from .utils import ensure_contiguous",
            "from liger_kernel.utils import is_npu_available": "from .utils import is_npu_available",
        },
    ),
    Copy(
        "layers.py",
        "liger_kernel/transformers/geglu.py",
        {"from liger_kernel.ops import LigerGELUMulFunction": "from .geglu import LigerGELUMulFunction"},
    ),
    # Two functions and not the file they are in, as on the Hub: the file also imports peft, and
    # with it transformers, which takes seconds where they are installed.
    Copy(
        "utils.py",
        "liger_kernel/ops/utils.py",
        {
            "from liger_kernel.utils import infer_device": Inline(
                "liger_kernel/utils.py", ("is_npu_available", "infer_device")
            )
        },
    ),
)

INIT = f"""\
# Made by build_traces from liger-kernel {LIGER_VERSION}: the part of {REPO} that GeGLU needs.
from . import layers

__all__ = ["layers"]
"""

NOTICE = """\
# Copied from liger-kernel {version}, {source}; only imports of the package itself are changed.
# Copyright 2024 LinkedIn Corporation, BSD 2-Clause License: see LICENSE and NOTICE in this folder.

"""


def build(target: Path) -> Path:
    """Make the kernel folder at `target` and return it, as `LOCAL_KERNELS` should name it.

    All or nothing: an older build there is replaced only once the new one is whole. Raises
    LocalKernelError where liger-kernel is absent, is another version or is not laid out as
    expected, and where `target` holds something else or cannot be written.
    """
    files = _folder_files(_liger())
    target = target.resolve()  # so that a link stays a link, and what it names is replaced
    if target.exists() and not _may_replace(target):
        raise LocalKernelError(
            "there is something here that is not a local kernel folder of this project",
            where=str(target),
            hint="name another folder, or remove this one yourself",
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A sibling, because a rename is atomic only within one file system.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as staging:
            fresh = Path(staging, "new")
            for name, content in files.items():
                path = fresh / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            _swap(fresh, target, old=Path(staging, "old"))
    except OSError as error:
        raise LocalKernelError(
            f"cannot write the local kernel folder: {error.strerror or error}",
            where=str(target),
            hint="name a folder that can be written",
        ) from error
    return target


def local_kernels_value(folder: Path) -> str:
    """The value of `LOCAL_KERNELS` that makes `get_kernel` load `folder`.

    Raises LocalKernelError where the path has a colon: `kernels` takes it for the next pair.
    """
    path = str(folder.resolve())
    if ":" in path:
        raise LocalKernelError(
            "LOCAL_KERNELS cannot name a path with a colon in it",
            where=path,
            hint="build into another folder",
        )
    return f"{REPO}={path}"


def origin(environ: Mapping[str, str] = os.environ) -> KernelOrigin:
    """Say, for environment.json, where `get_kernel` takes the Liger layers from under `environ`.

    Asks the network nothing. For the Hub it is the revision that this process has loaded, or the
    only one of version 1 in the cache, else the version. Raises LocalKernelError where
    `LOCAL_KERNELS` is malformed, or names a folder that is absent, holds no kernel, or was
    changed after it was built.
    """
    value = environ.get("LOCAL_KERNELS")
    folder = None if value is None else _local_folders(value).get(REPO)
    if folder is not None:
        return KernelOrigin(REPO, "local", _local_detail(folder))
    revision = _loaded_revision() or _cached_revision(environ)
    return KernelOrigin(REPO, "hub", f"revision {revision}" if revision else f"version {HUB_VERSION}")


def _liger() -> metadata.Distribution:
    """The installed liger-kernel, if it is the version whose layout `COPIES` describes."""
    try:
        liger = metadata.distribution("liger-kernel")
    except metadata.PackageNotFoundError as error:
        raise LocalKernelError("liger-kernel is not installed", hint=INSTALL_HINT) from error
    if liger.version != LIGER_VERSION:
        raise LocalKernelError(
            f"liger-kernel {liger.version} is installed, {LIGER_VERSION} is expected", hint=INSTALL_HINT
        )
    return liger


def _folder_files(liger: metadata.Distribution) -> dict[str, bytes]:
    """Every file of the folder by its path there; equal for equal packages, byte for byte."""
    texts = {copy.name: _copied(liger, copy) for copy in COPIES}
    texts["__init__.py"] = INIT
    texts |= {name: _source(liger, f"{LICENCES}/{name}") for name in ("LICENSE", "NOTICE")}
    files = {f"{VARIANT}/{name}": texts[name].encode() for name in sorted(texts)}
    digest = _sha256(files)
    described = {
        "name": "liger-kernels",
        # It becomes the module's name in sys.modules, so other contents need another id.
        "id": f"liger_kernels_local_{digest[:12]}",
        "version": HUB_VERSION,
        "license": "BSD-2-Clause",
        "python-depends": [],
        "backend": {"type": BACKEND},
        BUILT_FROM: {"liger-kernel": LIGER_VERSION, "sha256": digest},
    }
    files[METADATA] = (json.dumps(described, indent=2) + "\n").encode()
    return files


def _copied(liger: metadata.Distribution, copy: Copy) -> str:
    """The text of one module: the package's file with its imports rewritten."""
    lines = _source(liger, copy.source).split("\n")
    for line, becomes in copy.imports.items():
        if lines.count(line) != 1:
            raise _unexpected(copy.source, f"the line `{line}` is not there once")
        at = lines.index(line)
        lines[at] = becomes if isinstance(becomes, str) else "\n" + _definitions(liger, becomes)
    text = "\n".join(lines)
    if left := OWN_IMPORT.search(text):
        raise _unexpected(copy.source, f"it also has the line `{left[0].strip()}`")
    return NOTICE.format(version=LIGER_VERSION, source=copy.source) + text


def _definitions(liger: metadata.Distribution, inline: Inline) -> str:
    """The source of top-level functions as it stands in the package."""
    text = _source(liger, inline.source)
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    # A decorator is no part of a function's source segment: without it, it is not the same function.
    found = {node.name: ast.get_source_segment(text, node) for node in nodes if not node.decorator_list}
    for name in inline.names:
        if not found.get(name):
            raise _unexpected(inline.source, f"it has no plain function {name}")
    return "\n\n\n".join(str(found[name]) for name in inline.names)


def _source(liger: metadata.Distribution, path: str) -> str:
    try:
        # Bytes, so that line endings stay as they are.
        return Path(str(liger.locate_file(path))).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise _unexpected(path, f"it cannot be read ({type(error).__name__})") from error


def _unexpected(path: str, what: str) -> LocalKernelError:
    return LocalKernelError(
        f"not as in liger-kernel {LIGER_VERSION}, which is expected: {what}", where=path, hint=INSTALL_HINT
    )


def _may_replace(target: Path) -> bool:
    """Only an older build or an empty folder; a mistyped path must not cost anyone their files."""
    if not target.is_dir():
        return False
    return not any(target.iterdir()) or BUILT_FROM in _described(target)


def _swap(fresh: Path, target: Path, *, old: Path) -> None:
    """Put `fresh` where `target` is, and `target` back should that fail."""
    if target.exists():
        target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise


def _local_folders(value: str) -> dict[str, Path]:
    """The pairs of `LOCAL_KERNELS`, split where kernels splits them; the last of a name counts."""
    folders: dict[str, Path] = {}
    for entry in value.split(":"):
        repo, _, path = entry.partition("=")
        if not repo or not path:
            raise LocalKernelError(
                f"LOCAL_KERNELS should read org/name=path, more of them after colons; this entry does not: {entry!r}",
                hint=f"unset it, or {BUILD_HINT}",
            )
        folders[repo] = Path(path)
    return folders


def _local_detail(folder: Path) -> str:
    if not folder.is_dir():
        raise _unusable(folder, "LOCAL_KERNELS names a folder that does not exist")
    files = _read_files(folder)
    if not any(Path(name).name == "metadata.json" for name in files):
        raise _unusable(folder, "LOCAL_KERNELS names a folder without a kernel")
    built_from = _described(folder).get(BUILT_FROM)
    if not isinstance(built_from, dict):  # someone's own kernel: usable, and not to be called ours
        return f"of unknown origin, sha256 {_sha256(files)}"
    files.pop(METADATA)
    digest = _sha256(files)
    if digest != built_from.get("sha256"):
        raise _unusable(folder, "this local kernel folder was changed after it was built")
    return f"built from liger-kernel {built_from.get('liger-kernel')}, sha256 {digest}"


def _unusable(folder: Path, what: str) -> LocalKernelError:
    return LocalKernelError(what, where=str(folder), hint=BUILD_HINT)


def _described(folder: Path) -> dict[str, Any]:
    """The metadata.json of a folder in the layout that `build` writes, else nothing."""
    try:
        described = json.loads((folder / METADATA).read_bytes())
    except (OSError, ValueError):
        return {}
    return described if isinstance(described, dict) else {}


def _read_files(folder: Path) -> dict[str, bytes]:
    """All files by their path; without bytecode, which importing the kernel leaves behind."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return {path.as_posix(): (folder / path).read_bytes() for path in paths if "__pycache__" not in path.parts}


def _sha256(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return digest.hexdigest()


def _loaded_revision() -> str | None:
    """The Hub's revision in this process; nothing is imported for the question."""
    kernels = sys.modules.get("kernels")
    loaded = kernels.get_loaded_kernels() if kernels else []
    origins = [kernel.repo_info for kernel in loaded if kernel.repo_info]
    return next((str(info.revision) for info in origins if info.repo_id == REPO), None)


def _cached_revision(environ: Mapping[str, str]) -> str | None:
    """The Hub's revision from the cache, if only one of this version is there.

    kernels 0.17.2 downloads by commit, so no ref in the cache says which commit version 1 was.
    """
    snapshots = _cache(environ) / f"kernels--{REPO.replace('/', '--')}" / "snapshots"
    revisions = set()
    for path in snapshots.glob("*/build/*/metadata.json"):
        try:
            version = json.loads(path.read_bytes())["version"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if version == HUB_VERSION:
            revisions.add(path.relative_to(snapshots).parts[0])
    return revisions.pop() if len(revisions) == 1 else None


def _cache(environ: Mapping[str, str]) -> Path:
    """The cache that kernels and huggingface_hub use under `environ`."""
    for name in ("KERNELS_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environ.get(name):
            return Path(environ[name]).expanduser()
    base = Path(environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(environ.get("HF_HOME") or base, "hub").expanduser()
