"""What ends a build, with file, line and what to do: nothing is left as text without a word."""

from collections.abc import Callable

import markdown
import markdown_exec
import msgspec
import pytest

from build_traces.errors import PageError
from build_traces.markdown.profile import Profile

NAME = "nvidia-h200_torch-2.11.0"

BLOCK = "/// kernels | mlp_eager\n///\n"


def refused(repository, text: str, front_matter: str = "") -> PageError:
    with pytest.raises(PageError) as error:
        repository.page(text, "a/b.md", front_matter)
    assert error.value.hint
    return error.value


@pytest.mark.parametrize(
    ("block", "line", "message", "hint"),
    [
        ("/// kernel | mlp_eager\n///", 3, "there is no block 'kernel'", "did you mean kernels"),
        ("/// zzz\n///", 3, "there is no block 'zzz'", "the blocks are claim, claims, compare, distribution"),
        ("/// kernels\n///", 3, "block 'kernels' needs a stage", "write /// kernels | mlp_eager"),
        ("/// kernel-names | x\n///", 3, "block 'kernel-names' takes no argument", "write /// kernel-names"),
        (
            "/// kernels | mlp_eager\n    wide: yes\n///",
            4,
            "block 'kernels' has no option 'wide'",
            "its options are attrs",
        ),
        ("/// kernels | mlp_eager\n", 3, "block 'kernels' is not closed", "write /// on the line behind it"),
        ("/// kernels | mlp_eager\nSome text.\n///", 3, "block 'kernels' is not closed", "it has no content"),
        ("/// kernels | mlp_eagre\n///", 3, "there is no stage 'mlp_eagre'", "did you mean mlp_eager"),
        ("/// kernels | mlp_eager mlp_compiled\n///", 3, "takes one stage, 2 were given", "write a block for each"),
        ("/// timeline | mlp_eager zzz\n///", 3, "there is no stage 'zzz'", "there are linear_cold"),
        ("/// kernels | mlp_eager\n    attrs: {id: [}\n///", 3, "was not rendered", "put it into a fence"),
        ("    /// kernels | mlp_eager\n    ///", 3, "was not rendered", "put it into a fence"),
        ("/// kernels | mlp_eager\n/// ops | mlp_eager\n///\n///", 3, "block 'kernels' is not closed", "no content"),
        ("<div>\n/// kernels | mlp_eager\n///\n</div>", 4, "was not rendered", "empty line"),
        ("`<!--`\n\n/// kernel | x\n///", 5, "there is no block 'kernel'", "did you mean kernels"),
        ("<!-- a\nb -->\n/// kernel | x\n///", 5, "there is no block 'kernel'", "did you mean kernels"),
        ("```\n<!--\n```\n/// kernel | x\n///", 6, "there is no block 'kernel'", "did you mean kernels"),
        ("- /// kernel | x\n  ///", 3, "there is no block 'kernel'", "did you mean kernels"),
        ("> /// kernel | mlp_eager\n> ///", 3, "there is no block 'kernel'", "did you mean kernels"),
        ("{{ mlp_eager.gpu_us:.1q }}", 3, "no fact 'mlp_eager.gpu_us:'", "did you mean mlp_eager.gpu_us"),
        ("{{ mlp_eager.kernel.1.name:.1f }}", 3, "cannot be written in the format '.1f'", "Python format"),
        ("{{ zzz.gpu_us }}", 3, "there is no stage 'zzz'", "there are linear_cold"),
        ("{{ gpu_us }}", 3, "'gpu_us' is no path of a fact", "write <stage>.<fact>"),
        ("{{ mlp_compiled.hbm_mb }}", 3, "HBM bytes of stage mlp_compiled were not measured: ncu is not there", None),
    ],
)
def test_what_cannot_be_rendered_is_refused_by_line(
    repository, block: str, line: int, message: str, hint: str | None
) -> None:
    with pytest.raises(PageError) as error:
        repository.page(f"Text.\n\n{block}\n", "a/b.md")
    assert str(error.value).startswith(f"docs/a/b.md:{line}: ")
    assert message in error.value.message
    assert hint is None or hint in error.value.hint


