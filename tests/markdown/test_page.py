"""Pages: where they are, what they link to, their stamp, and what is read how often."""

import os
from collections import Counter
from pathlib import Path

import markdown
import pytest
from html_tree import only, parse, text, with_class

from build_traces import freshness, trace
from build_traces.errors import PageError
from build_traces.markdown import source as source_module
from build_traces.markdown.page import NO_PAGE, find_page

NAME = "nvidia-h200_torch-2.11.0"
TRACES = Path(__file__).parents[1] / "traces" / "h200_probe"

BLOCK = "/// reproduce | mlp_eager\n///\n"


def hrefs(html: str) -> list[str]:
    return [a.get("href") for a in parse(html).iter("a")]


@pytest.mark.parametrize(("name", "up"), [("p.md", ""), ("stages/p.md", "../"), ("a/b/c/p.md", "../../../")])
def test_links_are_relative_to_the_pages_source(repository, name: str, up: str) -> None:
    base = f"{up}recordings/{NAME}"
    assert hrefs(repository.page(f"# Title\n\n{BLOCK}", name)) == [
        f"{base}/mlp_eager/trace.json.gz",
        f"{base}/mlp_eager/stage.json",
        f"{base}/mlp_eager/profile.txt",
        f"{base}/environment.json",
    ]


def test_the_ladder_links_to_the_stages_pages(repository) -> None:
    html = repository.page("/// ladder | mlp_eager mlp_compiled\n///\n", "stages/index.md")
    assert hrefs(html)[:2] == ["mlp_eager.md", "mlp_compiled.md"]
    html = repository.page("Start.\n\n/// ladder | mlp_eager mlp_compiled\n///\n", "index.md")
    assert hrefs(html)[:2] == ["stages/mlp_eager.md", "stages/mlp_compiled.md"]


def test_links_are_elements_that_a_builder_can_rewrite(repository) -> None:
    repository.write_page("p.md", BLOCK)
    md = repository.markdown()
    seen: list[str] = []

    class Rewrite:
        def run(self, root) -> None:
            seen.extend(a.get("href") for a in root.iter("a"))

    md.treeprocessors.register(Rewrite(), "relpath", 0)  # MkDocs registers its own here
    md.convert(BLOCK)
    assert len(seen) == 4


def test_every_page_ends_with_one_stamp(repository) -> None:
    root = parse(repository.page("# Title\n\nText.\n"))
    assert root[-1] is only(root, "stamp")
    assert text(root[-1]) == (
        "Measured on NVIDIA H200, torch 2.11.0+cu130, 2026-12-01, from commit 0123456789. Everything about the machine"
    )
    assert root[-1].get("aria-label") == "Where the numbers come from"


def test_a_text_that_is_no_page_has_facts_and_blocks_but_no_stamp_and_no_links(repository) -> None:
    text_ = "{{ mlp_eager.kernel_count }}\n\n/// timeline | mlp_eager\n///\n\n/// ladder\n///\n\n" + BLOCK
    root = parse(repository.convert(text_))
    assert len(with_class(root, "trace-block")) == 3
    assert not with_class(root, "stamp")
    assert not list(root.iter("a"))
    assert "trace.json.gz" in text(root)


def test_one_instance_converts_one_page_after_another(repository) -> None:
    md = repository.markdown()
    for name in ("a/one.md", "b/c/two.md"):
        source = f"# {name}\n\n{BLOCK}"
        repository.write_page(name, source)
        up = "../" * name.count("/")
        assert f'href="{up}recordings' in md.reset().convert(source)
    assert "stamp" not in md.reset().convert("No page.")


def test_the_same_text_in_two_folders_is_refused(repository) -> None:
    repository.write_page("a/x.md", "# Same\n")
    repository.write_page("b/y.md", "# Same\n")
    with pytest.raises(PageError, match=r"the same text is also in b/y\.md"):
        repository.convert("# Same\n")


def test_the_same_text_twice_in_one_folder_is_no_matter(repository) -> None:
    repository.write_page("a/x.md", "# Same\n")
    repository.write_page("a/y.md", "# Same\n")
    assert "stamp" in repository.convert("# Same\n")


def test_a_page_that_changed_or_went_is_found_again(repository) -> None:
    path = repository.write_page("x.md", "# One\n")
    docs = repository.root / "docs"
    assert find_page("# One\n", docs).label.endswith("x.md")
    path.write_text("# Two, longer\n")
    assert find_page("# Two, longer\n", docs).is_page
    assert find_page("# One\n", docs).label == NO_PAGE
    path.unlink()
    assert not find_page("# Two, longer\n", docs).is_page


