"""What a second route to an exercise's answer is, and the routes of chapters that have a file of their own."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "routes"

Route = Callable[[], float | set[int] | list[float]]


def right(*options: bool) -> set[int]:
    """The options, from 1, that are right."""
    return {position for position, holds in enumerate(options, start=1) if holds}


def of_chapters(folder: Path = FOLDER) -> Iterator[tuple[str, Route]]:
    """Every entry of ROUTES in routes/<chapter>.py."""
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"routes_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.ROUTES.items()
