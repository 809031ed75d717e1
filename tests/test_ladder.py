"""ladder.toml is read strictly, and the hash of a stage covers what it depends on."""

from pathlib import Path

import pytest

from build_traces import ladder
from build_traces.errors import LadderError

ONE = '[[stage]]\nname = "one"\nagainst = "one"\n'


def write(tmp_path: Path, toml: str, **snippets: str) -> Path:
    (tmp_path / "ladder.toml").write_text(toml, encoding="utf-8")
    for name, text in snippets.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_ladder_keeps_the_files_order(tmp_path: Path) -> None:
    two = '[[stage]]\nname = "two"\ntitle = "Second"\nagainst = "one"\ncold = true\n'
    loaded = ladder.load(write(tmp_path, two + ONE, one="", two=""))
    assert loaded.names == ("two", "one")
    stage = loaded.stage("two")
    assert (stage.title, stage.against, stage.cold, stage.snippet) == ("Second", "one", True, tmp_path / "two.py")
    assert [s.name for s in loaded.select(["one", "two"])] == ["two", "one"]


def test_a_stage_is_a_rung_unless_it_says_otherwise(tmp_path: Path) -> None:
    two = '[[stage]]\nname = "two"\nagainst = "one"\nchapter = 7\nrung = false\n'
    loaded = ladder.load(write(tmp_path, ONE + two, one="", two=""))
    assert [(s.name, s.chapter, s.rung) for s in loaded.stages] == [("one", 0, True), ("two", 7, False)]
    assert [s.name for s in loaded.rungs] == ["one"]


def test_neither_title_nor_chapter_nor_rung_makes_a_stage_stale(tmp_path: Path) -> None:
    plain = ladder.digest(ladder.load(write(tmp_path, ONE, one="")).stage("one"))
    other = ONE + 'title = "Other"\nchapter = 3\nrung = false\n'
    assert ladder.digest(ladder.load(write(tmp_path, other, one="")).stage("one")) == plain


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("", "lists no stage"),
        ("[[stage]\n", "not valid TOML"),
        ('[[stage]]\nname = "no good"\n', "no Python module name"),
        ("[[stage]]\nname = 3\n", "no Python module name"),
        (ONE + ONE, "listed twice"),
        (ONE + 'colour = "red"\n', "unknown keys ['colour']"),
        ('[[stage]]\nname = "one"\nagainst = "none"\n', "set against 'none'"),
        ('[[stage]]\nname = "unwritten"\n', "has no snippet"),
        (ONE + 'chapter = "two"\n', "has chapter = 'two', which is no int"),
        (ONE + "chapter = true\n", "has chapter = True, which is no int"),
        (ONE + "rung = 0\n", "has rung = 0, which is no bool"),
        (ONE + "kernel = 1\n", "has kernel = 1, which is no str"),
        (ONE + 'kernel = "kernel/none"\n', "has kernel = 'kernel/none', and there is no kernel"),
    ],
)
def test_a_wrong_ladder_says_what_is_wrong_and_where(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(LadderError) as caught:
        ladder.load(write(tmp_path, toml, one=""))
    assert says in str(caught.value) and "ladder.toml" in str(caught.value)


def test_no_ladder_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(LadderError, match="run from the root of the repository"):
        ladder.load(tmp_path)


def test_sources_are_the_snippet_and_the_siblings_it_reaches(tmp_path: Path) -> None:
    write(
        tmp_path,
        ONE,
        one="import torch\nfrom middle import x\n",
        middle="def f():\n    import deep\n",
        deep="import one\n",
        unused="",
        torch_like="",
    )
    (stage,) = ladder.load(tmp_path).stages
    assert [p.name for p in ladder.sources(stage)] == ["deep.py", "middle.py", "one.py"]


def test_the_hash_changes_with_what_it_covers_and_with_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, ONE, one="import two\n", two="A = 1\n", unused="A = 1\n")

    def digest() -> str:
        return ladder.digest(ladder.load(tmp_path).stages[0])

    first = digest()
    write(tmp_path, ONE + "# a comment\n", unused="A = 2\n")
    assert digest() == first
    write(tmp_path, ONE, two="A = 2\n")
    assert digest() != first
    write(tmp_path, ONE, two="A = 1\n")
    assert digest() == first
    write(tmp_path, ONE + "cold = true\n")
    assert digest() != first


