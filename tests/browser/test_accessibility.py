"""axe-core finds nothing to complain about, in light and in dark."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import DOCS, Site
from playwright.sync_api import Browser, expect

PAGES = ["", "stages/mlp_eager/", "stages/mlp_compiled/", "reference/facts/", "reference/kernel-names/", "claims/"]
LABS = ["labs/", *(f"labs/{path.stem}/" for path in sorted((DOCS / "labs").glob("*.ipynb")))]
PHONE, DESK = 390, 1440
CASES = [
    *((address, "light", DESK) for address in PAGES),
    *((address, "dark", DESK) for address in PAGES),
    *((address, "light", PHONE) for address in PAGES[:2]),
    *((address, scheme, width) for address in LABS for scheme in ("light", "dark") for width in (PHONE, DESK)),
]
SHOWN_AS = {"light": "default", "dark": "slate"}


@pytest.mark.parametrize(
    ("address", "scheme", "width"), CASES, ids=[f"{a or 'start'}-{scheme}-{width}" for a, scheme, width in CASES]
)
def test_axe_finds_nothing(
    site: Site, browser: Browser, address: str, scheme: Literal["light", "dark"], width: int
) -> None:
    context = browser.new_context(
        color_scheme=scheme, viewport={"width": width, "height": 900}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(site.url + address)
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", SHOWN_AS[scheme])
    page.evaluate("document.querySelectorAll('.md-content details').forEach(d => d.open = true)")
    page.wait_for_timeout(200)
    results = Axe().run(page)
    context.close()
    assert results.violations_count == 0, results.generate_report()
