"""A draft may speak of a stage that is not recorded yet; no other page may, and a stale stage is refused on both."""

import shutil

import pytest
from html_tree import parse, with_class

from build_traces.errors import PageError

DRAFT = "---\ndraft: true\n---\n"
PAGE = "# Title\n\nIt takes {{ mlp_compiled.gpu_us:.0f }} µs.\n\n/// kernels | mlp_compiled\n///\n"


@pytest.fixture
def unrecorded(repository):
    """The small repository without the recording of mlp_compiled."""
    shutil.rmtree(repository.recording / "mlp_compiled")
    return repository


def test_a_draft_says_what_is_not_recorded_and_on_top_that_it_is_one(unrecorded) -> None:
    html = parse(unrecorded.page(PAGE, front_matter=DRAFT))
    fact, block = with_class(html, "unrecorded")
    assert (fact.tag, fact.text) == ("span", "not recorded yet")
    assert (block.tag, block.text) == ("p", "not recorded yet")
    assert "record --stages mlp_compiled" in (fact.get("title") or "")
    (notice,) = with_class(html, "draft")
    assert "mlp_compiled" in "".join(notice.itertext())


@pytest.mark.parametrize("line", [3, 5])
def test_any_other_page_is_refused_with_the_line_of_a_fact_and_of_a_block(unrecorded, line: int) -> None:
    lines = PAGE.splitlines(keepends=True)
    only_one = lines[:2] + (lines[2:3] if line == 3 else ["Text.\n", *lines[3:]])
    with pytest.raises(PageError, match="not recorded yet") as error:
        unrecorded.page("".join(only_one))
    assert error.value.where == f"docs/page.md:{line}"


@pytest.mark.parametrize("line", ["draft: false", "title: draft: true", "  draft: true", "draft: truely"])
def test_only_the_line_itself_makes_a_draft(unrecorded, line: str) -> None:
    with pytest.raises(PageError):
        unrecorded.page(PAGE, front_matter=f"---\n{line}\n---\n")


def test_a_draft_with_nothing_missing_looks_like_any_page(repository) -> None:
    assert with_class(parse(repository.page(PAGE, front_matter=DRAFT)), "draft") == []


def test_a_stale_stage_is_refused_on_a_draft_too(repository) -> None:
    (repository.root / "snippets" / "mlp_compiled.py").write_text("# changed\n")
    with pytest.raises(PageError, match="stale"):
        repository.page(PAGE, front_matter=DRAFT)


def test_a_page_that_became_a_draft_is_read_anew(unrecorded) -> None:
    unrecorded.write_page("page.md", PAGE)
    with pytest.raises(PageError):
        unrecorded.convert(PAGE)
    unrecorded.write_page("page.md", DRAFT + PAGE)
    assert "not recorded yet" in unrecorded.convert(PAGE)
