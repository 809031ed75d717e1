"""Every kind of thing that can be left unrendered is found where it is, and nothing on clean pages."""

from pathlib import Path

import pytest

from build_traces.check import Problem, check_site, drafts

STAMP = '<aside class="stamp">Measured on NVIDIA H200</aside>'


def site(tmp_path: Path, body: str, name: str = "page/index.html") -> Path:
    page = tmp_path / name
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"<!doctype html>\n<html><body>\n{body}\n{STAMP}</body></html>\n", encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (
            "<p>It runs {{ mlp_eager.kernel_count }} kernels",
            3,
            "a fact was not rendered: '{{ mlp_eager.kernel_count }}'",
        ),
        ("<p>a\nb {{mlp_eager.gpu_us:.0f}}</p>", 4, "a fact was not rendered: '{{mlp_eager.gpu_us:.0f}}'"),
        (
            "<p>{{ a.op_count.aten::<em>unsafe</em>_view }}</p>",
            3,
            "a fact was not rendered: '{{ a.op_count.aten::unsafe_view }}'",
        ),
        ("<p>{{ a.b\n:.0f }}</p>", 3, "a fact was not rendered: '{{ a.b :.0f }}'"),
        ("<p>x {{ {a.b} / <em>{c.d}</em> :.0f }}</p>", 3, "an expression was not rendered: '{{ {a.b} / {c.d} :.0f }}'"),
        ("<p>{{ 2 *\n{a.b} }}</p>", 3, "an expression was not rendered: '{{ 2 * {a.b} }}'"),
        ("<p>{{ {a.b} / 2 }</p>", 3, "an expression was not rendered: '{{ {a.b} / 2'"),
        ("<p>{{ 2 * 8192 :.1f }}</p>", 3, "a sum was not rendered: '{{ 2 * 8192 :.1f }}'"),
        ('<p><data class="fact" data-expression="1" value="">5</data>', 3, "a fact has no value: 1"),
        ('<p><data class="computed" data-expression="1" value="">5</data>', 3, "a fact has no value: 1"),
        ("<p>{{ a.b&amp;c }}</p>", 3, "a fact was not rendered: '{{ a.b&c }}'"),
        ("<p>/// kernel | mlp_eager\n///</p>", 3, "a block was not rendered: '/// kernel | mlp_eager'"),
        ("<ul><li>x</li><li>/// ops | a</li></ul>", 3, "a block was not rendered: '/// ops | a'"),
        ("<p>a<br>/// ops | a</p>", 3, "a block was not rendered: '/// ops | a'"),
        ("<p>//// ops | a</p>", 3, "a block was not rendered: '//// ops | a'"),
        ('<p>--8<-- "snippets/x.py:model"</p>', 3, "a snippet was not embedded: '--8<-- \"snippets/x.py:model\"'"),
        ('<p>--8&lt;-- "snippets/x.py"</p>', 3, "a snippet was not embedded: '--8<-- \"snippets/x.py\"'"),
        (
            "<p>Traceback (most recent call last):</p>",
            3,
            "a Python traceback is on the page: 'Traceback (most recent call last)'",
        ),
        ("\n<p>\x02wzxhzdk:3\x03</p>", 4, "a placeholder of Markdown is on the page: '\\x02'"),
        ('<p><data class="fact" data-fact="a.b">5</data>', 3, "a fact has no value: a.b"),
        ('<p><data class="fact" data-fact="a.b" value="">5</data>', 3, "a fact has no value: a.b"),
        ('<img src="https://x.org/a.png">', 3, "the page fetches from elsewhere: https://x.org/a.png"),
        (
            '<img src="a.png" srcset="a.png 1x, //x.org/b.png 2x">',
            3,
            "the page fetches from elsewhere: a.png 1x, //x.org/b.png 2x",
        ),
        ('<iframe src="//x.org/"></iframe>', 3, "the page fetches from elsewhere: //x.org/"),
        ('<script src="HTTPS://x.org/a.js"></script>', 3, "the page fetches from elsewhere: HTTPS://x.org/a.js"),
        (
            '<link rel="stylesheet" href="https://x.org/a.css">',
            3,
            "the page fetches from elsewhere: https://x.org/a.css",
        ),
    ],
)
def test_what_was_not_rendered_is_found_on_its_line(tmp_path: Path, body: str, line: int, message: str) -> None:
    page = site(tmp_path, body)
    assert Problem(page, line, message) in check_site(tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        '<a href="https://x.org/">x</a><img src="../a.png" srcset="a.png 1x, b.png 2x">',
        '<img src="data:image/png;base64,//8=">',
        '<link rel="canonical" href="https://x.org/a/"><link rel="alternate" href="https://x.org/feed.xml">',
        "<p><code>{{ mlp_eager.kernel_count }}</code></p>",
        "<pre><span>/// kernels | x</span>\n///</pre>",
        '<pre><code>--8&lt;-- "snippets/x.py"</code></pre>',
        "<pre>Traceback (most recent call last):</pre>",
        "<script>const x = '{{ a.b }}';\n/// <reference />\n</script>",
        "<style>\n/// x\n</style>",
        "<svg><title>{{ a.b }}</title></svg>",
        "<p><code>{{ {a.b} / 2 }}</code></p>",
        "<p>Braces {{ alone }} and a path http:///x.y.z and {a.b}.</p>",
        '<p><data class="fact" data-fact="a.b" value="0">0</data></p>',
        '<p><data value="">5</data></p>',
        "<p>a // b</p>",
        "<!-- {{ a.b }} -->",
    ],
)
def test_a_clean_page_has_no_problem(tmp_path: Path, body: str) -> None:
    site(tmp_path, body)
    assert check_site(tmp_path) == []


