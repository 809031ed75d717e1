"""A new chapter: its page as a draft, its line in the navigation, its claims, its exercises and their second route."""

import re
from dataclasses import dataclass
from pathlib import Path

from build_traces import ladder
from build_traces.claims import ARTICLE_FILE
from build_traces.new import NewError, nav
from build_traces.new.plan import Plan, fill, read
from build_traces.new.stage import LADDER, SNIPPETS

PAGES = "chapters"
PREDICTIONS = Path("docs/predictions.md")
NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
ORDER = re.compile(r"^(?P<key>    chapters:)(?P<names>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Chapter:
    """What the contributor asked for; without a title it is made from the name."""

    name: str
    title: str
    stage: str

    @property
    def shown_title(self) -> str:
        return self.title.strip() or self.name.replace("-", " ").capitalize()


def plan(root: Path, chapter: Chapter) -> Plan:
    """All that a new chapter needs. Raises NewError, and LadderError for a stage that is not in the ladder."""
    stage = ladder.load(root / SNIPPETS).stage(chapter.stage)
    _check(root, chapter, stage)
    mkdocs = read(root, nav.MKDOCS)
    before = nav.listed(mkdocs, PAGES)
    if not before:
        raise NewError("the navigation lists no chapter", where=str(nav.MKDOCS), hint="add one by hand first")
    number = len(before) + 1
    page = f"{PAGES}/{chapter.name}.md"
    values = {
        "name": chapter.name,
        "title": chapter.shown_title,
        "number": number,
        "stage": stage.name,
        "against": stage.against,
        "page": page,
    }
    return Plan(
        made={
            Path("docs") / page: fill("chapter.md.txt", values),
            Path("docs/claims") / f"{chapter.name}.toml": fill("claims.toml.txt", values),
            Path("docs/exercises") / f"{chapter.name}.toml": fill("exercises.toml.txt", values),
            Path("tests/routes") / f"{chapter.name.replace('-', '_')}.py": fill("routes.py.txt", values),
        },
        changed={
            nav.MKDOCS: nav.add_to_section(mkdocs, before[-1], page),
            PREDICTIONS: _asked_last(read(root, PREDICTIONS), chapter.name),
            **_measured_there(read(root, LADDER), stage, number),
        },
        next_step=f"write docs/{page}, and change its claims and exercises to what it says "
        "(CONTRIBUTING.md, “The chapter”)",
    )


def _check(root: Path, chapter: Chapter, stage: ladder.Stage) -> None:
    if not NAME.fullmatch(chapter.name) or chapter.name == Path(ARTICLE_FILE).stem:
        raise NewError(
            f"{chapter.name!r} is no name for a chapter",
            hint="write small letters, digits and single dashes, such as a-gate-of-another-kind",
        )
    if (page := root / "docs" / PAGES / f"{chapter.name}.md").exists():
        raise NewError(
            f"there is a chapter {chapter.name!r} already",
            where=str(page),
            hint="choose another name, or edit that page",
        )
    if "\n" in chapter.title:
        raise NewError("the title has more than one line", hint="write it in one")
    if stage.against == stage.name or stage.cold:
        why = "is recorded from its first step" if stage.cold else "is set against no other"
        raise NewError(
            f"stage {stage.name!r} {why}, and a chapter's first exercises compare two",
            where=str(LADDER),
            hint="name another with --stage, or make one: nox -s new -- stage NAME --against mlp_eager",
        )


def _asked_last(text: str, name: str) -> str:
    """The page of all predictions, with this chapter's behind the others. Raises NewError."""
    if not ORDER.search(text):
        raise NewError("block 'predictions' has no option 'chapters'", where=str(PREDICTIONS), hint="write it there")
    return ORDER.sub(rf"\g<0> {name}", text, count=1)


def _measured_there(text: str, stage: ladder.Stage, number: int) -> dict[Path, str]:
    """The ladder, if no chapter measures the stage yet: this one does."""
    if stage.chapter:
        return {}
    against = re.compile(rf'(^name = "{stage.name}"$(?:\n(?!\[\[).*)*?\nagainst = .*$)', re.MULTILINE)
    return {LADDER: against.sub(rf"\g<1>\nchapter = {number}", text, count=1)}
