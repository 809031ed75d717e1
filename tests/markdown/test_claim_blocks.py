"""Claims on pages: the figure, the audit, and the build that ends where a page says what its recording does not."""

import json
import re
import shutil

import pytest
from html_tree import cells, only, parse, text, with_class

from build_traces.errors import EntryError, PageError

# mlp_eager runs five kernels and two memsets a step, 242 µs in all; mlp_compiled four kernels.
FIVE = '[[claim]]\nid = "five"\nsays = "Five `kernels` run."\ncheck = "{mlp_eager.kernel_count} == 5"\n'
SIX = FIVE.replace("five", "six").replace("Five", "Six").replace("5", "6")
BLOCK = "# Title\n\n/// claim | five\n///\n"
NAME = "nvidia-h200_torch-2.11.0"
OTHER = "another-gpu_torch-2.11.0"


def write_claims(repository, content: str, name: str = "chapter.toml") -> None:
    folder = repository.root / "docs" / "claims"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")


@pytest.fixture
def other(repository):
    """A second recording: another GPU that runs six kernels, without mlp_cudagraph; its folder."""
    folder = repository.recording.parent / OTHER
    shutil.copytree(repository.recording, folder)
    shutil.rmtree(folder / "mlp_cudagraph")
    environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
    (folder / "environment.json").write_text(json.dumps(environment | {"gpu": "Another GPU"}), encoding="utf-8")
    for path in folder.glob("*/stage.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        record["machine"] = record["machine"].replace("NVIDIA H200", "Another GPU")
        path.write_text(json.dumps(record), encoding="utf-8")
    shutil.copyfile(folder / "mlp_compiled" / "trace.json.gz", folder / "mlp_eager" / "trace.json.gz")
    return folder


def refused(repository, page: str, front_matter: str = "", **options: str) -> PageError:
    repository.write_page("a/b.md", front_matter + page)
    with pytest.raises(PageError) as error:
        repository.convert(page, **options)
    assert error.value.hint
    return error.value


# The figure


def test_a_claim_shows_its_sentence_its_verdict_and_what_was_measured(repository) -> None:
    write_claims(
        repository,
        FIVE + 'measured = "{{ mlp_eager.kernel_count }} kernels, {{ 2 * {mlp_eager.gpu_us} :.1f }} µs twice, by '
        '{{ mlp_eager.kernel.2.launched_by }}"\nwhy = "See [the `source`](https://example.org) for '
        '{{ mlp_eager.memset_count }} memsets."\n',
    )
    figure = only(parse(repository.page(BLOCK)), "trace-block--claim")
    assert figure.get("data-claim") == "five"
    says = only(figure, "claim-says")
    assert text(says) == "Five kernels run."
    assert [text(code) for code in says.iter("code")] == ["kernels"]
    (entry,) = list(only(figure, "verdicts"))
    assert text(entry) == "holds on NVIDIA H200, torch 2.11.0 5 kernels, 484.0 µs twice, by cudaLaunchKernel"
    assert [fact.get("value") for fact in entry.iter("data")] == ["5", "484.0", "cudaLaunchKernel"]
    assert text(only(figure, "verdict--holds")) == "holds"
    why = only(figure, "claim-why")
    assert text(why) == "See the source for 2 memsets."
    assert [link.get("href") for link in why.iter("a")] == ["https://example.org"]
    assert text(next(figure.iter("details"))) == "the checkmlp_eager.kernel_count == 5"


def test_without_a_text_the_facts_of_the_check_are_shown(repository) -> None:
    write_claims(repository, FIVE.replace("== 5", "== 5 and ({mlp_eager.gpu_us} > 1 and True)"))
    figure = only(parse(repository.page(BLOCK)), "trace-block--claim")
    assert "mlp_eager.kernel_count = 5, mlp_eager.gpu_us = 242 µs" in text(only(figure, "verdicts"))
    code = next(next(figure.iter("details")).iter("code"))
    assert [text(code), len(list(code.iter("br")))] == [
        "mlp_eager.kernel_count == 5and (mlp_eager.gpu_us > 1 and True)",
        1,
    ]


def test_who_said_it_stands_above_with_a_link_to_the_audit(repository) -> None:
    write_claims(repository, FIVE.replace('"five"', '"A4"') + 'where = "the article"\n', "article.toml")
    repository.write_page("claims.md", "# Audit\n\n/// claims\n///\n")
    figure = only(parse(repository.page("# Title\n\n/// claim | A4\n///\n", "x/page.md")), "trace-block--claim")
    caption = next(figure.iter("figcaption"))
    assert text(caption) == "Claim A4, by the article"
    assert [link.get("href") for link in caption.iter("a")] == ["../claims.md#a4"]


def test_a_hostile_name_in_a_claim_is_escaped(repository, edit_trace) -> None:
    def rename(events: list[dict]) -> None:
        for event in events:
            if event.get("cat") == "kernel" and "Gelu" in event["name"]:
                event["name"] = "<script>alert(1)</script>{{ mlp_eager.kernel_count }} *x*"

    edit_trace("mlp_eager", rename)
    write_claims(repository, FIVE + 'measured = "{{ mlp_eager.kernel.2.name }}"\n')
    figure = only(parse(repository.page(BLOCK)), "trace-block--claim")
    assert not list(figure.iter("script"))
    assert "<script>alert(1)</script>{{ mlp_eager.kernel_count }} *x*" in text(figure)


def test_another_recording_shows_its_own_verdict_and_ends_nothing(repository, other) -> None:
    write_claims(repository, FIVE + 'measured = "{{ mlp_eager.kernel_count }}"\n')
    entries = list(only(parse(repository.page(BLOCK)), "verdicts"))
    assert [text(entry) for entry in entries] == [
        "holds on NVIDIA H200, torch 2.11.0 5",
        "does not hold on Another GPU, torch 2.11.0 4",
    ]


def test_what_another_recording_lacks_is_not_yet_measured_there(repository, other) -> None:
    write_claims(repository, FIVE.replace("mlp_eager.kernel_count} == 5", "mlp_cudagraph.memset_count} == 2"))
    entries = list(only(parse(repository.page(BLOCK)), "verdicts"))
    assert text(entries[0]).startswith("holds on NVIDIA H200")
    assert text(entries[1]) == "not yet measured on Another GPU, torch 2.11.0 Stage mlp_cudagraph is not recorded yet."


def test_a_measured_text_that_another_recording_cannot_give_says_why(repository, other) -> None:
    write_claims(repository, FIVE + 'measured = "{{ mlp_eager.kernel.5.us }} µs"\n')
    entries = list(only(parse(repository.page(BLOCK)), "verdicts"))
    assert text(entries[1]).endswith("– stage mlp_eager has kernels 1 to 4 a step, no kernel 5")


# The build that ends


def test_a_claim_that_does_not_hold_ends_the_build(repository) -> None:
    write_claims(repository, f"\n{SIX}")
    error = refused(repository, "# Title\n\nText.\n\n/// claim | six\n///\n")
    assert str(error) == (
        "docs/a/b.md:5: claim 'six' (docs/claims/chapter.toml:2) does not hold on nvidia-h200_torch-2.11.0, "
        "and this page says that it holds: mlp_eager.kernel_count = 5\n"
        "  next: change what the page says of it, and then expect: does not hold; or correct the check"
    )


def test_a_claim_that_holds_ends_the_build_where_the_page_says_that_it_does_not(repository) -> None:
    write_claims(repository, FIVE)
    error = refused(repository, "# Title\n\n/// claim | five\n    expect: does not hold\n///\n")
    assert error.where == "docs/a/b.md:3"
    assert "holds on nvidia-h200_torch-2.11.0, and this page says that it does not hold" in error.message


def test_a_claim_that_does_not_hold_is_shown_where_the_page_says_so(repository) -> None:
    write_claims(repository, SIX)
    html = repository.page("# Title\n\n/// claim | six\n    expect: does not hold\n///\n")
    assert text(only(parse(html), "verdict--fails")) == "does not hold"


def test_the_first_recording_decides_whatever_recording_is_shown(
    repository, other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECORDING", OTHER)
    write_claims(repository, FIVE)
    html = repository.page(f"{BLOCK}\n{{{{ recording.gpu }}}}\n")
    assert [text(v) for v in with_class(parse(html), "verdict")] == ["holds", "does not hold"]
    assert "Another GPU" in text(next(e for e in parse(html).iter("data") if e.get("data-fact") == "recording.gpu"))
    write_claims(repository, FIVE.replace("5", "4"))  # true of the recording that is shown
    assert f"does not hold on {NAME}" in refused(repository, BLOCK).message


@pytest.mark.parametrize("front_matter", ["", "---\ndraft: true\n---\n"])
def test_what_is_not_yet_measured_ends_the_build_unless_the_page_is_a_draft(repository, front_matter: str) -> None:
    shutil.rmtree(repository.recording / "mlp_cudagraph")
    write_claims(repository, FIVE.replace("mlp_eager", "mlp_cudagraph"))
    if not front_matter:
        error = refused(repository, BLOCK)
        assert "is not yet measured on" in error.message
        assert error.message.endswith("that it holds: Stage mlp_cudagraph is not recorded yet.")
        assert "put draft: true into the front matter" in error.hint
        return
    repository.write_page("a/b.md", front_matter + BLOCK)
    root = parse(repository.convert(BLOCK))
    assert text(only(root, "verdict--not-measured")) == "not yet measured"
    assert "mlp_cudagraph" in text(only(root, "draft"))


def test_what_nothing_here_decides_must_be_said_on_the_page(repository) -> None:
    write_claims(repository, '[[claim]]\nid = "five"\nsays = "X."\nundecided = "See [x](https://example.org)."\n')
    assert "is not decided here" in refused(repository, BLOCK).message
    root = parse(repository.page("# Title\n\n/// claim | five\n    expect: not decided here\n///\n"))
    assert text(only(root, "verdicts")) == "not decided here See x."
    assert not list(root.iter("details"))


@pytest.mark.parametrize(
    ("block", "message", "hint"),
    [
        ("/// claim\n///", "block 'claim' needs the id of a claim", "write /// claim | A4"),
        ("/// claim | fife\n///", "there is no claim 'fife'", "did you mean five?"),
        (
            "/// claim | five\n    expect: true\n///",
            "cannot be expected to be 'True'",
            "there are holds, does not hold",
        ),
        ("/// claim | five\n    expects: holds\n///", "has no option 'expects'", "its options are attrs, expect"),
        ("/// claims | A4\n///", "block 'claims' takes no argument", "write /// claims"),
    ],
)
def test_a_block_that_is_wrong_is_refused(repository, block: str, message: str, hint: str) -> None:
    write_claims(repository, FIVE)
    error = refused(repository, f"# Title\n\n{block}\n")
    assert error.where in ("docs/a/b.md:3", "docs/a/b.md:4")
    assert message in error.message and hint in error.hint


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("measured", "{{ mlp_eager.kernel_cuont }}", "there is no fact 'mlp_eager.kernel_cuont'"),
        ("measured", "{{ {mlp_eager.gpu_us} / 0 }}", "it divides by zero"),
        ("measured", "{{ {mlp_eager.gpu_us} > 1 }}", "it comes to True, which is nothing to read"),
        ("measured", "{{ mlp_eager.gpu_us", "a fact in it is not closed"),
        ("why", "See [x](none.md).", "there is no page docs/none.md to link to"),
        ("says", "{{ zzz.gpu_us }}", "there is no stage 'zzz'"),
    ],
)
def test_a_text_that_is_wrong_is_refused_with_page_and_entry(repository, key: str, value: str, message: str) -> None:
    entry = FIVE.replace("Five `kernels` run.", value) if key == "says" else f'{FIVE}{key} = "{value}"\n'
    write_claims(repository, f"\n\n{entry}")
    error = refused(repository, BLOCK)
    assert error.where == "docs/a/b.md:3"
    assert error.message.startswith(f"docs/claims/chapter.toml:3: claim 'five': {message}")


