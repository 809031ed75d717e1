"""The folder of this repository that a snippet loads a kernel from, as `kernels` lays it out."""

from pathlib import Path

from build_traces.errors import LadderError

BUILD = "build"
"""The part of a kernel's folder that runs; the rest tells people about it."""


def kernel_folder(who: str, folder: str, snippets: Path, path: Path) -> Path:
    """The folder that ladder.toml, at `path`, names from the root of the repository. Raises LadderError."""
    kernel = snippets.parent / folder
    if not (kernel / BUILD).is_dir():
        raise LadderError(
            f"{who} has kernel = {folder!r}, and there is no kernel",
            where=str(path),
            hint=f"name the folder that holds {BUILD}/, from the root of the repository",
        )
    return kernel


def kernel_files(kernel: Path | None) -> tuple[Path, ...]:
    """What runs of it, without bytecode, which importing the kernel leaves behind."""
    if kernel is None:
        return ()
    found = (kernel / BUILD).rglob("*")
    return tuple(sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts))
