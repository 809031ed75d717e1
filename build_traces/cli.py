"""The command line, `python -m build_traces`: it parses, calls one function, prints, and sets the exit code."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from build_traces import check as site_check
from build_traces import (
    freshness,
    ladder,
    links,
    local_kernels,
    notebooks,
    plan,
    record,
    record_sweeps,
    recording,
    two_builds,
    verify,
)
from build_traces import labs as lab_recorder
from build_traces.cli_traces import app as traces
from build_traces.errors import BuildTracesError, RecordingError
from build_traces.processes import Limits
from build_traces.publish.commands import app as publishing
from build_traces.recording import Spread

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__, rich_markup_mode=None
)
app.add_typer(publishing)
app.add_typer(traces)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Stages = Annotated[
    list[str] | None,
    typer.Option("--stages", help="Stages and sweeps to take, separated by commas; all of them without it."),
]
Out = Annotated[Path, typer.Option("--out", help="The folder of recordings.")]
Snippets = Annotated[Path, typer.Option("--snippets", help="The folder of snippets and ladder.toml.")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=1, help="Seconds one process may take.")]
RecordingName = Annotated[
    str | None, typer.Option("--recording", help="A folder of recordings; the only one without it.")
]

SNIPPETS = Path("snippets")


def _select(loaded: ladder.Ladder, stages: list[str] | None) -> tuple[ladder.Recorded, ...]:
    return loaded.select([name for names in stages or [] for name in names.split(",") if name])


@app.command("record")
def record_command(
    stages: Stages = None,
    everything: Annotated[bool, typer.Option("--all", help="Record fresh ones too, not only stale ones.")] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Fresh processes; without it 5 a stage and 3 a sweep.")
    ] = None,
    out_folder: Out = recording.RECORDINGS,
    snippets: Snippets = SNIPPETS,
    time_limit: TimeLimit = 300,
    labs: Annotated[bool, typer.Option("--labs", help="Run the labs, and none of the stages.")] = False,
    only_plan: Annotated[
        bool, typer.Option("--plan", help="Record nothing: print what would run and how long it takes, about.")
    ] = False,
) -> None:
    """Run stages under the profiler on this machine's GPU and keep what it saw."""
    loaded = ladder.load(snippets)
    if labs:
        if stages:
            raise typer.BadParameter("--labs runs no stage: leave out one of the two", param_hint="--stages")
        _record_labs(lab_recorder.Request(notebooks.find(), snippets, everything, Limits(time_limit)))
        return
    request = record.Request(
        ladder=loaded,
        out=out_folder,
        stages=_select(loaded, stages),
        everything=everything,
        processes=processes or record.PROCESSES,
        sweep_processes=processes or record_sweeps.PROCESSES,
        limits=Limits(time_limit),
    )
    if only_plan:
        for line in plan.lines(request):
            out.print(line, markup=False)
        return
    with _progress() as reporter:
        outcome = record.record(request, reporter)
    out.print(f"recording {outcome.folder.name}: {len(outcome.recorded)} recorded, {len(outcome.failed)} failed")
    if outcome.failed:
        raise RecordingError(
            "",
            f"not recorded: {', '.join(e.stage for e in outcome.failed)}",
            hint="the errors above say why; old recordings are as they were",
        )


def _record_labs(request: lab_recorder.Request) -> None:
    outcome = lab_recorder.record(request, lambda line: err.print(line, markup=False))
    out.print(f"labs: {len(outcome.recorded)} recorded, {len(outcome.failed)} failed")
    if outcome.failed:
        hint = "the errors above say why; old notebooks are as they were"
        raise RecordingError("", f"labs that were not recorded: {len(outcome.failed)}", hint=hint)


@app.command("draft-labs")
def draft_labs_command() -> None:
    """Write the notebooks of labs that are stale or missing, without outputs, until a GPU has run them."""
    for lab in notebooks.write_drafts(notebooks.find()):
        out.print(f"{lab.notebook}: a draft, until python -m build_traces record --labs has run it", markup=False)


@app.command("verify")
def verify_command(
    stages: Stages = None,
    processes: Annotated[int, typer.Option(min=1, help="Fresh processes a stage.")] = 1,
    out_folder: Out = recording.RECORDINGS,
    snippets: Snippets = SNIPPETS,
    time_limit: TimeLimit = 300,
) -> None:
    """Run stages again and compare with the committed recording; exit 1 on drift."""
    loaded = ladder.load(snippets)
    with _progress() as reporter:
        drifts = verify.verify(loaded, _select(loaded, stages), out_folder, processes, Limits(time_limit), reporter)
    for stage, found in drifts.items():
        out.print(
            f"{stage}: "
            + ("as recorded" if not found else f"{len(found)} {'difference' if len(found) == 1 else 'differences'}"),
            markup=False,
        )
        for drift in found:
            out.print(f"  {drift}", markup=False)
    if any(drifts.values()):
        raise typer.Exit(1)


