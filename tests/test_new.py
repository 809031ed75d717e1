"""A new stage and a new chapter are whole, registered, run and pass as they are made; an error leaves nothing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mkdocs.utils.yaml import yaml_load

from build_traces import claims, exercises, ladder, prose_rules, typed_numbers
from build_traces.errors import BuildTracesError
from build_traces.markdown.page import says_draft
from build_traces.new import MARK, NewError, nav
from build_traces.new.chapter import Chapter
from build_traces.new.chapter import plan as plan_chapter
from build_traces.new.plan import Plan, write
from build_traces.new.stage import Stage
from build_traces.new.stage import plan as plan_stage

ROOT = Path(__file__).parents[1]
STAGE = Stage("mlp_relu", "MLP with “ReLU”", "mlp_eager")
CHAPTER = Chapter("a-relu-alone", "A ReLU: alone", "mlp_relu")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of what a contributor adds to."""
    for name in ("snippets", "kernel", "docs/chapters", "docs/stages", "docs/claims", "docs/exercises"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "docs/index.md", "docs/predictions.md", "docs/claims.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole project with a new stage and a new chapter, and a chapter of a stage that is recorded."""
    root = tmp_path_factory.mktemp("made")
    ignored = shutil.ignore_patterns("__pycache__", "browser", "fuzz")
    for name in ("snippets", "kernel", "tests", "docs", "overrides"):
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in ("mkdocs.yml", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root)
    (root / "build_traces").symlink_to(ROOT / "build_traces")
    both(root)
    write(plan_chapter(root, Chapter("once-more", "", "mlp_compiled")), root)
    return root


def files(root: Path) -> dict[Path, bytes]:
    kept = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {path.relative_to(root): path.read_bytes() for path in kept}


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "COVERAGE_PROCESS_START": ""}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)  # the copy's lines are counted as nobody's
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def both(root: Path) -> None:
    write(plan_stage(root, STAGE), root)
    write(plan_chapter(root, CHAPTER), root)


def test_what_was_made_passes_the_tests_of_snippets_chapters_and_exercises(made: Path) -> None:
    names = ("snippets/test_mlp_relu.py", "test_chapters.py", "test_exercises_second_route.py")
    done = run(made, "-m", "pytest", "-v", "-ra", "--no-cov", "-p", "no:cacheprovider", *(f"tests/{n}" for n in names))
    assert done.returncode == 0, done.stdout[-3000:]
    assert done.stdout.count("snippets/test_mlp_relu.py::") == 2  # it ran on the CPU
    assert "mlp_relu is not recorded yet" in done.stdout  # the answers, which are asked for when it is
    for answered in ("kernels", "launches", "share", "faster"):
        assert f"[once-more-{answered}] PASSED" in done.stdout


def test_what_was_made_is_built_strictly_and_named_as_a_draft(made: Path) -> None:
    done = run(made, "-m", "mkdocs", "build", "--strict", "--site-dir", "site")
    assert done.returncode == 0, done.stderr[-3000:]
    said = run(made, "-m", "build_traces", "check", "site")
    assert said.returncode == 0, said.stdout
    assert "site/stages/mlp_relu/index.html: a draft" in said.stdout
    assert "site/chapters/a-relu-alone/index.html: a draft" in said.stdout
    page = (made / "site" / "stages" / "mlp_relu" / "index.html").read_text(encoding="utf-8")
    assert page.count("not recorded yet") >= 4


def test_what_was_made_keeps_to_the_style(made: Path) -> None:
    for path in (made / "snippets" / "mlp_relu.py", *(made / "tests" / "routes").glob("*.py")):
        assert all(len(line) <= 120 for line in path.read_text(encoding="utf-8").splitlines()), path
    found = [str(problem) for problem in (*prose_rules.check(made), *typed_numbers.check(made))]
    assert [problem for problem in found if "relu" in problem or "once-more" in problem] == []