def test_the_line_counts_the_front_matter_and_the_blank_lines_behind_it(repository) -> None:
    error = refused(repository, "\n\n# Title\n\n{{ no.fact }}\n", front_matter="---\ntitle: x\n---\n")
    # Front matter on 1–3, blank 4 and 5, title on 6, the fact on 8.
    assert error.where == "docs/a/b.md:8"


def test_the_line_is_right_where_the_builder_strips_the_front_matter(repository) -> None:
    repository.write_page("a/b.md", "---\ntitle: x\n---\n\n\n# Title\n\n{{ no.fact }}\n")
    with pytest.raises(PageError, match="no stage 'no'") as error:
        repository.convert("# Title\n\n{{ no.fact }}\n")
    assert error.value.where == "docs/a/b.md:8"


def test_windows_line_ends_make_no_difference(repository) -> None:
    (repository.root / "docs" / "w.md").write_bytes(b"# Title\r\n\r\n{{ no.fact }}\r\n")
    with pytest.raises(PageError) as error:
        repository.convert("# Title\n\n{{ no.fact }}\n")
    assert error.value.where == "docs/w.md:3"


def test_the_second_of_two_blocks_is_named_by_its_own_line(repository) -> None:
    text = f"{BLOCK}\n/// profile | mlp_eager\n///\n\n{BLOCK}\n<div>\n{BLOCK}</div>\n"
    assert refused(repository, text).where == "docs/a/b.md:11"


def test_a_text_that_is_no_page_says_the_line_within_it(repository) -> None:
    with pytest.raises(PageError) as error:
        repository.convert("One.\n\n{{ no.fact }}\n")
    assert error.value.where == "<Markdown that is no page>:3"


# Snippets


@pytest.mark.parametrize(
    ("embed", "message", "hint"),
    [
        ("snippets/mlp_eager.py:modle", "snippets/mlp_eager.py has no section 'modle'", "its sections are model"),
        ("snippets/none.py:model", "there is no file snippets/none.py to embed", "write it"),
        ("snippets/none.py", "there is no file snippets/none.py to embed", "write it"),
        ("snippets/none.py:1:3", "there is no file snippets/none.py to embed", "write it"),
        ("snippets/shared.py:model", "snippets/shared.py has no section 'model'", "it has no sections"),
    ],
)
@pytest.mark.parametrize("fence", ["```python\n{}\n```", "{}", "- item\n\n    ```python\n    {}\n    ```"])
def test_a_snippet_that_is_not_there_is_refused(repository, embed: str, message: str, hint: str, fence: str) -> None:
    text = "Text.\n\n" + fence.format(f'--8<-- "{embed}"')
    error = refused(repository, text)
    assert error.message == message
    assert hint in error.hint
    assert error.line == 1 + text[: text.index("--8<--")].count("\n")


def test_a_section_without_an_end_is_refused(repository) -> None:
    (repository.root / "snippets" / "open.py").write_text("# --8<-- [start:all]\nx = 1\n")
    assert "has no end" in refused(repository, '--8<-- "snippets/open.py:all"\n').message


def test_a_list_of_snippets_is_checked_line_by_line(repository) -> None:
    text = "--8<--\nsnippets/shared.py\n;snippets/commented_out.py\nsnippets/none.py\n--8<--\n"
    assert refused(repository, text).where == "docs/a/b.md:4"


def test_snippets_without_their_extension_are_refused(repository) -> None:
    md = repository.markdown()
    md.preprocessors.deregister("snippet")
    with pytest.raises(PageError, match=r"pymdownx\.snippets is not there"):
        md.convert('--8<-- "snippets/shared.py"\n')


@pytest.mark.parametrize("embed", ["snippets/mlp_eager.py:model", "snippets/mlp_eager.py:1:2", "snippets/shared.py"])
def test_a_snippet_that_is_there_is_embedded(repository, embed: str) -> None:
    assert "SIZE" in repository.page(f'```\n--8<-- "{embed}"\n```\n') or embed.endswith("1:2")


def test_an_escaped_snippet_is_shown(repository) -> None:
    assert "--8&lt;--" in repository.page('```\n;--8<-- "snippets/none.py:none"\n```\n')


# What is no block