def test_the_environment_variable_chooses_the_recording(repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.recording.rename(repository.recording.with_name("mine"))
    monkeypatch.setenv("RECORDING", "mine")
    assert "recordings/mine/environment.json" in repository.page("# Title\n")


def test_two_conversions_are_identical(repository) -> None:
    source = "".join(f"/// {b} | mlp_eager\n///\n\n" for b in ("kernels", "ops", "timeline", "ladder", "facts"))
    first = repository.page(f"# {{{{ recording.gpu }}}}\n\n{source}")
    assert first == repository.page(f"# {{{{ recording.gpu }}}}\n\n{source}")


def test_a_trace_is_read_once_however_many_pages_show_it(repository, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    status: Counter[str] = Counter()
    real_read, real_status = trace.read, freshness.status
    monkeypatch.setattr(trace, "read", lambda path: (read.update([path.parent.name]), real_read(path))[1])
    monkeypatch.setattr(
        freshness, "status", lambda stage, *rest: (status.update([stage.name]), real_status(stage, *rest))[1]
    )
    for n in range(5):
        repository.page(f"# {n}\n\n/// kernels | mlp_eager\n///\n\n/// ops | mlp_compiled\n///\n", f"{n}.md")
    assert read == {"mlp_eager": 1, "mlp_compiled": 1}
    # mlp_eager is checked for itself and for mlp_compiled, which is set against it.
    assert set(status) == {"mlp_eager", "mlp_compiled"}
    assert max(status.values()) <= 3


def test_a_stage_that_was_recorded_anew_is_read_anew(repository) -> None:
    assert ">5<" in repository.page("{{ mlp_eager.kernel_count }}")
    path = repository.recording / "mlp_eager" / "trace.json.gz"
    path.write_bytes((TRACES / "linear_eager.json.gz").read_bytes())
    assert ">1<" in repository.page("{{ mlp_eager.kernel_count }}")


@pytest.mark.parametrize("snippet", ["shared.py", "mlp_compiled.py", "mlp_eager.py"])
def test_a_stage_that_became_stale_is_refused_while_serving(repository, snippet: str) -> None:
    assert "208" in repository.page("{{ mlp_compiled.gpu_us }}")
    (repository.root / "snippets" / snippet).write_text("SIZE = 30720\n")
    with pytest.raises(PageError, match="stale"):
        repository.page("{{ mlp_compiled.gpu_us }}")


def test_a_page_asks_once_whether_a_stage_has_changed(repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.page("{{ mlp_eager.gpu_us }}")
    asked: list[object] = []
    real = source_module.fingerprint
    monkeypatch.setattr(source_module, "fingerprint", lambda files: (asked.append(files), real(files))[1])
    repository.page("{{ mlp_eager.gpu_us }} " * 20)
    assert len(asked) == 4  # environment.json with ladder.toml, the stage, the claims, the exercises


def test_another_environment_file_is_read_anew(repository) -> None:
    assert "H200" in repository.page("{{ recording.gpu }}")
    path = repository.recording / "environment.json"
    path.write_text(path.read_text().replace("NVIDIA H200", "NVIDIA B200"))
    os.utime(path, ns=(1, 1))
    assert "NVIDIA B200" in repository.page("{{ recording.gpu }}")


CONTAINERS = {
    "admonition": "!!! note\n\n    {}",
    "tab": '=== "Tab"\n\n    {}',
    "definition": "Term\n\n:   Text.\n\n    {}",
    "list": "1. One\n\n    {}\n\n2. Two",
    "nested list": "- a\n\n    - b\n\n        {}",
    "quote": "> {}",
    "div": "<div markdown>\n\n{}\n\n</div>",
    "longer block": "//// details | More\n{}\n////",
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("block", ["kernels", "timeline", "reproduce"])
def test_blocks_work_inside_other_things(repository, container: str, block: str) -> None:
    written = f"/// {block} | mlp_eager\n///"
    before = CONTAINERS[container].partition("{}")[0].rpartition("\n")[2]
    source = "Text.\n\n" + CONTAINERS[container].replace("{}", written.replace("\n", "\n" + before)) + "\n\nThe end.\n"
    repository.write_page("page.md", source)
    extensions = [
        "build_traces.markdown", "admonition", "attr_list", "def_list", "md_in_html", "tables", "toc",
        "pymdownx.tabbed", "pymdownx.blocks.admonition", "pymdownx.blocks.details", "pymdownx.superfences",
    ]  # fmt: skip
    configs = {"build_traces.markdown": {"recording": NAME}, "pymdownx.tabbed": {"alternate_style": True}}
    root = parse(markdown.Markdown(extensions=extensions, extension_configs=configs).convert(source))
    figure = only(root, f"trace-block--{block}")
    assert "mlp_eager" in text(figure) or block == "kernels"
    assert "The end." in [text(p) for p in root.findall("p")]
    assert "///" not in text(root)
