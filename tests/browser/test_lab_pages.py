"""The pages of the labs: nothing from elsewhere, readable on a phone, code that can be copied."""

from collections.abc import Iterator

import pytest
from built_site import DOCS, FITS, Site, Visit, wait_until
from playwright.sync_api import Browser, expect

NAMES = sorted(path.stem for path in (DOCS / "labs").glob("*.ipynb"))
PHONE, DESK = 390, 1440


@pytest.fixture(params=NAMES)
def visit(request: pytest.FixtureRequest, site: Site, browser: Browser) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": DESK, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = Visit(context.new_page(), f"{site.url}labs/{request.param}/")
    opened.watch(site)
    opened.page.goto(opened.url, wait_until="networkidle")
    yield opened
    context.close()


def test_nothing_is_fetched_from_elsewhere_and_nothing_complains(visit: Visit) -> None:
    assert (visit.outside, visit.errors) == ([], [])


@pytest.mark.parametrize("width", [PHONE, 768, DESK])
def test_the_page_never_scrolls_sideways_and_its_code_can(visit: Visit, width: int) -> None:
    visit.resize(width)
    wait_until(visit.page, FITS)
    wide = visit.page.locator(".lab pre > code").evaluate_all(
        "found => found.filter(c => c.scrollWidth > c.clientWidth).map(c => c.tabIndex)"
    )
    assert set(wide) <= {0}  # by keyboard, too
    assert wide or width != PHONE


def test_the_code_of_a_cell_can_be_copied_as_it_was_written(visit: Visit) -> None:
    button = visit.page.locator(".lab .jp-Cell-inputWrapper .md-code__button").first
    button.click()
    expect(visit.page.locator(".md-dialog")).to_contain_text("Copied")
    assert visit.page.evaluate("navigator.clipboard.readText()").startswith("import statistics\n")


def test_a_cell_that_needs_a_gpu_is_marked_where_it_stands(visit: Visit) -> None:
    marks = visit.page.locator(".lab .cell-tag")
    assert set(marks.all_inner_texts()) == {"needs-gpu"}
    assert marks.count() == visit.page.locator(".lab pre > code", has_text="if on_gpu():").count()


def test_the_sections_are_in_the_table_of_contents_and_its_links_lead_there(visit: Visit) -> None:
    links = visit.page.locator(".md-sidebar--secondary .md-nav__link")
    assert links.count() > 4
    for href in [link.get_attribute("href") for link in links.all()]:
        assert visit.page.locator(f'.lab [id="{(href or "")[1:]}"]').count() == 1, href


def test_both_files_are_offered_for_download(visit: Visit) -> None:
    for suffix in (".ipynb", ".py"):
        with visit.page.expect_download() as downloading:
            visit.page.locator(f".lab-files a[href$='{suffix}']").click()
        name = downloading.value.suggested_filename
        assert downloading.value.path().read_bytes() == (DOCS / "labs" / name).read_bytes()
