"""A new stage: its snippet, its entry in ladder.toml, its page as a draft, its line in the navigation, its test."""

import importlib.util
import json
import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from build_traces import ladder
from build_traces.new import NewError, nav
from build_traces.new.plan import Plan, fill, read

SNIPPETS = Path("snippets")
LADDER = SNIPPETS / ladder.LADDER_FILE
PAGES = "stages"
NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
STAGE_ENTRY = re.compile(r"^\[\[stage\]\]\n(?:[^\n\[#][^\n]*\n)*", re.MULTILINE)
TAKEN = {"recording", "by_hand", "conftest"}
"""The first is what paths of facts begin with beside stages; the others are modules of the tests."""


@dataclass(frozen=True)
class Stage:
    """What the contributor asked for; without a title it is made from the name."""

    name: str
    title: str
    against: str

    @property
    def shown_title(self) -> str:
        return self.title.strip() or self.name.replace("_", " ").capitalize().replace("Mlp", "MLP")


def plan(root: Path, stage: Stage) -> Plan:
    """All that a new stage needs. Raises NewError, and LadderError where the ladder itself is wrong."""
    known = ladder.load(root / SNIPPETS)
    _check_name(root, stage.name, (*known.names, *known.sweep_names))
    known.stage(stage.against)
    if "\n" in stage.title:
        raise NewError("the title has more than one line", hint="write it in one")
    values = {"name": stage.name, "title": stage.shown_title, "against": stage.against}
    quoted = {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}
    page = f"{PAGES}/{stage.name}.md"
    mkdocs = read(root, nav.MKDOCS)
    return Plan(
        made={
            SNIPPETS / f"{stage.name}.py": fill("stage.py.txt", values),
            Path("docs") / page: fill("stage.md.txt", values),
            Path("tests/snippets") / f"test_{stage.name}.py": fill("test_stage.py.txt", values),
        },
        changed={
            LADDER: _behind_the_stages(read(root, LADDER), fill("ladder.toml.txt", quoted)),
            nav.MKDOCS: nav.add_to_section(mkdocs, f"{PAGES}/{stage.against}.md", page),
        },
        next_step=f"write what snippets/{stage.name}.py runs, then what tests/snippets/test_{stage.name}.py expects "
        "(CONTRIBUTING.md, “The snippet”)",
    )


def _behind_the_stages(text: str, entry: str) -> str:
    """The ladder's text with an entry as its last stage: sweeps, and what the file says of them, stand behind it."""
    end = [match.end() for match in STAGE_ENTRY.finditer(text)][-1]
    return f"{text[:end]}\n{entry}{text[end:]}"


def _check_name(root: Path, name: str, stages: tuple[str, ...]) -> None:
    """Raises NewError for a name that Python, the ladder or the snippets' own imports would not take."""
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise NewError(
            f"{name!r} is no name for a stage",
            hint="write small letters, digits and single underscores, such as mlp_swiglu",
        )
    if name in stages:
        raise NewError(
            f"there is a stage or sweep {name!r} already",
            where=str(LADDER),
            hint="choose another name, or edit what is there",
        )
    if (root / SNIPPETS / f"{name}.py").exists():
        raise NewError("there is such a snippet already", where=f"snippets/{name}.py", hint="choose another name")
    if name in TAKEN or name in sys.stdlib_module_names or _is_installed(name):
        raise NewError(
            f"{name!r} is the name of something else that is imported",
            hint=f"choose a name that no module has, such as {name}_eager",
        )


def _is_installed(name: str) -> bool:
    found = importlib.util.find_spec(name)
    return found is not None and found.origin is not None
