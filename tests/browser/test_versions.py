"""Two versions on a branch, deployed from this very tree, served, and read in a browser."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import FITS, ROOT, Site, Visit, serve, wait_until
from playwright.sync_api import Browser, Page, Route, expect

from build_traces import links

PAGE = "stages/mlp_eager/"
MOVED, MOVED_TO = "reference/glossary", "reference/words"
"""A page of 1.0 and what 1.1 calls it."""


@dataclass(frozen=True)
class Versions(Site):
    """The branch, checked out and served, and what the deploys printed."""

    printed: str


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)


def deploy(root: Path, *arguments: str) -> str:
    """Deploy what is in the folder, committed."""
    git("add", "-A", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", f"For {arguments[0]}", cwd=root)
    environment = {name: value for name, value in os.environ.items() if name not in ("RECORDING", "SITE_URL")}
    done = subprocess.run(
        [sys.executable, "-m", "build_traces", "deploy", *arguments],
        cwd=root,
        env=environment | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"deploy {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}", pytrace=False)
    return done.stdout


def move_a_page(root: Path) -> None:
    """The glossary gets another name, as a chapter may from one version to the next."""
    old, new = (root / "docs" / f"{name}.md" for name in (MOVED, MOVED_TO))
    old.rename(new)
    for path in [root / "mkdocs.yml", *(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.toml")]:
        written = path.read_text(encoding="utf-8")
        path.write_text(written.replace(f"{old.name}", f"{new.name}"), encoding="utf-8")


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Versions]:
    """1.0, then 1.1 as the latest, then what is being written."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("docs", "kernel", "overrides", "snippets"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    git("init", "-q", "-b", "main", cwd=root)
    git("config", "user.name", "A maintainer", cwd=root)
    git("config", "user.email", "maintainer@example.org", cwd=root)
    printed = deploy(root, "1.0", "latest")
    move_a_page(root)
    printed += deploy(root, "1.1", "latest") + deploy(root, "main")
    served = tmp_path_factory.mktemp("served") / "guide"
    git("clone", "-q", "-b", "gh-pages", str(root), str(served), cwd=root)
    shutil.rmtree(served / ".git")
    with serve(served.parent) as url:
        yield Versions(served, f"{url}guide/", printed)


