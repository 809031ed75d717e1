"""The pages of the labs in a built site: marked, light, complete, and refused when stale."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from build_traces import links, notebooks
from build_traces.check import check_page, drafts
from build_traces.notebooks import Lab, LabRecord

ROOT = Path(__file__).parents[1]
NAMES = [lab.name for lab in notebooks.find(ROOT / "docs" / "labs")]
LIGHT = 60_000
"""Bytes of gzipped HTML that a page may have."""
RECORD = LabRecord(
    protocol=notebooks.PROTOCOL,
    sha256="",
    command=notebooks.RECORD_COMMAND,
    recorded="2026-12-02",
    commit="abcdef0123456789",
    gpu="Another <GPU>",
    driver="1.0",
    cuda="13.0",
    torch="2.11.0",
    triton="3.6.0",
    python="3.12.3",
)
HOSTILE = (
    "void at::native::kernel<8, at::native::(anonymous)> & {{ mlp_eager.kernel_count }} </pre><script>alert(1)</script>"
)


def copy(root: Path) -> Path:
    for folder in ("docs", "kernel", "overrides", "snippets"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    return root


def build(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "RECORDING"}
    environment |= {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def run(lab: Lab, prints: str) -> None:
    """Make a notebook as the recorder does, in which every cell printed this."""
    ran = notebooks.read_script(lab)
    for number, cell in enumerate(cell for cell in ran.cells if cell.cell_type == "code"):
        cell.execution_count = number + 1
        cell.outputs = [type(cell)(output_type="stream", name="stdout", text=prints)]
    notebooks.write_run(lab, ran, msgspec.structs.replace(RECORD, sha256=notebooks.digest(lab)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A site whose first lab no GPU has run, and whose others one has, with 200 lines of output a cell."""
    root = copy(tmp_path_factory.mktemp("labs"))
    first, *others = notebooks.find(root / "docs" / "labs")
    first.notebook.unlink()
    notebooks.write_drafts((first,))
    for lab in others:
        run(lab, "".join(f"{n:4} {HOSTILE}\n" for n in range(200)))
    done = build(root)
    assert done.returncode == 0, done.stderr
    yield root / "site"


def page(site: Path, name: str) -> Path:
    return site / "labs" / name / "index.html"


def article(site: Path, name: str) -> str:
    return re.search("<article.*</article>", page(site, name).read_text(encoding="utf-8"), re.DOTALL)[0]


class Links(HTMLParser):
    """Every address that a page names."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_stamped_and_nothing_on_it_is_left_unrendered(site: Path, name: str) -> None:
    assert check_page(page(site, name)) == []
    assert page(site, name).read_text(encoding="utf-8").count('class="stamp"') == 1


def test_only_the_lab_that_no_gpu_has_run_is_a_draft(site: Path) -> None:
    marked = [path for path in drafts(site) if path.parent.parent.name == "labs"]
    assert marked == [page(site, NAMES[0])]
    assert "not recorded yet" in marked[0].read_text(encoding="utf-8")
    assert "This lab ran on" not in marked[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_lab_that_ran_carries_its_own_machine(site: Path, name: str) -> None:
    said = "This lab ran on Another &lt;GPU&gt;, torch 2.11.0, 2026-12-02, from commit abcdef0123."
    assert said in page(site, name).read_text(encoding="utf-8")
    index = (site / "labs" / "index.html").read_text(encoding="utf-8")
    assert index.count("It ran on Another &lt;GPU&gt;") == 2 and index.count("Not recorded yet") == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_light_even_with_much_output(site: Path, name: str) -> None:
    assert len(gzip.compress(page(site, name).read_bytes())) < LIGHT


@pytest.mark.parametrize("name", NAMES)
def test_no_styles_or_scripts_of_the_notebook_are_on_the_page(site: Path, name: str) -> None:
    html = article(site, name)
    for left_over in ("<style", "<script", "<link", "clipboard-copy", "mathjax", "highlight-ipynb {"):
        assert left_over not in html, left_over
    assert html.count("<div") == html.count("</div>")
    assert html.count("<h1") == 1 and html.count('class="lab-files"') == 1


@pytest.mark.parametrize("name", NAMES[1:])
def test_what_a_trace_prints_stays_text(site: Path, name: str) -> None:
    html = page(site, name).read_text(encoding="utf-8")
    assert "alert(1)</script>" not in html and "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_no_link_on_these_pages_leads_nowhere(site: Path) -> None:
    mine = [str(link) for link in links.broken(site) if "labs" in link.file.relative_to(site).parts]
    assert mine == []


@pytest.mark.parametrize("name", NAMES)
def test_the_lab_itself_names_no_other_host(site: Path, name: str) -> None:
    assert [link for link in Links(article(site, name)).found if urlsplit(link).netloc] == []


@pytest.mark.parametrize("name", NAMES)
def test_both_files_can_be_downloaded_from_the_page_and_the_index(site: Path, name: str) -> None:
    root = site.parent
    for at in (page(site, name), site / "labs" / "index.html"):
        found = Links(at.read_text(encoding="utf-8")).found
        for suffix in (".ipynb", ".py"):
            (link,) = {link for link in found if link.endswith(f"{name}{suffix}")}
            assert (at.parent / link).read_bytes() == (root / "docs" / "labs" / f"{name}{suffix}").read_bytes()


def test_the_index_has_a_block_for_every_lab() -> None:
    text = (ROOT / "docs" / "labs" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^/// lab \| (\w+)$", text, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("ran", [True, False])
def test_a_stale_lab_ends_the_build_by_name(tmp_path: Path, ran: bool) -> None:
    root = copy(tmp_path)
    lab = notebooks.named("linear", root / "docs" / "labs")
    if ran:
        run(lab, "x\n")
    lab.script.write_text(lab.script.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    done = build(root)
    assert done.returncode == 1
    assert re.search(r"docs/\S+\.md:\d+: lab linear: its notebook is stale: .*docs/labs/linear\.py", done.stderr)
    assert "next: on a GPU machine: python -m build_traces record --labs" in done.stderr


def test_a_lab_that_is_not_in_the_navigation_ends_the_build(tmp_path: Path) -> None:
    root = copy(tmp_path)
    script = root / "docs" / "labs" / "more.py"
    script.write_text("# %% [markdown]\n# # Lab: more\n", encoding="utf-8")
    notebooks.write_drafts((Lab(script),))
    done = build(root)
    assert done.returncode == 1 and "labs/more.ipynb" in done.stderr