def with_kernel(tmp_path: Path, files: dict[str, str]) -> ladder.Stage:
    """A stage with a kernel beside the snippets' folder, as in this repository."""
    for name, text in files.items():
        path = tmp_path / "kernel/one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "snippets").mkdir(exist_ok=True)
    return ladder.load(write(tmp_path / "snippets", ONE + 'kernel = "kernel/one"\n', one="")).stages[0]


def test_a_kernels_files_are_sources_of_the_stage_that_loads_it(tmp_path: Path) -> None:
    stage = with_kernel(tmp_path, {"build/a/x": "1", "build/b/x": "2", "readme": "3", "build/a/__pycache__/x": "4"})
    assert [p.relative_to(tmp_path).as_posix() for p in ladder.sources(stage)] == [
        "snippets/one.py",
        "kernel/one/build/a/x",
        "kernel/one/build/b/x",
    ]


def test_the_hash_changes_with_a_kernels_files_and_not_with_what_is_said_about_it(tmp_path: Path) -> None:
    first = ladder.digest(with_kernel(tmp_path, {"build/a/x": "1", "build/b/x": "2", "readme": "3"}))
    assert ladder.digest(with_kernel(tmp_path, {"readme": "4", "build/a/__pycache__/x": "4"})) == first
    assert ladder.digest(with_kernel(tmp_path, {"build/a/x": "2", "build/b/x": "1"})) != first
    assert ladder.digest(with_kernel(tmp_path, {"build/a/x": "1", "build/b/x": "2"})) == first
    assert ladder.digest(with_kernel(tmp_path, {"build/c/x": ""})) != first


def test_a_kernel_changes_no_hash_of_a_stage_without_one(tmp_path: Path) -> None:
    (stage,) = ladder.load(write(tmp_path, ONE, one="A = 1\n")).stages
    # printf 'cold=False\none.py 6\nA = 1\n' | sha256sum
    assert ladder.digest(stage) == "a7183c2da4893eadefd2a23af9efa46fc37d0efc0902d218f873640316d378e9"


def test_a_snippet_that_is_no_python_is_named_with_its_line(tmp_path: Path) -> None:
    (stage,) = ladder.load(write(tmp_path, ONE, one="x = 1\ndef f(:\n")).stages
    with pytest.raises(LadderError, match=r"one\.py:2: not valid Python"):
        ladder.digest(stage)


def test_the_projects_own_ladder_keeps_the_order_of_the_climb_and_what_is_no_rung() -> None:
    loaded = ladder.load(Path("snippets"))
    climb = (
        "matmul_add",
        "linear_small",
        "linear_small_compiled",
        "linear_small_cold",
        "linear_eager",
        "linear_compiled",
        "linear_nobias",
        "mlp_eager",
        "mlp_compiled",
        "mlp_liger",
        "mlp_liger_compiled",
        "mlp_cudagraph",
        "mlp_max_autotune",
        "mlp_concat_compiled",
        "mlp_fused_gemm",
        "mlp_quack",
    )
    assert tuple(stage.name for stage in loaded.rungs if stage.name in climb) == climb
    others = "mlp_fused_first mlp_fused_second matmul_add_compiled matmul_add_compiled_2d linear_restrided mlp_unsynced"
    for other in others.split():
        assert not loaded.stage(other).rung


def test_every_rung_of_the_projects_own_ladder_has_a_chapter() -> None:
    assert all(stage.chapter for stage in ladder.load(Path("snippets")).rungs)
