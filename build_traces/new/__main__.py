"""The command line, `python -m build_traces.new`: it parses, plans, writes, and says what to do next."""

from pathlib import Path
from typing import Annotated

import typer

from build_traces.errors import BuildTracesError
from build_traces.new.chapter import Chapter
from build_traces.new.chapter import plan as plan_chapter
from build_traces.new.plan import Plan, write
from build_traces.new.shown import plan as plan_shown
from build_traces.new.stage import Stage
from build_traces.new.stage import plan as plan_stage

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, rich_markup_mode=None)

Root = Annotated[Path, typer.Option("--root", help="The repository.")]
Title = Annotated[str, typer.Option("--title", help="What pages call it; made from the name without it.")]


@app.command("stage")
def stage_command(
    name: Annotated[str, typer.Argument(help="The snippet's name, such as mlp_swiglu.")],
    title: Title = "",
    against: Annotated[str, typer.Option("--against", help="The stage that its time is set against.")] = "mlp_eager",
    root: Root = Path(),
) -> None:
    """Make a stage: its snippet, its entry in the ladder, its page (a draft), and its test."""
    _make(plan_stage(root, Stage(name, title, against)), root)


@app.command("chapter")
def chapter_command(
    name: Annotated[str, typer.Argument(help="The page's name, such as a-sum-in-the-loop.")],
    stage: Annotated[str, typer.Option("--stage", help="The stage that the chapter is about.")],
    title: Title = "",
    root: Root = Path(),
) -> None:
    """Make a chapter: its page (a draft), its claims and exercises, and the second route to their answers."""
    _make(plan_chapter(root, Chapter(name, title, stage)), root)


@app.command("shown")
def shown_command(
    name: Annotated[str, typer.Argument(help="A folder of docs/recordings.")],
    root: Root = Path(),
) -> None:
    """Show another recording: name it in mkdocs.yml, and pin what it was made with."""
    _make(plan_shown(root, name), root)


def _make(plan: Plan, root: Path) -> None:
    write(plan, root)
    for path in plan.files:
        typer.echo(f"{'made' if path in plan.made else 'changed'} {path}")
    typer.echo(f"next: {plan.next_step}")


def main() -> None:
    """Run a command; an error of ours is printed without a traceback, exit code 1."""
    try:
        app()
    except BuildTracesError as error:
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