def test_a_wrong_entry_ends_the_build_of_any_page(repository) -> None:
    write_claims(repository, f"{FIVE}chekc = 1\n")
    repository.write_page("a/b.md", "# Title\n")
    with pytest.raises(
        EntryError, match=re.escape("docs/claims/chapter.toml:1: claim 'five': Object contains unknown")
    ):
        repository.convert("# Title\n")


# Claims that a page stands on without showing them


def test_a_claim_that_names_a_page_is_held_against_it(repository) -> None:
    repository.write_page("a/b.md", "# Title\n")
    repository.write_page("a/c.md", "# Other\n")
    write_claims(repository, f'{FIVE}page = "a/b.md"\n\n{SIX}page = "a/b.md"\n')
    repository.convert("# Other\n")
    repository.convert("# Text that is no page\n")
    error = refused(repository, "# Title\n")
    assert str(error).startswith(
        "docs/a/b.md:1: claim 'six' (docs/claims/chapter.toml:7) does not hold on nvidia-h200_torch-2.11.0, "
        "and this page says that it holds: mlp_eager.kernel_count = 5\n  next: "
    )


def test_all_claims_that_fail_are_told_at_once(repository) -> None:
    repository.write_page("a/b.md", "# Title\n")
    write_claims(
        repository,
        f'{SIX}page = "a/b.md"\n\n{FIVE}page = "a/b.md"\nexpect = "does not hold"\n\n'
        f'{FIVE.replace("five", "no-fact").replace("kernel_count", "kernel_cuont")}page = "a/b.md"\n',
    )
    error = refused(repository, "# Title\n")
    first, second, third = error.message.split("\n  and ")
    assert "claim 'six'" in first and "says that it holds: mlp_eager.kernel_count = 5" in first
    assert "claim 'five'" in second and "says that it does not hold" in second
    assert third.startswith("docs/claims/chapter.toml:14: claim 'no-fact': there is no fact 'mlp_eager.kernel_cuont'")


