"""Names in a trace are hostile text: whatever they hold, a reader sees it as it is and nothing acts on it."""

from collections.abc import Callable

import msgspec
import pytest
from html_tree import attributes, cells, only, parse, text, with_class

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "**bold** _em_ `code` ~~x~~",
    "{{ mlp_eager.kernel_count }}",
    "&amp; &lt;b&gt; &#60; &",
    "]]> --> <!-- </svg></title></pre></code>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)",
    "a_{ onclick=alert(1) .evil }",
    "x { onclick=alert(1) }",
    "x\n{: onclick=alert(1) }",
    "HTML abbreviated",
    "[link](javascript:alert(1)) ![i](x) <javascript:alert(1)>",
    "/// kernels | mlp_eager",
    '--8<-- "snippets/none.py"',
    "\\* \\_ backslash\\",
    "a | b | c",
    "ünï 漢字 🙂",
]
UNSEEN = {
    "\x02wzxhzdk:0\x03": "␂wzxhzdk:0␃",
    "\x02klzzwxh:0001\x03": "␂klzzwxh:0001␃",
    "\x00null\x1b[31m": "␀null␛[31m",
    "a\u202egnp.exe": "a\ufffdgnp.exe",
}
"""Characters that Markdown or a browser would act on, and what stands for them."""

ALL = [*((name, name) for name in HOSTILE), *UNSEEN.items()]
PAGE = """*[HTML]: an abbreviation

/// kernels | mlp_eager
///

/// ops | mlp_eager
///

/// timeline | mlp_eager
///

/// profile | mlp_eager
///

{{ mlp_eager.kernel.1.name }} and **{{ mlp_eager.kernel.1.name }}**
"""


@pytest.fixture
def rename(repository, edit_trace: Callable) -> Callable[[str], None]:
    """Give this name to the first kernel, the op around it, its launch, and put it into the profile."""

    def apply(name: str) -> None:
        record = repository.record("mlp_eager")
        first = record.processes[0].work[1].name  # behind a memset

        def change(events: list[dict]) -> None:
            for event in events:
                if event.get("name") in (first, "aten::mm", "cuLaunchKernelEx"):
                    event["name"] = name

        edit_trace("mlp_eager", change)
        processes = tuple(
            msgspec.structs.replace(
                p, work=tuple(msgspec.structs.replace(w, name=name) if w.name == first else w for w in p.work)
            )
            for p in record.processes
        )
        repository.write_stage(msgspec.structs.replace(record, processes=processes))
        (repository.recording / "mlp_eager" / "profile.txt").write_text(f"-----\n{name}\n-----\n", newline="")

    return apply


@pytest.mark.parametrize(("name", "seen"), ALL)
def test_a_name_is_seen_as_it_is_everywhere(repository, rename: Callable[[str], None], name: str, seen: str) -> None:
    rename(name)
    root = parse(repository.page(PAGE))
    folded = " ".join(seen.split())
    assert text(only(root, "kernels").find(".//code")) == folded
    assert {folded} <= {text(code) for code in only(root, "ops").iter("code")}
    tips = {t.text.rpartition("\n")[0] for t in only(root, "timeline").iter("title") if "\n" in (t.text or "")}
    assert seen in tips
    assert "".join(only(root, "profile").itertext()) == f"-----\n{seen}\n-----\n"
    facts = [fact for fact in root.iter("data") if fact.get("data-fact") == "mlp_eager.kernel.1.name"]
    assert ["".join(fact.itertext()) for fact in facts] == [seen, seen]
    assert {fact.get("value") for fact in facts} == {seen}


@pytest.mark.parametrize("name", [name for name, _ in ALL])
def test_a_name_adds_no_element_and_no_attribute(repository, rename: Callable[[str], None], name: str) -> None:
    rename("harmless")
    expected = parse(repository.page(PAGE))
    rename(name)
    found = parse(repository.page(PAGE))

    def shape(root) -> list[tuple[str, tuple[str, ...]]]:
        # What decode() splits differs by name, and so do the breaks in it and the labels that fit.
        varying = {"wbr", "details", "summary", "dl", "dt", "dd"}
        return [
            (e.tag, tuple(sorted(e.keys())))
            for e in root.iter()
            if e.tag not in varying and "tl-label" not in e.get("class", "")
            and not any(e in list(d.iter()) for d in root.iter("details"))
        ]  # fmt: skip

    assert shape(found) == shape(expected)
    assert not [key for key, _ in attributes(found) if key.startswith("on")]
    assert not list(found.iter("img")) + list(found.iter("abbr")) + with_class(found, "evil")


def test_a_stages_title_and_docstring_are_text(repository) -> None:
    ladder = repository.root / "snippets" / "ladder.toml"
    ladder.write_text(ladder.read_text().replace('title = "MLP"', 'title = "<b>&amp;</b> **M** { .x }"'))
    root = parse(repository.page("/// ladder | mlp_eager\n///\n"))
    assert cells(only(root, "ladder"))[0][0] == "<b>&amp;</b> **M** { .x }"
    assert not list(root.iter("b"))


def test_the_environment_is_text(repository) -> None:
    path = repository.recording / "environment.json"
    path.write_text(path.read_text().replace("NVIDIA H200", "<i>GPU</i> &amp; *x*"))
    root = parse(repository.page("{{ recording.gpu }}"))
    assert text(next(root.iter("data"))) == "<i>GPU</i> &amp; *x*"
    assert text(only(root, "stamp")).startswith("Measured on <i>GPU</i> &amp; *x*, torch")
