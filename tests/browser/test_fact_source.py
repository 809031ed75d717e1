"""Where a number comes from, shown on a tap, a click or by keyboard: what its `title` says, and nothing else moves."""

import json
from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import Site, Visit, wait_until
from compare_files import encoded, exported
from comparing import drop, opened
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESK = {"viewport": {"width": 1440, "height": 900}}
CHAPTER = "chapters/three-linears-and-a-gate/"
IN_TEXT = "article > p data.fact"
OPEN = "document.querySelector('.fact-source:popover-open') !== null"
PLACES = """() => [...document.querySelectorAll("article data, article p, article tr, article .missing")].map(e => {
    const {x, y, width, height} = e.getBoundingClientRect();
    return [x, y + scrollY, width, height];
})"""
TEXTS = """() => {
    const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
    const [range, places] = [document.createRange(), []];
    while (texts.nextNode()) {
        range.selectNodeContents(texts.currentNode);
        const {x, y, width, height} = range.getBoundingClientRect();
        places.push([x, y, width, height]);
    }
    return [places, [...document.querySelectorAll(".trace-scroll")].map(e => e.scrollWidth)];
}"""
"""Where each piece of text lies, and how far tables scroll."""
SEEN = """() => {
    const told = document.querySelector("[data-told]");
    const {x, y, width, height} = told.getBoundingClientRect();
    return told.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}"""
"""Whether nothing lies over the number."""