@pytest.mark.parametrize("code", ["<pre><code>x</code></pre>", "<pre><code>x</pre>", "</code>"])
def test_what_stands_behind_code_is_still_searched(tmp_path: Path, code: str) -> None:
    site(tmp_path, f"{code}<p>{{{{ a.b }}}}</p>")
    assert len(check_site(tmp_path)) == 1


def test_a_page_without_a_stamp_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p class="stamp">Measured</p><aside class="other"></aside>')
    (problem,) = check_site(tmp_path)
    assert str(problem).startswith(f"{tmp_path / 'a.html'}:1: the page has no stamp")


def test_the_page_for_what_is_not_found_needs_no_stamp_but_is_searched(tmp_path: Path) -> None:
    (tmp_path / "404.html").write_text("<p>Not found.</p>")
    assert check_site(tmp_path) == []
    (tmp_path / "404.html").write_text("<p>{{ a.b }}</p>")
    assert len(check_site(tmp_path)) == 1


def test_a_folder_without_pages_is_a_problem(tmp_path: Path) -> None:
    assert check_site(tmp_path) == [Problem(tmp_path, 1, "there is no HTML page")]


def test_problems_come_by_file_and_line(tmp_path: Path) -> None:
    for name in ("b/index.html", "a/index.html"):
        site(tmp_path, "<p>{{ x.y }}</p>\n<p>/// z</p>", name)
    found = [(p.file.parent.name, p.line) for p in check_site(tmp_path)]
    assert found == [("a", 3), ("a", 4), ("b", 3), ("b", 4)]


def test_what_the_extension_renders_is_clean(repository, tmp_path: Path) -> None:
    blocks = "".join(
        f"/// {name} | mlp_eager\n///\n\n"
        for name in ("kernels", "ops", "profile", "timeline", "generated", "ladder", "stagefacts", "reproduce", "facts")
    )
    html = repository.page(f"# {{{{ mlp_eager.kernel_count }}}}\n\n{blocks}/// kernel-names\n///\n")
    built = tmp_path / "site"
    built.mkdir()
    (built / "index.html").write_text(html, encoding="utf-8")
    assert check_site(built) == []


@pytest.mark.parametrize("written", ["<p>{{ mlp_eager.gpu_us }}</p>", "\\{{ mlp_eager.gpu_us }}"])
def test_what_the_extension_cannot_see_is_found_in_what_was_built(repository, tmp_path: Path, written: str) -> None:
    built = tmp_path / "site"
    built.mkdir()
    (built / "index.html").write_text(repository.page(f"# Title\n\n{written}\n"), encoding="utf-8")
    (problem,) = check_site(built)
    assert problem.message.startswith("a fact was not rendered")


def test_a_draft_is_no_problem_and_is_named(tmp_path: Path) -> None:
    site(tmp_path, "<p>x</p>", "a/index.html")
    draft = site(tmp_path, '<aside class="draft" role="note">not recorded</aside>', "b/index.html")
    assert check_site(tmp_path) == []
    assert drafts(tmp_path) == [draft]
