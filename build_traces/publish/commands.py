"""The commands that publish. What they do is imported when one runs: reading a trace needs neither mike nor git."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from build_traces.publish.branch import Branch

SITE_URL = "SITE_URL"
app = typer.Typer()
versions_app = typer.Typer(no_args_is_help=True, help="See the versions on the branch that is served, and change them.")
app.add_typer(versions_app, name="versions")
out = Console(highlight=False, soft_wrap=True)

Version = Annotated[str, typer.Argument(help="Its name: 1.2, or main.")]


@app.command("plain")
def plain_command(site: Annotated[Path, typer.Argument(help="The folder of the built site.")]) -> None:
    """Write the site's pages as plain Markdown, and llms.txt."""
    from build_traces import plain  # noqa: PLC0415 - imported when it runs

    plain.write(site)
    out.print(f"{site}: {plain.INDEX} and the pages' Markdown are written", markup=False)


@app.command("deploy")
def deploy_command(
    version: Version,
    alias: Annotated[str, typer.Argument(help="`latest`, if readers should be sent to this version.")] = "",
) -> None:
    """Build the guide as it is committed, and put it on the branch gh-pages as a version; nothing is pushed."""
    from build_traces.publish.branch import Branch  # noqa: PLC0415 - imported when it runs
    from build_traces.publish.deploy import deploy  # noqa: PLC0415 - imported when it runs
    from build_traces.publish.edition import LATEST  # noqa: PLC0415 - imported when it runs

    if alias not in ("", LATEST):
        raise typer.BadParameter(f"the only alias is {LATEST}", param_hint="ALIAS")
    branch = Branch()
    done = deploy(version, branch, latest=bool(alias), site_url=os.environ.get(SITE_URL, ""))
    out.print(f"{done.version}: {done.pages} pages on {branch.name}", markup=False)
    for name in done.shared:
        out.print(f"  recordings/{name}", markup=False)
    for page in done.left_out:
        out.print(f"  left out: {page}, a draft", markup=False)
    out.print(f"next: git push origin {branch.name}", markup=False)


@versions_app.command("list")
def list_command() -> None:
    """Show the versions, with the GPU and the commit of each."""
    from build_traces.publish.branch import Branch  # noqa: PLC0415 - imported when it runs

    published = Branch().published()
    for version in published:
        named = version.version + (f" “{version.title}”" if version.title != version.version else "")
        out.print(f"{named}{' (latest)' if version.latest else ''}", markup=False)
        out.print(f"  {version.properties.published}, commit {version.properties.commit[:10]}", markup=False)
        out.print(f"  {version.properties.recording}", markup=False)
    if not published:
        out.print("there is no version yet; next: nox -s deploy -- VERSION latest", markup=False)


@versions_app.command("remove")
def remove_command(version: Version) -> None:
    """Take a version away, and what only it linked to."""
    branch = _updated()
    branch.remove(version)
    _next(branch, f"{version} is removed")


@versions_app.command("retitle")
def retitle_command(version: Version, title: Annotated[str, typer.Argument(help="What readers see.")]) -> None:
    """Call a version something else; its address stays."""
    branch = _updated()
    branch.retitle(version, title)
    _next(branch, f"{version} is called {title}")


@versions_app.command("latest")
def latest_command(version: Version) -> None:
    """Send readers to this version."""
    branch = _updated()
    branch.make_latest(version)
    _next(branch, f"{version} is the latest")


def _updated() -> "Branch":
    from build_traces.publish.branch import Branch  # noqa: PLC0415 - imported when it runs

    branch = Branch()
    branch.update()
    return branch


def _next(branch: "Branch", done: str) -> None:
    out.print(f"{done} on {branch.name}", markup=False)
    out.print(f"next: git push origin {branch.name}", markup=False)