def test_a_claim_may_be_expected_not_to_hold(repository) -> None:
    repository.write_page("a/b.md", "# Title\n")
    write_claims(repository, f'{SIX}page = "a/b.md"\nexpect = "does not hold"\n')
    assert "Title" in repository.convert("# Title\n")


def test_a_draft_may_stand_on_what_is_not_measured_and_says_which_stage(repository) -> None:
    shutil.rmtree(repository.recording / "mlp_cudagraph")
    repository.write_page("a/b.md", "---\ndraft: true\n---\n# Title\n")
    write_claims(repository, FIVE.replace("mlp_eager", "mlp_cudagraph") + 'page = "a/b.md"\n')
    assert "mlp_cudagraph" in text(only(parse(repository.convert("# Title\n")), "draft"))


def test_a_changed_file_of_claims_is_read_again(repository) -> None:
    write_claims(repository, FIVE)
    md = repository.markdown()
    repository.write_page("page.md", BLOCK)
    assert "Five" in md.convert(BLOCK)
    write_claims(repository, FIVE.replace("Five", "Just five"))
    md.reset()
    assert "Just five" in md.convert(BLOCK)


def test_the_folder_of_claims_is_an_option(repository) -> None:
    write_claims(repository, FIVE)
    (repository.root / "docs" / "claims").rename(repository.root / "elsewhere")
    repository.write_page("a/b.md", BLOCK)
    assert "Five" in repository.convert(BLOCK, claims="elsewhere")
    assert "there is no claim 'five'" in refused(repository, BLOCK).message


