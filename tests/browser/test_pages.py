"""Every page of the built site, opened in a browser at the widths of a phone, a tablet and a desk."""

from collections.abc import Iterator

import pytest
from built_site import FITS, PAGE_NAMES, PAGES, WIDTHS, Site, Visit, wait_until
from playwright.sync_api import Browser, expect

SMALLEST_TEXT_PX = 11

"""Waited for, because Material moves its search and its sidebars with a transition."""

OVERFLOWING = """() => [...document.querySelectorAll(".md-content *")].filter(e =>
    e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX))"""
"""What a reader can scroll sideways inside the page."""

FACTS = """() => [...document.querySelectorAll("data.fact")].map(f => [f.dataset.fact, f.value, f.title])"""

DRAWN_TEXT = """svg => [...svg.querySelectorAll("text")].map(t =>
    [t.textContent, parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().d])"""
"""Each text of a drawing with its size on the screen in pixels."""


@pytest.fixture(scope="module", params=PAGES, ids=PAGE_NAMES)
def visit(request: pytest.FixtureRequest, site: Site, browser: Browser) -> Iterator[Visit]:
    """One page, opened once for all tests below."""
    context = browser.new_context(viewport={"width": WIDTHS[-1], "height": 900})
    opened = Visit(context.new_page(), site.url + request.param)
    opened.watch(site)
    opened.page.goto(opened.url, wait_until="networkidle")
    yield opened
    context.close()


def test_no_request_leaves_the_site(visit: Visit) -> None:
    assert visit.outside == []


def test_the_console_shows_no_error(visit: Visit) -> None:
    assert visit.errors == []


def test_the_page_has_one_heading_of_the_first_level(visit: Visit) -> None:
    assert visit.page.locator("h1").count() == 1


def test_every_fact_says_where_it_comes_from(visit: Visit) -> None:
    facts = visit.page.evaluate(FACTS)
    assert [path for path, value, title in facts if not value or "torch" not in title or "commit" not in title] == []


def test_the_page_ends_with_its_stamp(visit: Visit) -> None:
    expect(visit.page.locator("aside.stamp")).to_contain_text("torch")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_itself_never_scrolls_sideways(visit: Visit, width: int) -> None:
    visit.resize(width)
    wait_until(visit.page, FITS)


@pytest.mark.parametrize("width", WIDTHS)
def test_text_in_a_timeline_is_large_enough(visit: Visit, width: int) -> None:
    visit.resize(width)
    for svg in visit.page.locator(".trace-block--timeline svg").all():
        small = [(text, round(px, 1)) for text, px in svg.evaluate(DRAWN_TEXT) if px < SMALLEST_TEXT_PX]
        assert small == []


def test_tables_and_timelines_scroll_by_themselves_and_have_a_name(visit: Visit) -> None:
    blocks = visit.page.locator(".trace-block table, .trace-block--timeline svg[role=img], .trace-block pre.profile")
    for block in blocks.all():
        region = block.locator("xpath=ancestor::*[contains(@class, 'trace-scroll')][1]")
        expect(region).to_have_attribute("tabindex", "0")
        expect(region).to_have_attribute("role", "region")
        assert region.get_attribute("aria-label")


def test_what_scrolls_sideways_scrolls_by_keyboard(visit: Visit) -> None:
    visit.resize(WIDTHS[0])
    visit.page.evaluate("document.querySelectorAll('.md-content details').forEach(d => d.open = true)")
    visit.page.wait_for_timeout(100)
    elements = visit.page.evaluate_handle(OVERFLOWING).get_properties().values()
    for element in filter(None, (e.as_element() for e in elements)):
        what = element.evaluate("e => e.getAttribute('aria-label') || e.outerHTML.slice(0, 80)")
        element.focus()
        assert element.evaluate("e => document.activeElement === e"), f"cannot be focused: {what}"
        element.evaluate("e => e.scrollLeft = 0")
        visit.page.keyboard.press("ArrowRight")
        wait_until(visit.page, "e => e.scrollLeft > 0", element)


def test_searching_asks_no_other_host(site: Site, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": WIDTHS[-1], "height": 900})
    visit = Visit(context.new_page(), site.url)
    visit.watch(site)
    visit.page.goto(visit.url)
    visit.page.get_by_role("textbox", name="Search").press_sequentially("kernel")  # Material listens to the keys
    expect(visit.page.locator(".md-search-result__item").first).to_be_visible()
    assert (visit.outside, visit.errors) == ([], [])
    context.close()


def test_a_stage_page_can_be_read_without_scripts(site: Site, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": WIDTHS[-1], "height": 900})
    page = context.new_page()
    page.goto(f"{site.url}stages/mlp_eager/")
    for part in ("h1", "table.kernels", "ul.ops", ".trace-block--timeline svg", "pre.profile", "aside.stamp"):
        expect(page.locator(part).first).to_be_visible()
    with page.expect_download() as downloading:
        page.locator("a.perfetto").first.click()
    published = next((site.folder / "recordings").glob("*/mlp_eager/trace.json.gz"))
    assert downloading.value.path().read_bytes() == published.read_bytes()
    context.close()


PAPER = """() => {
    const seen = element => getComputedStyle(element);
    const bar = document.querySelector(".timeline rect.tl-gemm");
    const drawing = document.querySelector(".timeline").getBoundingClientRect();
    return {page: seen(document.body).backgroundColor, text: seen(document.querySelector(".md-content p")).color,
            bar: seen(bar).fill, right: drawing.right, room: document.documentElement.clientWidth,
            buttons: [...document.querySelectorAll(".predict-button")].filter(b => b.offsetParent !== null).length};
}"""


def on_paper(color: str) -> float:
    """How light `rgb(…)` or `rgba(…)` is over white, 0 to 255."""
    red, green, blue, *alpha = map(float, color.partition("(")[2].rstrip(")").split(","))
    opaque = alpha[0] if alpha else 1.0
    return opaque * (red + green + blue) / 3 + (1 - opaque) * 255


def test_a_page_is_printed_light_and_whole_from_a_dark_screen(site: Site, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 718, "height": 1000}, color_scheme="dark")  # A4 at 96 px an inch
    page = context.new_page()
    page.goto(site.url + "chapters/compile-the-mlp/")
    page.emulate_media(media="print", color_scheme="dark")
    paper = page.evaluate(PAPER)
    context.close()
    assert on_paper(paper["page"]) > 240
    assert on_paper(paper["text"]) < 60
    assert paper["bar"] == "rgb(27, 111, 174)"  # the light scheme's blue
    assert paper["right"] <= paper["room"]
    assert paper["buttons"] == 0