def test_a_stage_is_registered_and_everything_else_stays_as_it_was(root: Path) -> None:
    before = files(root)
    plan = plan_stage(root, STAGE)
    write(plan, root)
    after = files(root)
    assert set(after) - set(before) == {
        Path("snippets/mlp_relu.py"),
        Path("docs/stages/mlp_relu.md"),
        Path("tests/snippets/test_mlp_relu.py"),
    }
    assert {path for path in before if before[path] != after[path]} == {
        Path("snippets/ladder.toml"),
        Path("mkdocs.yml"),
    }
    stages = ladder.load(root / "snippets")
    assert stages.names[-1] == "mlp_relu"
    assert stages.sweep_names == ladder.load(ROOT / "snippets").sweep_names
    stage = stages.stage("mlp_relu")
    assert (stage.title, stage.against, stage.rung, stage.cold) == ("MLP with “ReLU”", "mlp_eager", False, False)


def test_the_navigation_gets_one_line_and_keeps_its_comments(root: Path) -> None:
    before = (root / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    both(root)
    after = (root / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    added = {"          - stages/mlp_relu.md", "      - chapters/a-relu-alone.md"}
    assert [line for line in after if line not in added] == before
    assert len(after) == len(before) + 2
    with (root / "mkdocs.yml").open(encoding="utf-8") as file:
        sections = {key: value for entry in yaml_load(file)["nav"] for key, value in entry.items()}
    assert sections["Chapters"][-1] == "chapters/a-relu-alone.md"
    (mlp,) = (entry["MLP"] for entry in sections["Stages"] if "MLP" in entry)
    assert mlp[-1] == "stages/mlp_relu.md"


def test_a_chapter_measures_the_stage_that_no_other_does(root: Path) -> None:
    both(root)
    chapters = len(list((root / "docs" / "chapters").glob("*.md")))
    stages = ladder.load(root / "snippets")
    assert stages.stage("mlp_relu").chapter == chapters
    assert stages.stage("mlp_eager").chapter == 4
    assert f"/// ladder\n    chapter: {chapters}\n///" in (root / "docs/chapters/a-relu-alone.md").read_text()


def test_claims_and_exercises_of_a_chapter_are_read(root: Path) -> None:
    both(root)
    docs = root / "docs"
    assert len(claims.load(docs / "claims", docs).of_page("chapters/a-relu-alone.md")) == 1
    asked = exercises.load(docs / "exercises", docs).chapters["a-relu-alone"]
    assert [one.kind for one in asked] == ["count", "count", "number", "choice"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mlp_eager", "already"),
        ("MLP", "no name for a stage"),
        ("mlp__relu", "no name for a stage"),
        ("../evil", "no name for a stage"),
        ("class", "no name for a stage"),
        ("", "no name for a stage"),
        ("measure", "already"),
        ("batch_compiled", "already"),
        ("torch", "something else"),
        ("random", "something else"),
        ("recording", "something else"),
    ],
)
def test_a_name_that_is_none_or_taken_is_refused_with_what_to_do(root: Path, name: str, message: str) -> None:
    with pytest.raises(NewError, match=message) as error:
        plan_stage(root, Stage(name, "", "mlp_eager"))
    assert error.value.hint


@pytest.mark.parametrize(
    ("name", "stage", "message"),
    [
        ("choose", "mlp_compiled", "already"),
        ("article", "mlp_compiled", "no name for a chapter"),
        ("A_b", "mlp_compiled", "no name for a chapter"),
        ("../x", "mlp_compiled", "no name for a chapter"),
        ("good", "mlp_other", "there is no stage 'mlp_other'"),
        ("good", "mlp_eager", "is set against no other"),
        ("good", "linear_small_cold", "from its first step"),
    ],
)
def test_a_chapter_that_cannot_be_is_refused_with_what_to_do(root: Path, name: str, stage: str, message: str) -> None:
    with pytest.raises(BuildTracesError, match=message) as error:
        plan_chapter(root, Chapter(name, "", stage))
    assert error.value.hint


def test_a_title_of_two_lines_is_refused(root: Path) -> None:
    with pytest.raises(NewError, match="more than one line"):
        plan_stage(root, Stage("mlp_relu", "Two\nlines", "mlp_eager"))
    with pytest.raises(NewError, match="more than one line"):
        plan_chapter(root, Chapter("good", "Two\nlines", "mlp_compiled"))


def test_a_stage_against_none_is_refused(root: Path) -> None:
    with pytest.raises(BuildTracesError, match="there is no stage 'mlp_nothing'"):
        plan_stage(root, Stage("mlp_relu", "", "mlp_nothing"))


def test_a_second_try_is_refused_and_changes_nothing(root: Path) -> None:
    both(root)
    before = files(root)
    for plan, asked in ((plan_stage, STAGE), (plan_chapter, CHAPTER)):
        with pytest.raises(NewError, match="already"):
            plan(root, asked)
    assert files(root) == before


@pytest.mark.parametrize("broken", range(5))
def test_an_error_half_way_leaves_nothing(root: Path, broken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(root)
    plan = plan_stage(root, STAGE)
    real, failing = Path.write_bytes, list(plan.files)[broken]

    def full(self: Path, data: bytes) -> int:
        if self.name == f".{failing.name}.half-made" and data == plan.files[failing].encode():
            raise OSError("no space left on device")
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space left"):
        write(plan, root)
    assert files(root) == before


def test_a_file_that_is_there_is_not_written_over(root: Path) -> None:
    plan = Plan({Path("docs/index.md"): "x"}, {}, "")
    before = files(root)
    with pytest.raises(NewError, match="already"):
        write(plan, root)
    assert files(root) == before


def test_a_page_is_added_behind_its_section_and_not_into_the_next() -> None:
    section = "  - A:\n      - a/one.md # first\n      # a comment\n      - Two: a/two.md\n"
    text = f"nav:\n{section}  - B:\n      - b/one.md\nx: 1\n"
    assert nav.add_to_section(text, "a/one.md", "a/new.md") == text.replace(
        "      - Two: a/two.md\n", "      - Two: a/two.md\n      - a/new.md\n"
    )
    assert nav.listed(text, "a") == ["a/one.md", "a/two.md"]
    alone = "nav:\n  - a/one.md\n  - B:\n      - b/one.md\n  - C:\n      - c/one.md\n"
    assert nav.add_to_section(alone, "b/one.md", "b/new.md") == alone.replace("  - C", "      - b/new.md\n  - C")
    assert nav.listed(alone, "a") == ["a/one.md"]
    with pytest.raises(NewError, match=r"the navigation has no a/none\.md"):
        nav.add_to_section(text, "a/none.md", "a/new.md")


def test_the_command_says_what_it_made_and_what_is_next(root: Path) -> None:
    done = run(root, "-m", "build_traces.new", "stage", "mlp_relu")
    assert done.returncode == 0, done.stderr
    assert "made snippets/mlp_relu.py\n" in done.stdout
    assert "changed snippets/ladder.toml\n" in done.stdout
    assert re.search(r"^next: .*CONTRIBUTING\.md", done.stdout, re.MULTILINE)
    again = run(root, "-m", "build_traces.new", "stage", "mlp_relu")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("error: ")
    assert "next: choose another name" in again.stderr


def test_nothing_that_is_published_or_recorded_still_waits_for_its_author() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert MARK not in text or says_draft(text), f"{page}: write what {MARK} asks for, before it is no draft"
    drafts = {page.stem for page in (ROOT / "docs" / "chapters").glob("*.md") if says_draft(page.read_text("utf-8"))}
    for entry in [*(ROOT / "docs/claims").glob("*.toml"), *(ROOT / "docs/exercises").glob("*.toml")]:
        assert MARK not in entry.read_text(encoding="utf-8") or entry.stem in drafts, entry
    for stage in ladder.load(ROOT / "snippets").stages:
        recorded = any((ROOT / "docs" / "recordings").glob(f"*/{stage.name}/stage.json"))
        assert MARK not in stage.snippet.read_text(encoding="utf-8") or not recorded, stage.snippet