@pytest.mark.parametrize(
    "text",
    [
        "```\n/// kernel | x\n```",
        "````md\n```\n/// kernel | x\n```\n````",
        "~~~\n/// kernel | x\n```\n/// kernel\n~~~",
        "> ```\n> /// kernel | x\n> ```",
        "- ```\n  /// kernel | x\n  ```",
        "<!-- /// kernel | x -->",
        "`<!--` opens a comment, ``a ` b``.\n\n<!-- x --> y",
        "<!--\n/// kernel | x\n-->",
        "A path like ///etc is no block.",
    ],
)
def test_what_only_looks_like_a_block_is_let_be(repository, text: str) -> None:
    assert "trace-block" not in repository.page(f"Text.\n\n{text}\n")


# Recordings


def test_a_changed_snippet_makes_its_stage_stale(repository) -> None:
    (repository.root / "snippets" / "mlp_eager.py").write_text("def stage(): ...\n")
    error = refused(repository, f"Text.\n\n{BLOCK}")
    assert error.where == "docs/a/b.md:3"
    assert (
        "stage mlp_eager: its recording is stale: snippets/mlp_eager.py or a snippet that it imports has changed"
        in (error.message)
    )
    assert error.hint == "on a GPU machine: python -m build_traces record --stages mlp_eager"


def test_a_changed_import_makes_every_stage_stale(repository) -> None:
    (repository.root / "snippets" / "shared.py").write_text("SIZE = 1\n")
    assert "stale" in refused(repository, "{{ mlp_compiled.gpu_us }}").message


@pytest.mark.parametrize(("field", "value"), [("protocol", 0), ("machine", "another GPU")])
def test_another_protocol_or_machine_is_stale(repository, field: str, value: object) -> None:
    repository.write_stage(msgspec.structs.replace(repository.record("mlp_eager"), **{field: value}))
    assert "its recording is stale: recorded" in refused(repository, "{{ mlp_eager.gpu_us }}").message


def test_a_missing_stage_is_refused(repository) -> None:
    (repository.recording / "mlp_eager" / "stage.json").unlink()
    assert "its recording is missing" in refused(repository, BLOCK).message


def test_a_stage_set_against_a_stale_one_is_refused(repository) -> None:
    (repository.recording / "mlp_eager" / "stage.json").unlink()
    assert "stage mlp_eager: its recording is missing" in refused(repository, "{{ mlp_compiled.speedup }}").message


def test_the_ladder_refuses_any_stale_stage(repository) -> None:
    (repository.recording / "mlp_cudagraph" / "stage.json").unlink()
    assert "stage mlp_cudagraph" in refused(repository, "/// ladder\n///\n").message


def test_a_stale_stage_that_a_page_does_not_use_does_not_matter(repository) -> None:
    (repository.recording / "mlp_cudagraph" / "stage.json").unlink()
    assert "242" in repository.page("{{ mlp_eager.gpu_us }}")


@pytest.mark.parametrize(
    ("file", "block"),
    [
        ("mlp_eager/profile.txt", "/// profile | mlp_eager\n///\n"),
        ("mlp_eager/trace.json.gz", "/// ops | mlp_eager\n///\n"),
        ("mlp_compiled/generated.py", "/// generated | mlp_compiled\n///\n"),
    ],
)
def test_a_missing_file_of_a_stage_is_refused(repository, file: str, block: str) -> None:
    (repository.recording / file).unlink()
    with pytest.raises(PageError, match="cannot be read") as error:
        repository.page(f"Text.\n\n{block}", "a/b.md")
    assert error.value.where == "docs/a/b.md:3"


def test_a_damaged_trace_is_refused(repository) -> None:
    path = repository.recording / "mlp_eager" / "trace.json.gz"
    path.write_bytes(path.read_bytes()[:1000])
    assert "damaged or cut short" in refused(repository, "{{ mlp_eager.kernel_count }}").message


def test_a_page_without_any_fact_needs_a_recording_too(repository) -> None:
    (repository.recording / "environment.json").unlink()
    error = refused(repository, "# Only text\n")
    assert error.where == "docs/a/b.md:1"
    assert f"there is no recording '{NAME}' in docs/recordings" in error.message
    assert error.hint == "on a GPU machine: python -m build_traces record"


