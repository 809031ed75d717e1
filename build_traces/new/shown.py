"""Another recording to show: its name in mkdocs.yml, and in pyproject.toml the versions that it was made with."""

import re
from pathlib import Path

from build_traces import ladder
from build_traces.freshness import State, statuses
from build_traces.new import NewError, nav
from build_traces.new.plan import Plan, read
from build_traces.new.stage import SNIPPETS
from build_traces.recording import RECORDINGS, Environment, open_recording

PYPROJECT = Path("pyproject.toml")
SHOWN = re.compile(r"^(?P<key> +recording: )(?P<name>\S+)", re.MULTILINE)
RECORD_GROUP = re.compile(r"^record = \[\n(?:.*\n)*?\]$", re.MULTILINE)


def plan(root: Path, name: str) -> Plan:
    """What it takes to show a recording. Raises NewError where it is not whole, RecordingError where there is none."""
    mkdocs = read(root, nav.MKDOCS)
    before = shown(mkdocs)
    environment = open_recording(root / RECORDINGS / name).environment
    if lacking := _lacking(root, name, before, environment.machine):
        raise NewError(
            f"recording {name} is not whole: {', '.join(lacking)}",
            hint="on its machine: nox -s record, then this again",
        )
    return Plan(
        made={},
        changed={
            nav.MKDOCS: SHOWN.sub(rf"\g<key>{name}", mkdocs, count=1),
            PYPROJECT: _pinned(read(root, PYPROJECT), environment),
        },
        next_step=f"python -m build_traces diff {RECORDINGS / before} {RECORDINGS / name}, then nox -s docs, which "
        "names each sentence that does not hold any more",
    )


def shown(mkdocs: str) -> str:
    """The name of the recording that a build shows. Raises NewError."""
    match = SHOWN.search(mkdocs)
    if not match:
        raise NewError("it names no recording", where=str(nav.MKDOCS), hint="give build_traces.markdown a recording")
    return match["name"]


def _lacking(root: Path, name: str, before: str, machine: str) -> list[str]:
    """What the recording that is shown now has, and this one has not, or has stale; with the reason."""
    known, recordings = ladder.load(root / SNIPPETS), root / RECORDINGS
    had = {s.stage.name for s in statuses(known, recordings / before, "") if s.state is not State.MISSING}
    return [
        f"{status.stage.name} ({status.why})"
        for status in statuses(known, recordings / name, machine)
        if status.state is not State.FRESH and status.stage.name in had
    ]


def _pinned(text: str, environment: Environment) -> str:
    """The text of pyproject.toml with the versions of this machine in the group `record`."""
    found = RECORD_GROUP.search(text)
    if not found:
        raise NewError("there is no group record", where=str(PYPROJECT), hint="restore it with git checkout")
    group = found[0]
    for package in ("kernels", "liger-kernel", "torch", "triton"):
        version = str(getattr(environment, package.replace("-", "_"))).partition("+")[0]
        group, pins = re.subn(rf'"{package}==[^"]+"', f'"{package}=={version}"', group)
        if pins != 1:
            message = f"group record pins {package} {pins} times"
            raise NewError(message, where=str(PYPROJECT), hint="pin it once, exactly")
    return text[: found.start()] + group + text[found.end() :]
