"""Draw docs/assets/social-card.png, which is shown where a link to the guide is posted, from social_card.svg.

    nox -s tests --install-only && .nox/tests/bin/python tools/social_card.py

Run it after the drawing has changed; the picture is committed. No measurement is in it, so it never goes stale.
"""

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
DRAWING = Path(__file__).with_suffix(".svg")
PICTURE = ROOT / "docs" / "assets" / "social-card.png"
WIDTH, HEIGHT = 1200, 630


def main() -> None:
    """Take a picture of the drawing in Chromium."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_content(f"<style>body{{margin:0}}</style>{DRAWING.read_text(encoding='utf-8')}")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