@app.command("list")
def list_command(
    name: RecordingName = None, out_folder: Out = recording.RECORDINGS, snippets: Snippets = SNIPPETS
) -> None:
    """Show the stages and sweeps, whether their recording is fresh, stale or missing, and why."""
    loaded = ladder.load(snippets)
    folders = _recordings(out_folder, name)
    for folder in folders:
        environment = recording.open_recording(folder).environment
        machine = environment.machine
        table = Table(
            title=f"{folder.name}\n{environment.stamp}\n{machine}", box=None, title_justify="left", pad_edge=False
        )
        for column in ("stage", "state", "why"):
            table.add_column(column, overflow="fold")
        for status in freshness.statuses(loaded, folder, machine):
            table.add_row(status.stage.name, status.state.value, status.why)
        out.print(table)
    _list_labs()


def _list_labs() -> None:
    labs = Table(box=None, pad_edge=False)
    for column in ("lab", "state", "why"):
        labs.add_column(column, overflow="fold")
    for status in map(notebooks.status, notebooks.find()):
        labs.add_row(str(status.lab.notebook), status.state.value, status.why)
    if labs.row_count:
        out.print(labs)


def _recordings(out_folder: Path, name: str | None) -> list[Path]:
    if name:
        return [out_folder / name]
    found = sorted(path.parent for path in out_folder.glob(f"*/{recording.ENVIRONMENT_FILE}"))
    if not found:
        raise RecordingError(
            "", f"there is no recording in {out_folder}", hint="on a GPU machine: python -m build_traces record"
        )
    return found


@app.command("this-machine")
def this_machine_command(snippets: Snippets = SNIPPETS) -> None:
    """Print the name that a recording made on this machine has."""
    typer.echo(record.this_machine(record.Request(ladder=ladder.load(snippets), out=Path(), stages=())))


@app.command("local-kernels")
def local_kernels_command(
    folder: Annotated[Path, typer.Argument(help="Where to make the kernel folder.")] = Path(".kernels/liger-kernels"),
) -> None:
    """Build a local kernel folder from the installed liger-kernel and print the value for LOCAL_KERNELS."""
    typer.echo(local_kernels.local_kernels_value(local_kernels.build(folder)))


@app.command("check")
def check_command(site: Annotated[Path, typer.Argument(help="The folder of the built site.")]) -> None:
    """Search the built site for what was not rendered and for broken links; exit 1 if anything is found."""
    problems = [*site_check.check_site(site), *links.broken(site)]
    for problem in problems:
        out.print(str(problem), markup=False)
    if problems:
        raise typer.Exit(1)
    out.print(f"{site}: nothing left unrendered, no broken link")
    for page in site_check.drafts(site):
        out.print(f"{page}: a draft, which waits for stages to be recorded", markup=False)


@app.command("compare-builds")
def compare_builds_command(
    site: Annotated[Path, typer.Argument(help="The folder of the built site.")],
    other: Annotated[Path, typer.Argument(help="The same site, built by another builder.")],
) -> None:
    """Compare the pages of two builds: facts, verdicts, text; exit 1 if one says anything else. Links are listed."""
    compared = two_builds.compare(site, other)
    for difference in compared.listed:
        out.print(f"differs: {difference}", markup=False)
    for difference in compared.wrong:
        out.print(f"WRONG {difference}", markup=False)
    out.print(
        f"{compared.pages} pages with {compared.facts} facts and {compared.verdicts} verdicts: "
        f"{len(compared.wrong)} wrong, {len(compared.listed)} listed"
    )
    if compared.wrong:
        raise typer.Exit(1)


class _Bar:
    """Shows a recording on the console; a line a stage where it is no terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = TaskID(0)

    def planned(self, name: str, stages: int, processes: int) -> None:
        self._progress.start()
        self._progress.console.print(f"{name}: {stages} stages to record", markup=False)
        self._task = self._progress.add_task("starting", total=processes)

    def running(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def process_done(self) -> None:
        self._progress.advance(self._task)

    def stage_done(self, stage: str, time_us: Spread) -> None:
        times = f"{time_us.median:.1f} µs ({time_us.low:.1f}–{time_us.high:.1f})"
        self._progress.console.print(f"recorded {stage:24} {times}", markup=False)

    def sweep_done(self, sweep: str, graphs: int, first_calls_ms: Spread) -> None:
        times = f"{first_calls_ms.median / 1e3:.2f} s ({first_calls_ms.low / 1e3:.2f}–{first_calls_ms.high / 1e3:.2f})"
        self._progress.console.print(f"recorded {sweep:24} {graphs} graphs, first calls {times}", markup=False)

    def stage_failed(self, error: RecordingError) -> None:
        self._progress.console.print(f"FAILED {error}", markup=False)


@contextmanager
def _progress() -> Iterator[_Bar]:
    columns = (
        TextColumn("{task.description:44}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    progress = Progress(*columns, console=err)
    try:
        yield _Bar(progress)
    finally:
        if progress.live.is_started:
            progress.stop()


def main() -> None:
    """Run a command; an error of ours is printed without a traceback, exit code 1."""
    try:
        app()
    except BuildTracesError as error:
        err.print(f"error: {error}", markup=False)
        raise SystemExit(1) from None
