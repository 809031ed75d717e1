"""What a person types: `nox -s docs` builds the site, `nox -s tests` passes the tests; the rest are parts of those."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import nox

ROOT = Path(__file__).parent
SITE = "site"
BUILDS = ".builds"
RECORDINGS = Path("docs/recordings")

nox.options.sessions = ["docs", "tests", "lint"]
nox.options.error_on_missing_interpreters = True


class Linter(NamedTuple):
    """A command, what mends what it finds, and the same command where it can mend by itself."""

    name: str
    run: tuple[str, ...]
    mend: str
    fix: tuple[str, ...] = ()


FIX = "nox -s lint -- --fix"
AMERICAN = ("--builtin", "en-GB_to_en-US", "--skip", "docs/recordings,docs/labs,docs/assets")
PROSE = ("docs", *map(str, sorted(Path().glob("*.md"))))
WORKFLOWS = tuple(map(str, sorted(Path(".github/workflows").glob("*.yml"))))
LINTERS = (
    Linter("ruff check", ("ruff", "check", "."), FIX, ("ruff", "check", "--fix", ".")),
    Linter("ruff format", ("ruff", "format", "--check", "."), FIX, ("ruff", "format", ".")),
    Linter("mypy", ("mypy",), "write the types it asks for, at the file and line above"),
    Linter("codespell", ("codespell",), "correct the word, or list it in pyproject.toml with its reason"),
    Linter("American spelling", ("codespell", *AMERICAN, *PROSE), "write the American form that is named above"),
    Linter("prose", ("python", "-m", "build_traces.prose_rules"), "write it as the line below the place says"),
    Linter("rumdl", ("rumdl", "check", "."), f"{FIX}, or correct the Markdown", ("rumdl", "check", "--fix", ".")),
    Linter("oxlint", ("oxlint", "--deny-warnings", "docs/assets"), "correct the script at the line above"),
    Linter("actionlint", ("actionlint", *WORKFLOWS), "correct the workflow at the line above"),
)
CHECKS = {
    "lint": "nox -s lint names it by tool",
    "docs": "correct the page at the file and line above, then nox -s docs",
    "builders": "nox -s builders names the page",
    "tests": "nox -s tests -- PATH::TEST runs one of them alone",
}
"""What CI runs on a pull request, quickest first, and what to do where one fails."""

GROUPS = nox.project.load_toml("pyproject.toml")


def prepare(session: nox.Session, group: str) -> None:
    """Install a dependency group, unless the session runs in the environment it was called from."""
    if session.virtualenv.is_sandboxed:
        session.install("--quiet", "-c", "constraints.txt", *nox.project.dependency_groups(GROUPS, group))
        if group == "record" and (torch_version := os.environ.get("TORCH")):
            session.install("--quiet", f"torch=={torch_version}")  # it brings the triton that goes with it
    session.env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    if epoch := commit_time():
        session.env["SOURCE_DATE_EPOCH"] = epoch  # so that two builds of one commit are byte-identical


def commit_time() -> str:
    """Seconds since 1970 of the commit that is checked out, "" outside git."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def has_gpu() -> bool:
    """Whether the driver lists a GPU."""
    smi = shutil.which("nvidia-smi")
    return bool(smi) and "GPU 0" in subprocess.run([smi, "-L"], capture_output=True, text=True, check=False).stdout


def build_traces(session: nox.Session, *arguments: str, silent: bool = False) -> str:
    """Run `python -m build_traces …`; its output, if silent."""
    return python(session, "-m", "build_traces", *arguments, silent=silent)


def python(session: nox.Session, *arguments: str, silent: bool = False) -> str:
    """Run Python: the session's own, or with --no-venv the one that runs nox."""
    executable = "python" if session.virtualenv.is_sandboxed else sys.executable
    return session.run(executable, *arguments, silent=silent, external=True) or ""


def choose_recording(session: nox.Session) -> None:
    """On a GPU machine record what is stale there and show that; elsewhere show the committed recording."""
    if has_gpu():
        session.log("there is a GPU: what is stale on it is recorded now")
        build_traces(session, "record")
        build_traces(session, "record", "--labs")
        session.env["RECORDING"] = build_traces(session, "this-machine", silent=True).split()[-1]
    else:
        session.log("no GPU here: the site shows the committed recording")
    build_traces(session, "list", *(["--recording", session.env["RECORDING"]] if "RECORDING" in session.env else []))


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into site/; on a GPU machine, from what its GPU does."""
    prepare(session, "record" if has_gpu() else "site")
    choose_recording(session)
    python(session, "-m", "mkdocs", "build", "--strict", "--clean", "--site-dir", SITE)
    build_traces(session, "check", SITE)
    build_traces(session, "plain", SITE)


@nox.session
def builders(session: nox.Session) -> None:
    """Build the site with MkDocs and with Zensical, which is to follow it, and compare the pages."""
    prepare(session, "builders")
    sites = {builder: f"{BUILDS}/{builder}" for builder in ("mkdocs", "zensical")}
    for builder, site in sites.items():
        session.env["SITE_DIR"] = site  # Zensical has no option for it, and wants it below the project's root
        python(session, "-m", builder, "build", "--strict", "--clean")
    build_traces(session, "compare-builds", *sites.values())


@nox.session
def serve(session: nox.Session) -> None:
    """Show the site on a local port and build the page that was saved anew; `-- --clean` builds all of them."""
    prepare(session, "site")
    # A build of one page counts as a warning, which strict builds end with.
    python(session, "-m", "mkdocs", "serve", "--livereload", "--dirty", "--no-strict", *session.posargs)


@nox.session
def record(session: nox.Session) -> None:
    """Record what is stale on this machine's GPU; options go behind `--`."""
    prepare(session, "record")
    build_traces(session, "record", *session.posargs)


