"""What is to be written, as a value; and writing it so that all of it is there at the end, or none."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from build_traces.half_made import write_whole
from build_traces.new import NewError

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Plan:
    """Files by their path in the repository: those that are made, and those that get more lines."""

    made: Mapping[Path, str]
    changed: Mapping[Path, str]
    next_step: str

    @property
    def files(self) -> dict[Path, str]:
        return {**self.made, **self.changed}


def fill(template: str, values: Mapping[str, object]) -> str:
    """A file of templates/ with its `$names` replaced."""
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)


def read(root: Path, path: Path) -> str:
    """A file that the plan adds to. Raises NewError."""
    try:
        return (root / path).read_text(encoding="utf-8")
    except OSError as error:
        raise NewError(
            f"cannot be read: {error.strerror}", where=str(root / path), hint="run from the root of the repository"
        ) from error


def write(plan: Plan, root: Path) -> None:
    """Write all files; on any error those that were made are removed, and the others as they were. Raises NewError."""
    for path in plan.made:
        if (root / path).exists():
            raise NewError("there is such a file already", where=str(path), hint="choose another name, or edit it")
    before = {path: read(root, path) for path in plan.changed}
    done: list[Path] = []
    try:
        for path, text in plan.files.items():
            done.append(path)
            write_whole(root / path, text.encode())
    except BaseException:
        for path in done:
            if path in before:
                write_whole(root / path, before[path].encode())
            else:
                (root / path).unlink(missing_ok=True)
        raise
