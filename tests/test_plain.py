"""Built HTML as plain Markdown; hostile text stays text."""

from pathlib import Path

import markdown as python_markdown
import pytest

from build_traces import plain
from build_traces.html_tree import parse, text


def plainly(html: str) -> str:
    return plain.markdown(parse(html)).rstrip("\n")


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ('<h2 id="a">Two <code>x</code><a class="headerlink" href="#a">¶</a></h2>', "## Two `x`"),
        ("<p>One\ntwo <em>three</em> and <strong>four</strong>.</p>", "One two *three* and **four**."),
        ('<p>It ran <data class="fact" value="5">5</data> kernels.</p>', "It ran 5 kernels."),
        ('<p><a href="https://a.b/c">out</a></p>', "[out](https://a.b/c)"),
        ("<p><code>void f&lt;4&gt;(<wbr>int)</code></p>", "`void f<4>(int)`"),
        ("<p><code>a<br>and b</code></p>", "`a and b`"),
        ("<p><code>`</code></p>", "`` ` ``"),
        ("<pre><code>x = 1\n\n  y</code></pre>", "```\nx = 1\n\n  y\n```"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
        (
            '<div class="highlight"><span class="filename">a.py</span><pre><code>x</code></pre></div>',
            "`a.py`:\n\n```\nx\n```",
        ),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol><li>a</li><li><p>b</p><p>c</p></li></ol>", "1. a\n2. b\n\n   c"),
        ("<dl><dt>term</dt><dd>what it is</dd></dl>", "- **term**: what it is"),
        (
            "<table><thead><tr><th>a</th><th>b|c</th></tr></thead><tbody><tr><td>1<br>2</td></tr></tbody></table>",
            "| a | b\\|c |\n|---|---|\n| 1 2 |  |",
        ),
        ("<table><tr><td><ul><li>x</li><li>y</li></ul></td></tr></table>", "| x y |\n|---|"),
        ("<details><summary>more</summary><code>x</code></details>", "**more**\n\n`x`"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n> \n> b"),
        ("<svg><title>Timeline</title><desc>5 kernels</desc><text>0 µs</text></svg>", "*Picture: Timeline. 5 kernels*"),
        ("<figure><figcaption>step 2</figcaption><p>x</p></figure>", "step 2\n\nx"),
        ('<p><img alt="A [b]" src="c.png"></p>', "![A \\[b\\]](c.png)"),
    ],
)
def test_each_kind_of_html_has_its_markdown(html: str, written: str) -> None:
    assert plainly(html) == written


@pytest.mark.parametrize(
    "html",
    [
        "<script>x</script>",
        "<noscript><details><summary>Answer</summary>5</details></noscript>",
        "<template><p>5</p></template>",
        "<p hidden>5</p>",
        '<p class="tl-legend"><span>ops</span></p>',
        "<nav><a href='a/'>a</a></nav>",
        "<button>Copy</button>",
    ],
)
def test_what_no_reader_sees_at_once_is_not_there(html: str) -> None:
    assert plainly(f"<p>a</p>{html}") == "a"


@pytest.mark.parametrize(
    "said",
    [
        "a *b* _c_ `d` [e](f) <b>g</b> \\h",
        "# no heading",
        "- no list",
        "1. no list",
        "> no quote",
        "kernel_name<128, 4>(int*)",
        "](javascript:alert(1))",
        "AT&T &lt; &#60;",
    ],
)
def test_text_that_looks_like_markdown_stays_text(said: str) -> None:
    escaped = said.replace("&", "&amp;").replace("<", "&lt;")
    back = parse(python_markdown.markdown(plainly(f"<p>{escaped}</p>")))
    assert text(back) == said
    assert [element.tag for element in back] == ["p"] and len(back[0]) == 0


@pytest.mark.parametrize(
    ("href", "leads_to"),
    [
        ("../nn-linear/", "../nn-linear/index.html.md"),
        ("../nn-linear/#bias", "../nn-linear/index.html.md#bias"),
        ("../..", "../../index.html.md"),
        (".", "index.html.md"),
        ("./", "index.html.md"),
        ("#here", "#here"),
        ("../recordings/a/trace.json.gz", "../recordings/a/trace.json.gz"),
        ("https://example.org/a/", "https://example.org/a/"),
    ],
)
def test_a_link_to_a_page_leads_to_its_markdown(href: str, leads_to: str) -> None:
    assert plainly(f'<p><a href="{href}">a</a></p>') == f"[a]({leads_to})"


# llms.txt

HEAD = '<meta name="description" content="{0}"><meta property="og:site_name" content="Guide"><title>{0} · Guide</title>'
NAV = """
<nav class="md-nav md-nav--primary"><ul class="md-nav__list">
  <li class="md-nav__item"><a class="md-nav__link" href=".">Start</a>
    <nav class="md-nav"><ul class="md-nav__list"><li><a class="md-nav__link" href="#part">Part</a></li></ul></nav></li>
  <li class="md-nav__item md-nav__item--nested"><nav class="md-nav" aria-label="Chapters"><ul class="md-nav__list">
    <li class="md-nav__item"><a class="md-nav__link" href="one/">One_two</a></li>
    <li class="md-nav__item"><a class="md-nav__link" href="lab.ipynb">No page</a></li></ul></nav></li>
</ul></nav>
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of two pages."""
    (tmp_path / "one").mkdir()
    start = HEAD.format("All of it") + NAV + "<article><h1>Start</h1></article><aside class='stamp'>Measured</aside>"
    (tmp_path / "index.html").write_text(start, encoding="utf-8")
    one = HEAD.format("What one is") + "<article><h1>One</h1></article>"
    (tmp_path / "one" / "index.html").write_text(one, encoding="utf-8")
    return tmp_path


def test_the_list_for_machines_names_each_page_with_its_description(site: Path) -> None:
    plain.write(site)
    assert (site / "llms.txt").read_text(encoding="utf-8") == (
        "# Guide\n\n> All of it\n\nMeasured\n\n"
        "## The guide\n\n- [Start](index.html.md): All of it\n\n"
        "## Chapters\n\n- [One_two](one/index.html.md): What one is\n"
    )


def test_each_page_has_its_markdown_beside_it(site: Path) -> None:
    plain.write(site)
    assert (site / "one" / "index.html.md").read_text(encoding="utf-8") == "# One\n"


def test_a_theme_without_the_navigation_is_told(site: Path) -> None:
    (site / "index.html").write_text(HEAD.format("All"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"no <nav class=.*has the theme changed"):
        plain.write(site)
