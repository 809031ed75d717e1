"""Which pages are left out, and a navigation without them."""

from pathlib import Path

from build_traces.publish.drafts import drafts, nav_without

ROOT = Path(__file__).parents[2]


def test_a_page_is_a_draft_if_its_front_matter_says_so(tmp_path: Path) -> None:
    for name, text in {
        "draft.md": "---\ndraft: true\n---\n# A\n",
        "chapters/other.md": "---\ntitle: B\ndraft: true\n---\n# B\n",
        "said.md": "# C\n\ndraft: true\n",
        "not.md": "---\ndraft: false\n---\n# D\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert drafts(tmp_path) == ("chapters/other.md", "draft.md")


def test_a_lab_that_no_gpu_has_run_is_a_draft(tmp_path: Path) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "one.py").write_text("# %% [markdown]\n# # One\n", encoding="utf-8")
    assert drafts(tmp_path) == ("labs/one.ipynb",)


def test_a_navigation_loses_pages_and_sections_that_are_empty_then() -> None:
    nav = [
        {"Start": "index.md"},
        {"Chapters": ["one.md", "two.md", {"Three": "three.md"}]},
        {"Stages": ["stages/index.md", {"Traps": ["stages/a.md", {"B": "stages/b.md"}]}]},
    ]
    assert nav_without(nav, ["two.md", "three.md", "stages/a.md", "stages/b.md"]) == [
        {"Start": "index.md"},
        {"Chapters": ["one.md"]},
        {"Stages": ["stages/index.md"]},
    ]


def test_the_guides_own_drafts_are_found() -> None:
    for path in drafts(ROOT / "docs"):
        assert (ROOT / "docs" / path).is_file()