@pytest.mark.parametrize(("name", "message"), [("", "no recording is named"), ("b200", "there is no recording 'b200'")])
def test_a_recording_that_is_not_there_is_refused_with_those_that_are(repository, name: str, message: str) -> None:
    repository.write_page("p.md", "# Page\n")
    with pytest.raises(PageError, match=message) as error:
        repository.convert("# Page\n", recording=name)
    assert error.value.hint == f"name one of {NAME}"


def test_an_unknown_option_of_the_extension_is_refused(repository) -> None:
    with pytest.raises(KeyError):
        repository.convert("x", recordnig="x")


def test_a_failure_inside_a_fence_is_not_swallowed(repository) -> None:
    """superfences shows a fence whose formatter raises as plain code, unless the error is its own."""

    def formatter(source: str, *_: object, **__: object) -> str:
        return repository.convert(source)

    fence = {"name": "run", "class": "run", "format": formatter}
    md = markdown.Markdown(
        extensions=["pymdownx.superfences"],
        extension_configs={"pymdownx.superfences": {"custom_fences": [fence]}},
    )
    with pytest.raises(PageError, match="no stage 'no'") as error:
        md.convert("Text.\n\n```run\nOne.\n\n{{ no.fact }}\n```\n")
    assert error.value.where == "<Markdown that is no page>:3"


# Output of code in a page


def executed(repository, code: str) -> str:
    """A page with a markdown-exec fence, built as MkDocs configures it."""
    extensions = ["build_traces.markdown", "pymdownx.superfences"]
    fence = {
        "name": "python",
        "class": "python",
        "validator": markdown_exec.validator,
        "format": markdown_exec.formatter,
    }
    configs = {"build_traces.markdown": {"recording": NAME}, "pymdownx.superfences": {"custom_fences": [fence]}}
    markdown_exec.markdown_config.save(extensions, configs)
    source = f'# Title\n\n```python exec="on"\n{code}\n```\n'
    repository.write_page("exec.md", source)
    try:
        return markdown.Markdown(extensions=extensions, extension_configs=configs).convert(source)
    finally:
        markdown_exec.markdown_config.reset()


def test_facts_and_blocks_work_in_the_output_of_code(repository) -> None:
    html = executed(repository, "print('{{ mlp_eager.kernel_count }}\\n\\n/// timeline | mlp_eager\\n///')")
    assert 'data-fact="mlp_eager.kernel_count"' in html
    assert "trace-block--timeline" in html
    assert html.count('class="stamp"') == 1


def test_a_failure_in_the_output_of_code_ends_the_build(repository) -> None:
    with pytest.raises(PageError, match="no stage 'no'") as error:
        executed(repository, "print('One.\\n\\n{{ no.fact }}')")
    assert error.value.where == "<Markdown that is no page>:3"


def test_a_trace_without_steps_is_refused(repository, edit_trace: Callable) -> None:
    def drop(events: list[dict]) -> None:
        events[:] = [e for e in events if not str(e.get("name", "")).startswith("ProfilerStep")]

    edit_trace("mlp_eager", drop)
    for block in ("timeline", "ops"):
        with pytest.raises(PageError, match="has no ProfilerStep"):
            repository.page(f"/// {block} | mlp_eager\n///\n")


def test_what_nobody_foresaw_is_told_with_its_place(repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Profile, "render", lambda *_: 1 / 0)
    with pytest.raises(PageError, match="cannot be rendered: ZeroDivisionError") as error:
        repository.page("Text.\n\n/// profile | mlp_eager\n///\n", "a/b.md")
    assert error.value.where == "docs/a/b.md:3"
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_content_in_a_block_of_an_included_file_is_refused(repository) -> None:
    (repository.root / "snippets" / "part.md").write_text("/// profile | mlp_eager\nSome text.\n///\n")
    text = 'Text.\n\n--8<-- "snippets/part.md"\n'
    assert "block 'profile' takes no content" in refused(repository, text).message


def test_a_fact_in_an_included_file_is_refused_on_the_first_line_of_the_page(repository) -> None:
    (repository.root / "snippets" / "part.md").write_text("{{ no.fact }}\n")
    error = refused(repository, 'Text.\n\n--8<-- "snippets/part.md"\n')
    assert (error.where, error.message) == ("docs/a/b.md:1", "there is no stage 'no'")
