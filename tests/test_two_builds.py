"""What the second builder makes otherwise is found, on small sites that are built by hand."""

from pathlib import Path

import pytest

from build_traces.two_builds import Difference, compare

STAMP = '<aside class="stamp">Measured on NVIDIA H200</aside>'
FACT = '<p>It runs <data class="fact" data-fact="mlp_eager.kernel_count" value="5">5</data> kernels.</p>'
SUM = '<p>That is <data class="computed" data-expression="2 * {a.b}" value="10">10</data>.</p>'
CLAIM = '<figure data-claim="A4"><p>Five.</p><p><strong class="verdict verdict--holds">holds</strong></p></figure>'
AUDIT = '<table><tr id="a4"><td>Five.</td><td><strong class="verdict verdict--holds">holds</strong></td></tr></table>'
LINK = '<p><a href="../two/">Two</a></p>'
BODY = FACT + SUM + CLAIM + AUDIT + LINK
LAB = '<div class="lab"><p>A cell.</p></div>'


def write(build: Path, **pages: str) -> Path:
    for name, body in pages.items():
        page = build / name / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f"<html><head></head><body><article>{body}{STAMP}</article></body></html>", encoding="utf-8")
    return build


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return write(tmp_path / "site", one=BODY, two="<p>Text.</p>", lab=LAB)


def differences(site: Path, body: str) -> list[str]:
    """What is wrong if page one has this body in the other build."""
    compared = compare(site, write(site.parent / "other", one=body, two="<p>Text.</p>", lab=LAB))
    assert {difference.page for difference in compared.differences} <= {"one/index.html"}
    return [difference.what for difference in compared.wrong]


def test_equal_builds_differ_in_nothing_and_everything_in_them_is_counted(site: Path) -> None:
    compared = compare(site, write(site.parent / "other", one=BODY, two="<p>Text.</p>", lab=LAB))
    assert (compared.pages, compared.facts, compared.verdicts, compared.differences) == (3, 2, 2, [])


def test_what_the_theme_puts_around_an_article_does_not_count(site: Path) -> None:
    other = write(site.parent / "other", one=BODY, two="<p>Text.</p>", lab=LAB)
    page = other / "one" / "index.html"
    page.write_text(page.read_text().replace("<article>", "<nav>Another theme</nav><article>"))
    assert compare(site, other).differences == []


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        ('value="5">5', 'value="6">5', "fact: 'mlp_eager.kernel_count 5 5' became 'mlp_eager.kernel_count 6 5'"),
        ("mlp_eager.kernel_count", "mlp_eager.op_count", "fact: 'mlp_eager.kernel_count 5 5' became 'mlp_eager.op_cou"),
        (SUM, "<p>That is 10.</p>", "fact: '2 * {a.b} 10 10' became nothing"),
        (
            CLAIM,
            CLAIM.replace("holds</strong>", "does not hold</strong>"),
            "verdict: 'A4 holds' became 'A4 does not hold'",
        ),
        (AUDIT, AUDIT.replace("holds</strong>", "x</strong>"), "verdict: 'a4 holds' became 'a4 x'"),
        ("kernels.", "memsets.", "text: 'kernels.That' became 'memsets.That'"),
        ("It runs", "It {{ a.b }} runs", "in other: a fact was not rendered: '{{ a.b }}'"),
        ("It runs", "Traceback (most recent call last)", "in other: a Python traceback is on the page"),
        ("<p>It", "<p>/// claim | A4</p><p>It", "in other: a block was not rendered: '/// claim | A4'"),
    ],
)
def test_what_a_reader_would_be_told_otherwise_is_wrong(site: Path, was: str, now: str, what: str) -> None:
    found = differences(site, BODY.replace(was, now))
    assert any(one.replace(str(site.parent) + "/", "").startswith(what) for one in found), found


def test_a_value_in_another_fact_is_found_though_the_text_is_the_same(site: Path) -> None:
    assert len(differences(site, BODY.replace('value="10"', 'value="11"'))) == 1


def test_a_link_that_leads_elsewhere_is_listed_and_not_wrong(site: Path) -> None:
    compared = compare(site, write(site.parent / "other", one=BODY.replace("../two/", "two.md"), two="", lab=LAB))
    assert Difference("one/index.html", "link: '/two/' became '/one/two.md'", wrong=False) in compared.listed


def test_two_ways_to_write_a_link_to_one_page_are_the_same(site: Path) -> None:
    assert differences(site, BODY.replace("../two/", "../two/index.html")) == []
    assert compare(site, site.parent / "other").listed == []


def test_a_missing_lab_is_listed_and_any_other_missing_page_is_wrong(site: Path) -> None:
    compared = compare(site, write(site.parent / "other", one=BODY, three="<p>Text.</p>"))
    assert [one.page for one in compared.listed] == ["lab/index.html"]
    assert [(one.page, one.what.partition(" ")[0]) for one in compared.wrong] == [
        ("three/index.html", "only"),
        ("two/index.html", "not"),
    ]


def test_a_folder_without_pages_is_wrong(tmp_path: Path) -> None:
    assert compare(tmp_path / "site", tmp_path / "other").wrong


def test_many_differences_of_one_kind_are_cut_short(site: Path) -> None:
    facts = [f'<p><data class="fact" data-fact="a.{n}" value="{n}">{n}</data> and</p>' for n in range(20)]
    write(site, many="".join(facts))
    other = write(site.parent / "other", one=BODY, two="<p>Text.</p>", lab=LAB)
    write(other, many="".join(fact.replace('value="', 'value="9') if n % 2 else fact for n, fact in enumerate(facts)))
    assert [one.what for one in compare(site, other).wrong][-1] == "fact: 7 more"