@pytest.fixture
def phone(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(**PHONE)
    yield made
    made.close()


@pytest.fixture
def desk(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(**DESK)
    yield made
    made.close()


def reading(context: BrowserContext, site: Site, address: str = CHAPTER) -> Page:
    page = context.new_page()
    page.goto(site.url + address)  # loaded: its modules have run, which need not be so when the network is idle
    page.wait_for_load_state("networkidle")
    return page


def box(page: Page) -> Locator:
    return page.locator(".fact-source")


def ready(number: Locator) -> Locator:
    """In the middle of the screen, where nothing lies over it."""
    number.evaluate("e => e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'})")
    return number


def title(number: Locator) -> str:
    said = number.get_attribute("title")
    assert said
    return said


# On a phone


def test_a_tap_on_a_number_says_which_and_where_it_comes_from_at_the_foot_of_the_screen(phone, site: Site) -> None:
    page = reading(phone, site)
    spread = page.locator(f"{IN_TEXT}[title^=between]").first
    ready(spread).tap()
    expect(box(page)).to_be_visible()
    assert box(page).evaluate("e => e.textContent") == f"{spread.inner_text()} {title(spread)}"
    assert "torch" in title(spread)
    place = box(page).bounding_box()
    assert place
    assert (place["x"], place["width"], place["y"] + place["height"]) == (0, 390, 844)


def test_the_next_number_takes_its_place(phone, site: Site) -> None:
    page = reading(phone, site)
    first, computed = page.locator(IN_TEXT).first, page.locator(f"{IN_TEXT}[data-expression]").first
    ready(first).tap()
    expect(box(page)).to_contain_text(title(first))
    ready(computed).tap()
    expect(box(page)).to_contain_text(title(computed))
    expect(page.locator("[data-told]")).to_have_count(1)


def test_a_second_tap_closes_it_and_a_third_opens_it_again(phone, site: Site) -> None:
    page = reading(phone, site)
    number = ready(page.locator(IN_TEXT).first)
    for shows in (True, False, True):
        number.tap()
        page.wait_for_timeout(50)
        assert page.evaluate(OPEN) == shows
    expect(page.locator("[data-told]")).to_have_count(1)


def test_a_tap_elsewhere_closes_it_and_one_on_itself_does_not(phone, site: Site) -> None:
    page = reading(phone, site)
    ready(page.locator(IN_TEXT).first).tap()
    box(page).tap()
    expect(box(page)).to_be_visible()
    page.locator("h1").evaluate("e => e.scrollIntoView()")
    page.touchscreen.tap(5, 300)
    expect(box(page)).to_be_hidden()
    expect(page.locator("[data-told]")).to_have_count(0)


def test_a_tap_elsewhere_closes_it_in_a_browser_that_leaves_that_to_the_page(phone, site: Site) -> None:
    """Safari on iPhones had `popover` for two years before a tap elsewhere closed one."""
    page = phone.new_page()
    page.add_init_script("""Object.defineProperty(HTMLElement.prototype, "popover",
        {set() { this.setAttribute("popover", "manual") }})""")
    page.goto(site.url + CHAPTER, wait_until="networkidle")
    number = ready(page.locator(IN_TEXT).first)
    for shows in (True, False, True):
        number.tap()
        page.wait_for_timeout(50)
        assert page.evaluate(OPEN) == shows
    page.touchscreen.tap(5, 300)
    expect(box(page)).to_be_hidden()


def test_it_is_not_laid_over_its_number(phone, site: Site) -> None:
    page = reading(phone, site)
    number = page.locator(IN_TEXT).nth(3)
    number.evaluate("e => scrollBy({top: e.getBoundingClientRect().bottom - innerHeight + 10, behavior: 'instant'})")
    number.tap()
    expect(box(page)).to_be_visible()
    place = box(page).bounding_box()
    assert place
    assert place["y"] == 0


@pytest.mark.parametrize(
    ("address", "source", "within"),
    [
        (CHAPTER, "td .missing", "other stages are set against this one"),
        (CHAPTER, ".mix", "GEMM"),
        ("stages/mlp_eager/", ".timeline rect.tl-gemm", " µs, from "),
        ("stages/mlp_eager/", ".trace-block--reproduce code[title]", ""),
    ],
    ids=["dash", "strip", "bar", "digest"],
)
def test_what_is_no_number_tells_what_its_title_says(phone, site: Site, address: str, source: str, within: str) -> None:
    page = reading(phone, site, address)
    told = page.locator(f"article {source}").first
    said = told.evaluate("e => e.getAttribute('title') ?? e.querySelector('title').textContent")
    assert within in said
    ready(told).tap()
    expect(box(page)).to_be_visible()
    assert box(page).evaluate("e => e.textContent") == said


def test_what_is_not_recorded_yet_tells_what_its_title_says(phone, site: Site) -> None:
    """No committed page has any, so one is written as `Conversion.not_recorded` writes it."""
    page = reading(phone, site)
    page.evaluate("""() => document.querySelector("article h1").insertAdjacentHTML("afterend",
        '<p class="unrecorded" title="stage mlp: it is not recorded yet">not recorded yet</p>')""")
    ready(page.locator("article .unrecorded")).tap()
    expect(box(page)).to_be_visible()
    assert box(page).evaluate("e => e.textContent") == "stage mlp: it is not recorded yet"


def test_the_wide_reach_of_a_dash_moves_nothing(browser: Browser, site: Site) -> None:
    """A finger hits more than a pointer does, and yet all lies where it lies without that."""
    places = []
    for touch in (False, True):
        with browser.new_context(viewport={"width": 390, "height": 844}, has_touch=touch) as context:
            page = reading(context, site, "")
            places.append(page.evaluate(TEXTS))
            dash = ready(page.locator("article td .missing").first).bounding_box()
    assert places[0] == places[1]
    assert dash
    assert min(dash["width"], dash["height"]) >= 24


# What it leaves alone


def test_a_number_in_a_link_is_a_link(desk, site: Site) -> None:
    page = reading(desk, site, "predictions/")
    followed: list[str] = []
    page.route("**/chapters/**", lambda route: (followed.append(route.request.url), route.fulfill(status=204)))
    ready(page.locator("article a data.fact").first).click()
    wait_until(page, "true")
    page.wait_for_timeout(100)
    assert len(followed) == 1
    assert page.evaluate(OPEN) is False


def test_a_number_in_an_option_is_chosen_and_not_explained(phone, site: Site) -> None:
    page = reading(phone, site, "chapters/nn-linear/")
    page.evaluate("""() => document.querySelector("guide-predict label.predict-choice")
        .append(document.querySelector("article > p data.fact").cloneNode(true))""")
    option = page.locator("guide-predict label.predict-choice:has(data.fact)").first
    ready(option.locator("data.fact")).tap()
    expect(option.locator("input")).to_be_checked()
    assert page.evaluate(OPEN) is False


def test_selecting_a_number_by_a_drag_or_by_two_or_three_clicks_does_not_open_it(desk, site: Site) -> None:
    page = reading(desk, site)
    number = ready(page.locator(f"{IN_TEXT}[title^=between]").first)
    place = number.bounding_box()
    assert place
    middle = place["y"] + place["height"] / 2
    page.mouse.move(place["x"] + 2, middle)
    page.mouse.down()
    page.mouse.move(place["x"] + 0.8 * place["width"], middle, steps=5)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()") in number.inner_text()
    for clicks in (0, 2, 3):
        if clicks:
            page.mouse.click(place["x"] + 200, middle + 300)
            number.click(click_count=clicks)
        assert page.evaluate("getSelection().toString()") != ""
        assert page.evaluate(OPEN) is False


def test_nothing_moves_and_nothing_is_requested(desk, site: Site) -> None:
    page = reading(desk, site)
    number = ready(page.locator(IN_TEXT).nth(3))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    before = page.evaluate(PLACES)
    number.click()
    expect(box(page)).to_be_visible()
    assert page.evaluate(PLACES) == before
    page.keyboard.press("Escape")
    assert page.evaluate(PLACES) == before
    assert [url for url in requests if not url.endswith("favicon.svg")] == []  # the icon may come late


def test_paper_has_none_of_it(desk, site: Site) -> None:
    page = reading(desk, site)
    number = ready(page.locator(IN_TEXT).first)
    number.click()
    expect(box(page)).to_be_visible()
    page.emulate_media(media="print")
    expect(box(page)).to_be_hidden()
    assert number.evaluate("e => getComputedStyle(e).outlineStyle") == "none"


def test_without_scripts_a_page_has_its_titles_and_no_box(site: Site, browser: Browser) -> None:
    with browser.new_context(**PHONE, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(site.url + CHAPTER)
        number = page.locator(IN_TEXT).first
        number.tap()
        assert "torch" in title(number)
        assert box(page).count() == 0


def test_a_browser_without_popover_shows_the_page_as_ever(site: Site, desk) -> None:
    visit = Visit(desk.new_page(), site.url + CHAPTER)
    visit.watch(site)
    visit.page.add_init_script("delete HTMLElement.prototype.popover; delete HTMLElement.prototype.showPopover")
    visit.page.goto(visit.url, wait_until="networkidle")
    ready(visit.page.locator(IN_TEXT).first).click()
    visit.page.locator(".trace-scroll").first.press("Enter")
    assert (visit.errors, box(visit.page).count()) == ([], 0)


# On a desk


def test_on_a_desk_it_lies_under_its_number_and_inside_the_window(desk, site: Site) -> None:
    page = reading(desk, site)
    for number in page.locator("article table.ladder tr:nth-child(2) :is(data.fact, .missing)").all():
        ready(number).click()
        expect(box(page)).to_be_visible()
        it, said = number.bounding_box(), box(page).bounding_box()
        assert it and said
        assert 0 < said["y"] - it["y"] - it["height"] < 20
        assert said["x"] >= 0
        assert said["x"] + said["width"] <= 1440
    page.keyboard.press("Escape")
    number.evaluate("e => scrollBy({top: e.getBoundingClientRect().bottom - innerHeight + 30, behavior: 'instant'})")
    number.click()
    it, said = number.bounding_box(), box(page).bounding_box()
    assert it and said
    assert 0 < it["y"] - said["y"] - said["height"] < 20


def test_escape_closes_it(desk, site: Site) -> None:
    page = reading(desk, site)
    ready(page.locator(IN_TEXT).first).click()
    expect(box(page)).to_be_visible()
    page.keyboard.press("Escape")
    expect(box(page)).to_be_hidden()
    expect(page.locator("[data-told]")).to_have_count(0)


# By keyboard


def test_enter_on_a_table_and_the_arrow_keys_tell_every_number_one_after_the_other(desk, site: Site) -> None:
    page = reading(desk, site)
    region = page.locator(".trace-scroll:has(table.ladder)")
    numbers = region.locator("[title]")
    region.press("Enter")
    expect(box(page)).to_contain_text(title(numbers.first))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(box(page)).to_contain_text(title(numbers.nth(2)))
    assert numbers.nth(2).get_attribute("data-told") == ""
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    told = page.locator("[data-told]")
    expect(told).to_have_count(1)
    assert told.evaluate("e => e.closest('.trace-scroll table.ladder')") is None  # in the text above
    expect(box(page)).to_contain_text(title(told))
    expect(region).to_be_focused()


@pytest.mark.parametrize("width", [390, 1440])
def test_what_the_arrow_keys_lead_to_is_seen(desk, site: Site, width: int) -> None:
    page = reading(desk, site)
    page.set_viewport_size({"width": width, "height": 900})
    region = page.locator(".trace-scroll:has(table.ladder)")
    region.press("Enter")
    for key in ["ArrowRight"] * 30 + ["ArrowLeft"] * 60:
        page.keyboard.press(key)
        assert page.evaluate(SEEN), key


def test_keys_that_close_it(desk, site: Site) -> None:
    page = reading(desk, site)
    region = page.locator(".trace-scroll:has(table.ladder)")
    for key in ("Enter", "Escape", "Tab", "Shift+Tab"):
        region.press("Enter")
        expect(box(page)).to_be_visible()
        page.keyboard.press(key)
        expect(box(page)).to_be_hidden()
    region.focus()
    page.keyboard.press("ArrowRight")
    expect(box(page)).to_be_hidden()


def test_after_a_click_the_arrow_keys_scroll_as_ever(desk, site: Site) -> None:
    page = reading(desk, site)
    number = ready(page.locator(".trace-scroll table.ladder data.fact").first)
    number.click()
    page.keyboard.press("ArrowRight")
    expect(box(page)).to_contain_text(title(number))
    assert number.get_attribute("data-told") == ""


def test_no_number_is_a_tab_stop(desk, site: Site) -> None:
    page = reading(desk, site)
    ready(page.locator(IN_TEXT).first).click()
    assert page.evaluate("[...document.querySelectorAll('data, .missing, .fact-source')].every(e => e.tabIndex < 0)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
def test_axe_finds_nothing_while_it_is_open(
    site: Site, browser: Browser, screen: dict, scheme: Literal["light", "dark"]
) -> None:
    with browser.new_context(**screen, color_scheme=scheme, reduced_motion="reduce") as context:
        page = reading(context, site, "")
        ready(page.locator("article > dl data.fact[title^=between]").first).click()
        expect(box(page)).to_be_visible()
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


# With the reader's own recording


def test_it_tells_of_the_number_that_is_shown_now(desk, site: Site) -> None:
    page = opened(desk.new_page(), site)
    mine = json.loads(json.dumps(exported()))
    mine["environment"] |= {"gpu": "Slow GPU", "torch": "9.9.9+cu999"}
    drop(page, "export.json", encoded(mine))
    page.goto(site.url + CHAPTER)
    page.locator(".compare-banner[data-facts]").wait_for()
    number = ready(page.locator(f"{IN_TEXT}[title^=between]").first)
    number.click()
    expect(box(page)).to_contain_text("Slow GPU")
    page.evaluate("document.querySelector('.compare-banner button').click()")  # as another tab would do it
    expect(page.get_by_role("button", name="Show mine")).to_be_visible()
    expect(box(page)).to_be_hidden()
    number.click()
    expect(box(page)).to_contain_text(title(number))
    expect(box(page)).not_to_contain_text("Slow GPU")
