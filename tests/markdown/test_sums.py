"""Sums in pages: they run on the recording that the page shows, and one that fails ends the build with its line."""

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import markdown
import markdown_exec
import pytest
from html_tree import only, parse, with_class
from mkdocs.config import load_config

from build_traces.errors import FactError, NotRecordedError, PageError
from build_traces.facts import Facts
from build_traces.markdown import sums
from build_traces.markdown.source import folder_of, open_facts
from build_traces.markdown.sums import fact

ROOT = Path(__file__).parents[2]
NAME = "nvidia-h200_torch-2.11.0"
FRONT_MATTER = re.compile(r"(?s)(---\n.*?\n---\n|)(.*)")
IMPORT = "from build_traces.markdown.sums import fact\n"


def convert(repository, code: str, header: str = sums.HEADER, front_matter: str = "") -> str:
    """A page with one sum, its code from line 6 on, built as mkdocs.yml says."""
    text = f"# Title\n\nText.\n\n{header}\n{code}\n```\n"
    fence = {"name": "python", "class": "python", "validator": markdown_exec.validator, "format": sums.formatter}
    repository.write_page("page.md", front_matter + text)
    return markdown.Markdown(
        extensions=["build_traces.markdown", "pymdownx.superfences", "pymdownx.highlight"],
        extension_configs={
            "build_traces.markdown": {"recording": NAME},
            "pymdownx.superfences": {"custom_fences": [fence]},
        },
    ).convert(text)


def shown(html: str) -> list[tuple[str, str]]:
    """Code and result of each sum in a page."""
    boxes = ([*box.iter("pre")] for box in with_class(parse(html), "sum"))
    return [("".join(code.itertext()).strip(), "".join(result.itertext()).strip()) for code, result in boxes]


def code_and_result(html: str) -> tuple[str, str]:
    (only_one,) = shown(html)
    return only_one


def refused(repository, code: str, header: str = sums.HEADER) -> PageError:
    with pytest.raises(PageError) as error:
        convert(repository, code, header)
    return error.value


def test_a_sum_is_shown_above_what_it_prints_of_the_recording(repository) -> None:
    # mlp_eager in the small repository: 1 + 60 + 30 + 1 + 60 + 40 + 50 µs in seven pieces of work
    code = IMPORT + 'print(fact("mlp_eager.gpu_us") * 2, fact("mlp_eager.kernel_count"))'
    assert code_and_result(convert(repository, code)) == (code, "484.0 5")


def test_the_result_has_a_label_that_can_be_read(repository) -> None:
    (label,) = with_class(parse(convert(repository, "print(1)")), "filename")
    assert label.text == "It prints"


def test_what_a_function_prints_is_shown_too(repository) -> None:
    code = "import builtins\ndef show(x):\n    builtins.print(x)\nshow(2)\nprint(3)"
    assert code_and_result(convert(repository, code))[1] == "2\n3"


def test_hostile_output_is_text(repository) -> None:
    html = convert(repository, "print('<b>{{ no.fact }}</b> **x**')")
    assert code_and_result(html)[1] == "<b>{{ no.fact }}</b> **x**"


def test_nothing_is_left_of_one_sum_in_the_next(repository) -> None:
    convert(repository, "left = 1\nprint(left)")
    assert "NameError" in refused(repository, "print(left)").message


@pytest.mark.parametrize(
    ("code", "line", "says"),
    [
        ("x = 0\nprint(1 / x)", 7, "ZeroDivisionError"),
        ("def inner():\n    return 1 / 0\n\nprint(inner())", 7, "ZeroDivisionError"),
        ("print(1)\nprint(", 7, "SyntaxError"),
        ("import sys\nsys.exit(0)", 7, "SystemExit"),
        (
            IMPORT + 'print(fact("mlp_eager.kernel_cuont"))',
            7,
            "no fact 'kernel_cuont'|no fact 'mlp_eager.kernel_cuont'",
        ),
        ("x = 1", 5, "prints nothing"),
    ],
)
def test_a_sum_that_fails_ends_the_build_with_its_line(repository, code: str, line: int, says: str) -> None:
    error = refused(repository, code)
    assert (error.where, bool(re.search(says, error.message))) == (f"docs/page.md:{line}", True)
    assert error.hint


