"""The commands about traces: `inspect`, `diff` and `export`. Each parses, calls one function and prints."""

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from build_traces import difference, difference_report, inspect_report, inspection, ladder, recording
from build_traces import export as exporting
from build_traces.errors import RecordingError
from build_traces.terminal import ascii_json, console, plural
from build_traces.trace import MAX_BYTES

PROGRESS_BYTES = 50_000_000

app = typer.Typer()

AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON, for machines.")]
MaxGb = Annotated[
    float, typer.Option("--max-gb", min=0.001, help="Refuse a trace that unpacks to more than this many GB.")
]
Snippets = Annotated[Path, typer.Option("--snippets", help="The folder of snippets and ladder.toml.")]

SNIPPETS = Path("snippets")
MAX_GB = MAX_BYTES / 1e9


@app.command("inspect")
def inspect_command(
    trace: Annotated[Path, typer.Argument(help="A PyTorch profiler trace, .json or .json.gz.")],
    as_json: AsJson = False,
    max_gb: MaxGb = MAX_GB,
) -> None:
    """Say what a PyTorch trace holds: steps, kernels, launches, where the GPU idles and behind which op."""
    with _reading(trace) as progress:
        found = inspection.inspect(trace, int(max_gb * 1e9), progress)
    if as_json:
        typer.echo(ascii_json(found))
    else:
        _print(inspect_report.report(found))


@app.command("diff")
def diff_command(
    a: Annotated[Path, typer.Argument(help="A trace, a folder of a recording, or an export.")],
    b: Annotated[Path, typer.Argument(help="Another one of the same kind.")],
    as_json: AsJson = False,
    max_gb: MaxGb = MAX_GB,
    snippets: Snippets = SNIPPETS,
) -> None:
    """Compare two traces or two recordings: kernels gone, new and changed, and the time of each."""
    sources = []
    for path in (a, b):
        with _reading(path) as progress:
            sources.append(difference.open_source(path, snippets, int(max_gb * 1e9), progress))
    found = difference.between(sources[0], sources[1], str(a), str(b))
    if as_json:
        typer.echo(ascii_json(found))
    else:
        _print(difference_report.report(found))


@app.command("export")
def export_command(
    name: Annotated[str | None, typer.Argument(help="Which recording; the only one without it.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Where to write it; a name with .gz is packed. RECORDING.json.gz without it."),
    ] = None,
    out_folder: Annotated[Path, typer.Option("--out", help="The folder of recordings.")] = recording.RECORDINGS,
    snippets: Snippets = SNIPPETS,
) -> None:
    """Write a recording as one JSON file without traces, to be set beside another machine's with `diff`."""
    folder = out_folder / name if name else _only_recording(out_folder)
    exported = exporting.export(recording.open_recording(folder), ladder.load(snippets))
    path = file or Path(f"{exported.recording}.json.gz")
    raw = exporting.encode(exported)
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)  # so that two exports of one recording are equal
    try:
        path.write_bytes(raw)
    except OSError as error:
        hint = "give another place with --file"
        raise RecordingError("", f"{path} cannot be written: {error.strerror}", hint=hint) from error
    typer.echo(f"{path}: {plural(len(exported.stages), 'stage')}, {len(raw) / 1e3:.0f} kB")
    for stage, why in exported.left_out.items():
        typer.echo(f"  left out {stage}, {why}")


def _only_recording(out_folder: Path) -> Path:
    found = sorted(path.parent for path in out_folder.glob(f"*/{recording.ENVIRONMENT_FILE}"))
    if len(found) == 1:
        return found[0]
    if not found:
        hint = "on a GPU machine: python -m build_traces record"
        raise RecordingError("", f"there is no recording in {out_folder}", hint=hint)
    names = ", ".join(folder.name for folder in found)
    raise RecordingError("", f"there are {len(found)} recordings in {out_folder}", hint=f"name one of {names}")


def _print(parts: Iterable[RenderableType]) -> None:
    screen = console(sys.stdout)
    for part in parts:
        screen.print(part)


@contextmanager
def _reading(path: Path) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on stderr while a large file is read."""
    size = path.stat().st_size if path.is_file() else 0
    if size <= PROGRESS_BYTES:
        yield None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=size)
        yield lambda read: bar.update(task, completed=read)