@pytest.fixture
def page(versions: Versions, browser: Browser) -> Iterator[Page]:
    """A page that may ask for nothing outside the site and may complain of nothing."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    visit = Visit(context.new_page(), versions.url)
    visit.watch(versions)
    yield visit.page
    assert (visit.outside, visit.errors) == ([], [])
    context.close()


def choose(page: Page, version: str) -> None:
    page.locator("guide-versions summary").click()
    page.locator("guide-versions a", has=page.locator("strong", has_text=version)).click()


# What is on the branch


def test_it_is_a_plain_folder_in_which_every_link_leads_somewhere(versions: Versions) -> None:
    assert [str(problem) for problem in links.broken(versions.folder)] == []


def test_the_recording_stands_there_once(versions: Versions) -> None:
    traces = list(versions.folder.rglob("mlp_eager/trace.json.gz"))
    assert [trace.relative_to(versions.folder).parts[0] for trace in traces] == ["recordings"]


def test_no_draft_is_there_and_each_is_named(versions: Versions) -> None:
    for path in versions.folder.rglob("*.html"):
        assert 'class="draft"' not in path.read_text(encoding="utf-8"), path
    listed = json.loads((versions.folder / "versions.json").read_text(encoding="utf-8"))
    for draft in listed[0]["properties"]["left_out"]:
        assert f"left out: {draft}, a draft" in versions.printed


# Read


def test_the_start_leads_to_the_latest(versions: Versions, page: Page) -> None:
    page.goto(versions.url)
    expect(page).to_have_url(f"{versions.url}latest/")
    expect(page.locator("guide-versions summary")).to_have_text("1.1")
    expect(page.locator(".guide-outdated")).to_be_hidden()


def test_no_page_beside_the_versions_lets_a_browser_ask_the_server_for_an_icon(versions: Versions) -> None:
    """It would ask for /favicon.ico, above the guide's folder, where somebody else's files are."""
    for name in ("index.html", "404.html"):
        assert '<link rel="icon" href="data:,">' in (versions.folder / name).read_text(encoding="utf-8")


def test_a_reader_who_changes_versions_stays_on_the_page(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}latest/{PAGE}#kernels")
    choose(page, "1.0")
    expect(page).to_have_url(f"{versions.url}1.0/{PAGE}#kernels")
    expect(page.locator("aside.stamp")).to_contain_text("Version 1.0. Measured on NVIDIA")
    choose(page, "main")
    expect(page).to_have_url(f"{versions.url}main/{PAGE}#kernels")


def test_a_page_that_the_other_version_lacks_leads_to_its_start(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}1.0/{MOVED}/")
    choose(page, "1.1")
    expect(page).to_have_url(f"{versions.url}1.1/")


def test_the_list_says_which_gpu_and_torch_and_which_is_the_latest(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}1.0/")
    page.locator("guide-versions summary").click()
    entries = page.locator("guide-versions li")
    expect(entries).to_have_count(3)
    expect(entries.nth(1)).to_contain_text("1.1 latest")
    for entry in entries.all():
        expect(entry).to_contain_text("NVIDIA H200, torch 2.11.0")
    expect(page.locator("guide-versions a[aria-current]")).to_contain_text("1.0")


def test_an_old_version_says_so_and_leads_to_the_same_page_of_the_latest(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}1.0/{PAGE}")
    banner = page.locator(".guide-outdated")
    expect(banner).to_contain_text("You are reading 1.0, an old version.")
    banner.get_by_role("link", name="Read this page in 1.1, the latest").click()
    expect(page).to_have_url(f"{versions.url}latest/{PAGE}")
    expect(page.locator(".guide-outdated")).to_be_hidden()


def test_an_old_page_that_the_latest_lacks_leads_to_its_start(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}1.0/{MOVED}/")
    page.locator(".guide-outdated").get_by_role("link", name="Read 1.1, the latest").click()
    expect(page).to_have_url(f"{versions.url}latest/")


def test_what_is_being_written_says_so(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}main/")
    expect(page.locator(".guide-outdated")).to_contain_text("the version that is being written")


def test_the_latest_under_its_number_is_not_old(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}1.1/")
    expect(page.locator("guide-versions li")).to_have_count(3)
    expect(page.locator(".guide-outdated")).to_be_hidden()


def test_the_list_works_by_keyboard_and_closes(versions: Versions, page: Page) -> None:
    page.goto(f"{versions.url}1.1/{PAGE}")
    summary, list_ = page.locator("guide-versions summary"), page.locator("guide-versions ul")
    summary.focus()
    page.keyboard.press("Enter")
    expect(list_).to_be_visible()
    page.keyboard.press("Escape")
    expect(list_).to_be_hidden()
    expect(summary).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("guide-versions a").first).to_be_focused()
    page.locator("h1").click()
    expect(list_).to_be_hidden()


def test_the_published_trace_is_fetched_from_beside_the_versions(versions: Versions, page: Page) -> None:
    for version in ("1.0", "latest"):
        page.goto(f"{versions.url}{version}/{PAGE}")
        fetched = page.locator("a.perfetto").first.evaluate(
            "async link => [link.href, (await (await fetch(link.href)).arrayBuffer()).byteLength]"
        )
        assert fetched[0].startswith(f"{versions.url}recordings/nvidia-h200_torch-2.11.0-")
        assert fetched[1] == (next((versions.folder / "recordings").glob("*/mlp_eager/trace.json.gz"))).stat().st_size


@pytest.mark.parametrize("width", [390, 768, 1440])
def test_header_and_banner_fit_the_screen(versions: Versions, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{versions.url}1.0/{PAGE}")
    page.locator("guide-versions summary").click()
    box = page.locator("guide-versions ul").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
    wait_until(page, FITS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_an_old_version_with_the_list_open(
    versions: Versions, browser: Browser, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{versions.url}1.0/")
    page.locator("guide-versions summary").click()
    expect(page.locator(".guide-outdated")).to_be_visible()
    page.wait_for_timeout(200)
    results = Axe().run(page)
    context.close()
    assert results.violations_count == 0, results.generate_report()


# Without what it needs


def test_without_scripts_the_page_still_names_its_version(versions: Versions, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{versions.url}1.0/{PAGE}")
    expect(page.locator("guide-versions")).to_have_text("1.0")
    expect(page.locator("aside.stamp")).to_contain_text("Version 1.0.")
    expect(page.locator(".guide-outdated")).to_be_hidden()
    context.close()


def test_without_the_list_of_versions_there_is_one_version(versions: Versions, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()

    def refuse(route: Route) -> None:
        route.fulfill(status=200, body="no JSON")

    page.route("**/versions.json", refuse)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{versions.url}1.0/{PAGE}", wait_until="networkidle")
    expect(page.locator("guide-versions")).to_have_text("1.0")
    assert errors == []
    context.close()


def test_a_site_without_versions_asks_for_none(site: Site, browser: Browser) -> None:
    context = browser.new_context()
    visit = Visit(context.new_page(), site.url)
    visit.watch(site)
    visit.page.goto(site.url, wait_until="networkidle")
    assert visit.page.locator("guide-versions, .guide-outdated").count() == 0
    assert visit.errors == []
    context.close()