def test_the_hint_names_the_fact_that_was_meant(repository) -> None:
    assert "mlp_eager.kernel_count" in refused(repository, IMPORT + 'print(fact("mlp_eager.kernel_cuont"))').hint


@pytest.mark.parametrize(
    "header",
    [
        '```python exec="on"',
        '```python exec="on" source="below" result="text"',
        '```python exec="on" source="above" result="text" session="a"',
        '```python exec="on" source="above" result="text" html="on"',
    ],
)
def test_a_sum_has_one_form(repository, header: str) -> None:
    assert sums.HEADER in refused(repository, "print(1)", header).hint


MKDOCS = """
site_name: Test
plugins: []
markdown_extensions:
  - build_traces.markdown:
      recording: nvidia-h200_torch-2.11.0
  - pymdownx.superfences:
      custom_fences:
        - name: python
          class: python
          validator: !!python/name:markdown_exec.validator
          format: !!python/name:build_traces.markdown.sums.formatter
"""


def test_it_ends_the_builder_too_even_a_quiet_one_that_is_not_strict(repository) -> None:
    """As shipped, markdown-exec only warns, and a quiet build hides that."""
    (repository.root / "mkdocs.yml").write_text(MKDOCS)
    repository.write_page("index.md", f"# Title\n\n{sums.HEADER}\nprint(1 / 0)\n```\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", "site"]
    built = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (built.returncode, "docs/index.md:4: this sum fails: ZeroDivisionError" in built.stderr) == (1, True)


def test_a_draft_says_what_is_not_recorded_and_any_other_page_is_refused(repository) -> None:
    stage = repository.recording / "mlp_compiled"
    stage.rename(repository.root / "elsewhere")
    code = IMPORT + 'print(fact("mlp_compiled.gpu_us"))'
    assert "not recorded yet" in refused(repository, code).message or "missing" in refused(repository, code).message
    html = convert(repository, code, front_matter="---\ndraft: true\n---\n")
    assert code_and_result(html)[1] == "not recorded yet"
    assert "mlp_compiled" in "".join(only(parse(html), "draft").itertext())


def test_outside_a_page_there_are_no_facts() -> None:
    with pytest.raises(FactError, match="only while a sum in a page runs"):
        fact("mlp_eager.gpu_us")


def test_facts_end_with_the_sum(repository) -> None:
    convert(repository, IMPORT + 'print(fact("mlp_eager.gpu_us"))')
    with pytest.raises(FactError):
        fact("mlp_eager.gpu_us")


# The sums in the pages of this repository


@dataclass(frozen=True)
class Sum:
    """A fence in a page, found without the code that renders it."""

    place: str
    header: str
    code: str


def sums_of(page: Path) -> list[Sum]:
    lines = page.read_text(encoding="utf-8").split("\n")
    found = []
    for index, line in enumerate(lines):
        if re.match(r"\s*(```|~~~).*\bexec=", line):
            end = next(n for n in range(index + 1, len(lines)) if lines[n].strip() == line.strip()[:3])
            code = textwrap.dedent("\n".join(lines[index + 1 : end]))
            found.append(Sum(f"{page.relative_to(ROOT)}:{index + 1}", line.strip(), code.strip()))
    return found


PAGES = {page: found for page in sorted((ROOT / "docs").rglob("*.md")) if (found := sums_of(page))}


def test_every_sum_of_the_guide_has_the_form_that_is_run() -> None:
    written = {each.place: each.header for found in PAGES.values() for each in found}
    assert [place for place, header in written.items() if not header.startswith(sums.HEADER)] == []


def test_every_sum_of_the_guide_runs_and_its_page_shows_what_it_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("RECORDING", raising=False)
    config = load_config(str(ROOT / "mkdocs.yml"))
    name = config.mdx_configs["build_traces.markdown"]["recording"]
    facts = open_facts(folder_of(name, Path("docs/recordings")), Path("snippets"))
    for page, found in PAGES.items():
        front_matter, body = FRONT_MATTER.match(page.read_text(encoding="utf-8")).groups()
        md = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
        draft = "draft: true" in front_matter.split("\n")
        assert shown(md.convert(body)) == [(each.code, printed(each, facts, draft)) for each in found], page


def printed(each: Sum, facts: Facts, draft: bool) -> str:
    """What a sum prints when it runs by itself."""
    try:
        return sums.run(each.code, facts).strip()
    except NotRecordedError:
        assert draft, each.place
        return "not recorded yet"
