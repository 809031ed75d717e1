"""A page is light, stays as it is while it loads, fetches a trace only when asked, and is found by a kernel's name."""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from built_site import DOCS, PAGES, Site, serve
from playwright.sync_api import Browser, Page, Response, expect

CHAPTERS = [address for address in PAGES if address.startswith("chapters/")]
OTHERS = ["", "claims/", "predictions/", "compare/", "labs/linear/", "stages/mlp_compiled/", "reference/kernel-names/"]
PHONE, DESK = (412, 823), (1440, 900)
HTML_KB, ALL_KB = 60, 350
"""Thousands of bytes, gzipped."""
INDEX = "search/search_index.json"
TRACE = re.compile(r"/recordings/.*\.(json|gz|txt)$")

SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      shifts.push([entry.value, ...entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 100) ?? "")]);
  }).observe({ type: "layout-shift", buffered: true });
"""


@dataclass(frozen=True)
class Loaded:
    """A page that was read to its end, and what came with it: bytes by address inside the site, gzipped."""

    address: str
    sizes: dict[str, int]
    shifts: list[list[object]]


def read(browser: Browser, site: Site, address: str, size: tuple[int, int]) -> Loaded:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    answers: list[Response] = []

    def on_response(answer: Response) -> None:
        answers.append(answer)

    page.on("response", on_response)
    page.add_init_script(SHIFTS)
    page.goto(site.url + address, wait_until="networkidle")
    for part in range(40):
        page.evaluate("part => scrollTo(0, part * document.body.scrollHeight / 40)", part)
        page.wait_for_timeout(10)
    page.wait_for_load_state("networkidle")
    sizes = {a.url.removeprefix(site.url): len(gzip.compress(a.body(), mtime=0)) for a in answers if a.ok}
    loaded = Loaded(address, sizes, page.evaluate("shifts"))
    context.close()
    return loaded


@pytest.fixture(scope="module", params=CHAPTERS + OTHERS, ids=lambda address: address or "start")
def loaded(request: pytest.FixtureRequest, browser: Browser, site: Site) -> Loaded:
    return read(browser, site, request.param, PHONE)


def test_a_page_weighs_less_than_its_limit(loaded: Loaded) -> None:
    assert loaded.sizes[loaded.address] < HTML_KB * 1000


def test_a_page_with_all_that_it_loads_weighs_less_than_its_limit(loaded: Loaded) -> None:
    assert sum(loaded.sizes.values()) < ALL_KB * 1000, loaded.sizes


def test_no_trace_is_fetched_before_a_reader_asks_for_it(loaded: Loaded) -> None:
    assert [address for address in loaded.sizes if TRACE.search(f"/{address}")] == []


def test_the_index_of_the_search_is_not_fetched_before_a_reader_searches(loaded: Loaded) -> None:
    assert INDEX not in loaded.sizes


def test_nothing_moves_on_a_phone(loaded: Loaded) -> None:
    assert loaded.shifts == []


@pytest.mark.parametrize("address", CHAPTERS + OTHERS, ids=lambda address: address or "start")
def test_nothing_moves_on_a_desk(browser: Browser, site: Site, address: str) -> None:
    assert read(browser, site, address, DESK).shifts == []


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("address", ["", "stages/", "stages/matmul_add/", "chapters/nn-linear/", "claims/"])
def test_nothing_moves_while_a_page_comes_slowly(
    browser: Browser, site: Site, address: str, size: tuple[int, int]
) -> None:
    with serve(site.folder, slowly=True) as url:
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.add_init_script(SHIFTS)
        page.goto(url + address, wait_until="networkidle")
        assert page.evaluate("shifts") == []
        page.close()


# Search


def kernel_names() -> list[str]:
    """What ran on the GPU in the committed recording, of names that are one word."""
    names: set[str] = set()
    for trace in DOCS.glob("recordings/*/*/trace.json.gz"):
        events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
        names |= {event["name"] for event in events if event.get("cat") == "kernel"}
    return sorted(name for name in names if re.fullmatch(r"\w+", name))


PARTS = ["nvjet_sm90", "triton_poi_fused", "vectorized_elementwise_kernel", "GeluCUDAKernelImpl", "256x128"]
"""Of longer names: where one begins, and what is inside a template."""


@pytest.fixture(scope="module")
def searching(browser: Browser, site: Site) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": DESK[0], "height": DESK[1]})
    page.goto(site.url, wait_until="networkidle")
    yield page
    page.close()


@pytest.mark.parametrize("by", ["pointer", "key", "tap"])
def test_the_index_of_the_search_comes_when_it_is_wanted_and_once(browser: Browser, site: Site, by: str) -> None:
    size = PHONE if by == "tap" else DESK
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, has_touch=by == "tap")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.url)))
    page.goto(site.url + CHAPTERS[0], wait_until="networkidle")
    assert INDEX not in asked
    if by == "pointer":
        page.locator(".md-search").hover()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(200)
        assert asked.count(INDEX) == 1, "it comes while the pointer is on its way"
    elif by == "tap":
        page.locator("label.md-header__button[for=__search]").tap()
    else:
        page.keyboard.press("/")
    field = page.get_by_role("textbox", name="Search")
    field.press_sequentially("ridge")
    expect(page.locator(".md-search-result__item").first).to_be_visible()
    assert asked.count(INDEX) == 1
    context.close()


def test_a_page_is_styled_for_scripts_before_materials_are_there(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    page.route("**/bundle.*.js", lambda route: route.abort())
    page.goto(site.url)
    assert page.locator("html").get_attribute("class") == "js js-focus-visible"
    page.close()


def test_no_number_of_a_picture_and_no_generated_code_swells_the_index(site: Site) -> None:
    index = json.loads((site.folder / INDEX).read_text(encoding="utf-8"))
    text = " ".join(entry["text"] for entry in index["docs"])
    assert "async_compile" not in text and "Self CUDA time total" not in text
    assert "first call" in text  # what is said is in it


def test_there_are_kernel_names_to_search_for() -> None:
    assert len(kernel_names()) > 5


@pytest.mark.parametrize("name", kernel_names() + PARTS)
def test_the_name_of_a_kernel_finds_the_pages_that_speak_of_it(searching: Page, site: Site, name: str) -> None:
    index = json.loads((site.folder / INDEX).read_text(encoding="utf-8"))
    speaking = [entry["location"] for entry in index["docs"] if name.lower() in entry["text"].lower()]
    pages = {location.partition("#")[0] for location in speaking}
    listing = {location for location in speaking if location.endswith("#kernels")}
    assert pages
    field = searching.get_by_role("textbox", name="Search")
    field.fill("")
    field.press_sequentially(name)
    section = searching.locator(f".md-search-result__link[href*='h={name.lower()}#' i]").first
    expect(section).to_be_attached()
    assert (section.get_attribute("href") or "").removeprefix(site.url).partition("?")[0] in pages
    count = int(searching.locator(".md-search-result__meta").inner_text().split()[0])
    assert len(listing) <= count <= len(pages)
