"""Driving the page Compare: choose a file, read what is said of it, run a module of the page alone."""

from typing import Any

from built_site import Site, wait_until
from playwright.sync_api import FilePayload, Page

PAGE = "compare/"
READ = "(() => { const said = document.querySelector('.compare-status')?.textContent; " \
       "return said && !said.startsWith('Reading') })()"  # fmt: skip
NAMES = "JSON.parse(document.querySelector('script.compare-names').textContent)"


def payload(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/json", "buffer": content}


def drop(page: Page, name: str, content: bytes, within_s: float = 30) -> str:
    """What the page says when it has read this file."""
    page.evaluate("document.querySelector('.compare-status').textContent = ''")
    page.locator(".compare-file").set_input_files(payload(name, content))
    wait_until(page, READ, within_s=within_s)
    return page.locator(".compare-status").inner_text()


def opened(page: Page, site: Site, address: str = PAGE) -> Page:
    page.goto(site.url + address)
    if address == PAGE:
        page.locator(".compare-file").wait_for()
    return page


def beside(page: Page, stage: str) -> None:
    """Set a stage of ours beside the trace, and wait until all is drawn."""
    page.select_option("#compare-stage", stage)
    wait_until(page, "document.querySelectorAll('.compare-shows svg.timeline').length === 2", within_s=15)


def counts(page: Page) -> dict[str, int]:
    """How many numbers of this page were switched, differ, and stayed ours, as the banner says."""
    page.locator(".compare-banner[data-facts]").wait_for()
    found: dict[str, Any] = page.evaluate("({...document.querySelector('.compare-banner').dataset})")
    return {name: int(value) for name, value in found.items()}
