"""One build of the site and one browser for all tests of this folder."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_site import ROOT, Site, serve
from playwright.sync_api import Browser, Playwright, sync_playwright

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


@functools.cache
def _find_chromium(bundled: str) -> str:
    candidates = [os.environ.get("CHROMIUM"), bundled, *map(shutil.which, CHROMIUM_NAMES)]
    found = next((path for path in candidates if path and Path(path).is_file()), None)
    if found is None:
        pytest.fail(
            "The browser tests need Chromium and none was found. Install it (Debian: apt-get install chromium; "
            "elsewhere: playwright install chromium) or name it: export CHROMIUM=/path/to/chromium",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site, built as it is published and served from a port of its own."""
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if build.returncode != 0:
        pytest.fail(f"mkdocs build --strict ended with {build.returncode}:\n{build.stderr}", pytrace=False)
    with serve(folder) as url:
        yield Site(folder, url)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium; its absence is a failure that says what to install, never a skip."""
    executable = _find_chromium(playwright.chromium.executable_path)
    launched = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
    yield launched
    launched.close()
