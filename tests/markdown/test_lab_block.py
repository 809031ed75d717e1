"""`/// lab`: links to a lab's page and files, what ran it, and the refusal of a stale one by name."""

from pathlib import Path
from xml.etree.ElementTree import Element

import msgspec
import pytest
from html_tree import parse, with_class

from build_traces import notebooks
from build_traces.errors import PageError
from build_traces.notebooks import Lab, LabRecord

SCRIPT = '# %% [markdown]\n# # Lab: a <small> one\n\n# %%\nprint("a")\n'
RECORD = LabRecord(
    protocol=notebooks.PROTOCOL,
    sha256="",
    command="",
    recorded="2026-12-01",
    commit="0123456789abcdef",
    gpu="A <b>GPU</b>",
    driver="",
    cuda="",
    torch="2.11.0",
    triton="",
    python="",
)
BLOCK = "# Title\n\n/// lab | small\n///\n"


@pytest.fixture
def lab(repository) -> Lab:
    """A lab of the small repository, whose notebook is a draft."""
    script = Path("docs/labs/small.py")
    script.parent.mkdir()
    script.write_text(SCRIPT, encoding="utf-8")
    notebooks.write_drafts((Lab(script),))
    return Lab(script)


def run(lab: Lab) -> None:
    record = msgspec.structs.replace(RECORD, sha256=notebooks.digest(lab))
    notebooks.write_run(lab, notebooks.read_script(lab), record)


def figure(html: str) -> Element:
    (found,) = with_class(parse(html), "trace-block--lab")
    return found


def links(html: str) -> dict[str, tuple[str | None, str | None]]:
    return {"".join(a.itertext()): (a.get("href"), a.get("download")) for a in figure(html).iter("a")}


def test_it_leads_to_the_page_and_to_both_files(repository, lab: Lab) -> None:
    assert links(repository.page(BLOCK, "chapters/one.md")) == {
        "Lab: a <small> one": ("../labs/small.ipynb", None),  # which a builder turns into the page's address
        "small.ipynb": ("../../labs/small/small.ipynb", "small.ipynb"),  # seen from chapters/one/
        "small.py": ("../labs/small.py", "small.py"),
    }


@pytest.mark.parametrize(
    ("page", "href"),
    [
        ("index.md", "labs/small/small.ipynb"),
        ("page.md", "../labs/small/small.ipynb"),
        ("labs/index.md", "../labs/small/small.ipynb"),
        ("a/b/c.md", "../../../labs/small/small.ipynb"),
    ],
)
def test_the_download_is_found_from_any_depth(repository, lab: Lab, page: str, href: str) -> None:
    assert links(repository.page(BLOCK, page))["small.ipynb"][0] == href


def test_a_lab_that_no_gpu_ran_says_so_and_makes_no_draft_of_the_page(repository, lab: Lab) -> None:
    html = repository.page(BLOCK)
    assert "Not recorded yet: no GPU has run it." in "".join(figure(html).itertext())
    assert with_class(parse(html), "draft") == []


def test_a_lab_that_ran_says_where(repository, lab: Lab) -> None:
    run(lab)
    said = "".join(figure(repository.page(BLOCK)).itertext())
    assert "It ran on A <b>GPU</b>, torch 2.11.0, 2026-12-01, from commit 0123456789." in said


@pytest.mark.parametrize("ran", [True, False])
def test_a_stale_lab_is_refused_by_name_with_the_line(repository, lab: Lab, ran: bool) -> None:
    if ran:
        run(lab)
    lab.script.write_text(SCRIPT + "# edited\n", encoding="utf-8")
    with pytest.raises(PageError, match="lab small: its notebook is stale") as error:
        repository.page(BLOCK)
    assert error.value.where == "docs/page.md:3"
    assert "record --labs" in error.value.hint and "draft-labs" in error.value.hint


def test_an_unknown_lab_is_refused_with_those_there_are(repository, lab: Lab) -> None:
    with pytest.raises(PageError, match="there is no lab 'smal'") as error:
        repository.page(BLOCK.replace("small", "smal"))
    assert error.value.hint == "the labs are small"


def test_a_block_without_a_name_is_refused(repository, lab: Lab) -> None:
    with pytest.raises(PageError, match="needs the name of a lab"):
        repository.page("# Title\n\n/// lab\n///\n")


def test_in_a_text_that_is_no_page_there_are_no_links(repository, lab: Lab) -> None:
    assert links(repository.convert(BLOCK)) == {}


def test_a_lab_that_a_version_is_published_without_has_no_notebook_to_download(repository, lab: Lab) -> None:
    repository.write_page("chapters/one.md", BLOCK)
    html = repository.convert(BLOCK, left_out=["labs/small.ipynb"])
    assert list(links(html)) == ["small.py"]
    assert "(to come)" in "".join(figure(html).itertext())