@nox.session
def verify(session: nox.Session) -> None:
    """Run stages again and compare with the committed recording; options go behind `--`."""
    prepare(session, "record")
    build_traces(session, "verify", *session.posargs)


@nox.session
def torch(session: nox.Session) -> None:
    """On a GPU machine, record everything with another torch, show that, and say what differs: `-- 2.12.0`."""
    if len(session.posargs) != 1 or not has_gpu():
        session.error("name a version, on a machine with a GPU: nox -s torch -- 2.12.0; or start record.yml with it")
    os.environ["TORCH"] = session.posargs[0]
    prepare(session, "record")
    build_traces(session, "record", "--all")
    build_traces(session, "record", "--labs", "--all")
    show_recording(session, build_traces(session, "this-machine", silent=True).split()[-1])


@nox.session
def show(session: nox.Session) -> None:
    """Show another recording and pin what it was made with: `-- nvidia-h200_torch-2.12.0`; and say what differs."""
    prepare(session, "site")
    if len(session.posargs) != 1:
        session.error(f"name one of {', '.join(path.name for path in sorted(RECORDINGS.iterdir()))}")
    show_recording(session, session.posargs[0])


def show_recording(session: nox.Session, name: str) -> None:
    """Change the recording that a build shows, and print what differs from the one before."""
    before = re.search(r"^ +recording: (\S+)", Path("mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    python(session, "-m", "build_traces.new", "shown", name)
    build_traces(session, "diff", str(RECORDINGS / before), str(RECORDINGS / name))


@nox.session
def deploy(session: nox.Session) -> None:
    """Put the guide as it is committed onto the branch gh-pages: `-- VERSION [latest]`; nothing is pushed."""
    prepare(session, "deploy")
    build_traces(session, "deploy", *session.posargs)


@nox.session
def versions(session: nox.Session) -> None:
    """See or change the versions on the branch gh-pages: `-- list`, `-- remove VERSION`, `-- retitle VERSION TITLE`."""
    prepare(session, "deploy")
    build_traces(session, "versions", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, all of them with coverage; needs Chromium, no GPU."""
    prepare(session, "tests")
    parallel = ["-n", "auto", "--dist", "loadfile"]  # a file's tests share the site they are run on
    coverage = [] if session.posargs else ["--cov=build_traces", "--cov-report=term-missing:skip-covered"]
    python(session, "-m", "pytest", *parallel, *coverage, *session.posargs)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Print how fast `inspect` is, beside json.load and HolisticTraceAnalysis; options go behind `--`."""
    prepare(session, "benchmarks")
    python(session, "-m", "benchmarks.measure", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz the readers of traces and exports: `-- --minutes 60`."""
    prepare(session, "fuzz")
    python(session, "tests/fuzz/run.py", "--atheris", *session.posargs)


@nox.session
def new(session: nox.Session) -> None:
    """Make a stage or a chapter to fill in: `-- stage NAME`, `-- chapter NAME --stage STAGE`."""
    prepare(session, "site")
    python(session, "-m", "build_traces.new", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types, spelling and prose; `-- --fix` mends what a tool can mend by itself."""
    prepare(session, "lint")
    fix = "--fix" in session.posargs
    failed = [
        f"{linter.name}: {linter.mend}"
        for linter in LINTERS
        if not passes(session, *((linter.fix if fix else ()) or linter.run))
    ]
    if failed:
        session.error("\n  ".join(["these failed; what mends them:", *failed]))


@nox.session(venv_backend="none")
def check(session: nox.Session) -> None:
    """Run all that CI runs on a pull request; at the end, say what failed and which command mends it."""
    only = session.posargs or list(CHECKS)
    if unknown := sorted(set(only) - set(CHECKS)):
        session.error(f"there is no check {', '.join(unknown)}; the checks are {', '.join(CHECKS)}")
    failed = [
        f"{name}: {CHECKS[name]}" for name in only if not passes(session, sys.executable, "-m", "nox", "-r", "-s", name)
    ]
    if failed:
        session.error("\n  ".join(["these failed; what mends them:", *failed]))


def passes(session: nox.Session, *command: str) -> bool:
    """Run a command to its end; whether it succeeded."""
    try:
        session.run(*command, external=command[0] == sys.executable)
    except nox.command.CommandFailed:
        return False
    return True