# The audit

AUDIT = """
[[claim]]
id = "A1"
says = "Five kernels run."
where = "the article"
check = "{mlp_eager.kernel_count} == 5"
measured = "{{ mlp_eager.kernel_count }} kernels"
scope = "portable"
scope_why = "Ops decide it on the {{ recording.gpu }}."

[[claim]]
id = "A2a"
says = "Four kernels run."
where = "the retelling"
check = "{mlp_eager.kernel_count} == 4"
why = "It is five."
scope = "GPU generation"
scope_why = "Another GPU runs four."

[[claim]]
id = "A2b"
says = "Something else."
where = "the article"
undecided = "Two machines could tell."

[[claim]]
id = "A3"
says = "Shapes."
where = "the article"
pending = "Later."
measured = "So far {{ mlp_eager.memset_count }}."
scope = "version"
scope_why = "Of torch."
"""


def audit(repository) -> object:
    write_claims(repository, AUDIT, "article.toml")
    write_claims(repository, FIVE)
    return only(parse(repository.page("# Audit\n\n/// claims\n///\n", "claims.md")), "trace-block--claims")


def test_the_audit_has_a_row_for_each_claim_of_the_article(repository) -> None:
    figure = audit(repository)
    rows = [row for row in figure.iter("tr") if row.get("id")]
    assert [row.get("id") for row in rows] == ["a1", "a2a", "a2b", "a3"]
    assert [row[0][0].get("href") for row in rows] == ["#a1", "#a2a", "#a2b", "#a3"]
    on = "on NVIDIA H200, torch 2.11.0"
    assert cells(next(figure.iter("table"))) == [
        [
            "A1",
            "Five kernels run.By the article.the checkmlp_eager.kernel_count == 5",
            f"holds {on} 5 kernels",
            "",
            "portableOps decide it on the NVIDIA H200.",
        ],
        [
            "A2a",
            "Four kernels run.By the retelling.the checkmlp_eager.kernel_count == 4",
            f"does not hold {on} mlp_eager.kernel_count = 5",
            "It is five.",
            "bound to the GPU generationAnother GPU runs four.",
        ],
        ["A2b", "Something else.By the article.", "not decided here Two machines could tell.", "", "not known"],
        ["A3", "Shapes.By the article.", f"not yet measured Later.{on} So far 2.", "", "bound to the versionOf torch."],
    ]


