"""What search engines, previews of links and machines that read find on the built pages."""

import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_site import ROOT, Site

from build_traces import links, plain
from build_traces.html_tree import every, first, parse, text

LONGEST_DESCRIPTION = 240
NOT_FOUND = "404.html"
WORD = re.compile(r"\w+")


def pages(site: Site) -> Iterator[Path]:
    return (page for page in sorted(site.folder.rglob("*.html")) if page.name != NOT_FOUND)


def content(page: Path, tag: str, **attributes: str) -> str:
    element = first(parse(page.read_text(encoding="utf-8")), tag, **attributes)
    assert element is not None, f"{page}: no {tag} {attributes}"
    return element.get("content", "") if tag == "meta" else text(element)


def test_every_page_has_a_title_of_its_own_that_ends_with_the_sites(site: Site) -> None:
    titles = [content(page, "title") for page in pages(site)]
    assert [title for title, times in Counter(titles).items() if times > 1] == []
    assert [title for title in titles if not title.endswith("Reading PyTorch traces")] == []


def test_every_page_has_a_description_of_its_own(site: Site) -> None:
    said = {page: content(page, "meta", name="description") for page in pages(site)}
    assert [text for text, times in Counter(said.values()).items() if times > 1] == []
    assert {page: text for page, text in said.items() if not 40 <= len(text) <= LONGEST_DESCRIPTION} == {}
    assert [text for text in said.values() if "{{" in text or "<" in text] == []


def test_every_page_has_one_of_each(site: Site) -> None:
    for page in pages(site):
        tree = parse(page.read_text(encoding="utf-8"))
        head = first(tree, "head")
        assert head is not None and len(list(every(head, "title"))) == 1, page
        assert len(list(every(tree, "meta", name="description"))) == 1, page
        for name in ("og:title", "og:description", "og:type", "og:site_name"):
            assert len(list(every(tree, "meta", property=name))) == 1, (page, name)


def test_what_a_preview_shows_is_what_the_page_says_of_itself(site: Site) -> None:
    for page in pages(site):
        assert content(page, "meta", property="og:title") == content(page, "title")
        assert content(page, "meta", property="og:description") == content(page, "meta", name="description")


def test_a_description_has_its_facts_filled_in(site: Site) -> None:
    page = site.folder / "chapters" / "compile-the-mlp" / "index.html"
    fact = first(parse(page.read_text(encoding="utf-8")), "data", data_fact="mlp_eager.time_us")
    assert fact is not None and f"{text(fact)} µs" in content(page, "meta", name="description")


def test_a_wrong_address_is_not_found_by_search_engines(site: Site) -> None:
    page = site.folder / NOT_FOUND
    assert content(page, "meta", name="robots") == "noindex"
    assert content(page, "title").startswith("No such page")


def test_without_an_address_no_page_names_one(site: Site) -> None:
    for page in pages(site):
        tree = parse(page.read_text(encoding="utf-8"))
        assert first(tree, "link", rel="canonical") is None, page
        assert first(tree, "meta", property="og:image") is None, page


def test_the_picture_for_previews_has_the_size_that_the_pages_say(site: Site) -> None:
    picture = (site.folder / "assets" / "social-card.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)
    preview = (ROOT / "overrides" / "partials" / "preview.html").read_text(encoding="utf-8")
    assert '"og:image:width" content="1200"' in preview and '"og:image:height" content="630"' in preview


def test_no_link_leads_nowhere(site: Site) -> None:
    assert [str(problem) for problem in links.broken(site.folder)] == []


# Plain Markdown


@pytest.fixture(scope="module")
def machines_site(site: Site) -> Site:
    """The site with its Markdown, as nox -s docs leaves it."""
    plain.write(site.folder)
    return site


def test_every_page_has_its_markdown_and_all_its_visible_facts_in_it(machines_site: Site) -> None:
    for page in pages(machines_site):
        article = first(parse(page.read_text(encoding="utf-8")), "article")
        assert article is not None
        written = page.with_name(plain.TWIN).read_text(encoding="utf-8")
        assert written.startswith("# ") and "<data" not in written and "{{" not in _outside_code(written), page
        for skipped in [*every(article, "noscript"), *every(article, "template")]:
            skipped.clear()
        words = set(WORD.findall(written))
        for fact in every(article, "data", class_="fact"):
            assert set(WORD.findall(text(fact))) <= words, (page, fact.get("data-fact"))


def _outside_code(written: str) -> str:
    return re.sub(r"`+[^`]*`+", "", re.sub(r"^(`{3,}).*?^\1$", "", written, flags=re.DOTALL | re.MULTILINE))


def test_the_markdown_says_nothing_twice_and_drops_no_paragraph(machines_site: Site) -> None:
    page = machines_site.folder / "chapters" / "read-a-trace"
    article = first(parse((page / "index.html").read_text(encoding="utf-8")), "article")
    assert article is not None
    written = " ".join(WORD.findall((page / plain.TWIN).read_text(encoding="utf-8")))
    for paragraph in article.findall("p"):
        first_words = " ".join(WORD.findall(text(paragraph))[:3])
        assert written.count(first_words) >= 1, first_words


def test_the_list_for_machines_names_every_page_of_the_navigation(machines_site: Site) -> None:
    listed = (machines_site.folder / plain.INDEX).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\): (.+)", listed)
    assert len(targets) == len(list(pages(machines_site)))
    for target, described in targets:
        assert (machines_site.folder / target).is_file(), target
        assert len(described) > 40, target


def test_an_answer_to_an_exercise_is_not_in_the_markdown(machines_site: Site) -> None:
    for page in pages(machines_site):
        tree = parse(page.read_text(encoding="utf-8"))
        exercises = list(every(tree, "guide-predict"))
        written = page.with_name(plain.TWIN).read_text(encoding="utf-8")
        assert written.count("\nPredict\n") == len(exercises), page
        assert "\n**Answer**\n" not in written, page