def test_the_audit_counts_the_verdicts_of_each_recording(repository, other) -> None:
    assert [text(line) for line in only(audit(repository), "claims-summary")] == [
        "Of 4 claims, on NVIDIA H200, torch 2.11.0: 1 holds, 1 does not hold, 1 not yet measured, 1 not decided here.",
        "Of 4 claims, on Another GPU, torch 2.11.0: 1 holds, 1 does not hold, 1 not yet measured, 1 not decided here.",
    ]


def test_the_audit_ends_no_build_by_a_verdict(repository) -> None:
    write_claims(repository, "\n".join(SIX.replace("six", f"A{n}") for n in (1, 2)), "article.toml")
    html = repository.page("# Audit\n\n/// claims\n///\n", "claims.md")
    assert "Of 2 claims, on NVIDIA H200, torch 2.11.0: 0 hold, 2 do not hold," in html


def test_the_audit_keeps_its_roles_where_it_is_shown_as_cards(repository) -> None:
    roles = {element.get("role") for element in only(audit(repository), "claims").iter() if element.get("role")}
    assert roles == {"table", "rowgroup", "row", "columnheader", "rowheader", "cell"}
    named = [
        cell.get("data-column") for cell in next(r for r in audit(repository).iter("tr") if r.get("id")).iter("td")
    ]
    assert named == ["What was said", "Verdict and measurement", "Why", "Elsewhere"]
