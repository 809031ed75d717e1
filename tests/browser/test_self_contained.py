"""Pages of every type need nothing but the site, wherever it lies, and run nothing that is written into them.

The site is served as a reader would, by `python -m http.server`, from a folder in a folder, to a browser that can
resolve no other host.
"""

import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
from built_site import ROOT, Site, Visit
from playwright.sync_api import Browser, Page, Playwright, expect

TYPES = {
    "start": "",
    "chapter": "chapters/three-linears-and-a-gate/",
    "predictions": "predictions/",
    "audit": "claims/",
    "compare": "compare/",
    "labs": "labs/",
    "lab": "labs/linear/",
    "stages": "stages/",
    "stage": "stages/mlp_compiled/",
    "facts": "reference/facts/",
    "kernel-names": "reference/kernel-names/",
    "recordings": "reference/recordings/",
    "glossary": "reference/glossary/",
    "about": "about/",
    "none": "404.html",
}
FOLDER = "some/where/"
NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
WATCH = """
  window.violations = [];
  addEventListener("securitypolicyviolation", (event) =>
    window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""
INJECTED = """() => {
  const script = document.createElement("script");
  script.textContent = "window.injected = 'script'";
  document.body.append(script);
  const holder = document.createElement("div");
  holder.innerHTML = `<img src="data:," onerror="window.injected = 'handler'">
    <svg><a href="javascript:void(window.injected = 'link')"><text>x</text></a></svg>
    <iframe srcdoc="<script>parent.injected = 'frame'</script>"></iframe>`;
  document.body.append(holder);
  holder.querySelector("a").dispatchEvent(new MouseEvent("click"));
}"""
SENT = """async () => {
  const outcomes = [];
  for (const send of [() => fetch("https://example.org/"), () => import("https://example.org/x.js")])
    outcomes.push(await send().then(() => "sent", () => "refused"));
  return outcomes;
}"""


@pytest.fixture(scope="module")
def served(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site in a subfolder of what Python's own server serves."""
    root = tmp_path_factory.mktemp("served")
    shutil.copytree(site.folder, root / FOLDER)
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", str(root)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    port = re.search(r"port (\d+)", server.stdout.readline())
    assert port
    yield Site(root / FOLDER, f"http://127.0.0.1:{port[1]}/{FOLDER}")
    server.terminate()
    server.wait()


@pytest.fixture(scope="module")
def cut_off(browser: Browser, playwright: Playwright) -> Iterator[Browser]:
    """A browser of its own, which finds no host but this one."""
    executable = browser.browser_type.executable_path
    executable = executable if Path(executable).is_file() else shutil.which("chromium") or executable
    with closing(
        playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", NO_OTHER_HOST])
    ) as launched:
        yield launched


@pytest.fixture(params=TYPES.values(), ids=list(TYPES))
def visit(request: pytest.FixtureRequest, served: Site, cut_off: Browser) -> Iterator[Visit]:
    """A page of each type, with what its policy refuses noted."""
    context = cut_off.new_context(viewport={"width": 1440, "height": 900})
    opened = Visit(context.new_page(), served.url + request.param)
    opened.watch(served)
    opened.page.add_init_script(WATCH)
    if request.param == "404.html":  # its links lead from the root, as it is served for any address
        opened.page.route("**/*", lambda route: route.continue_(url=_moved(route.request.url, served)))
    opened.page.goto(opened.url, wait_until="networkidle")
    yield opened
    context.close()


def _moved(url: str, served: Site) -> str:
    host = served.url.removesuffix(FOLDER)
    return url if url.startswith(served.url) else url.replace(host, served.url, 1)


def use(page: Page) -> None:
    """Do what a reader does: search, change the scheme, unfold, copy, read to the end."""
    page.get_by_role("textbox", name="Search").press_sequentially("kernel")
    expect(page.locator(".md-search-result__item").first).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("label[for=__palette_1]").click()
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for button in page.locator(".md-code__button").all()[:1]:
        button.click()
    for step in range(8):
        page.evaluate("part => scrollTo(0, part * document.body.scrollHeight / 8)", step)
        page.wait_for_timeout(30)
    page.wait_for_load_state("networkidle")


def test_a_reader_with_the_network_cut_misses_nothing_and_the_policy_is_kept(visit: Visit, served: Site) -> None:
    use(visit.page)
    outside = [url for url in visit.outside if not url.startswith(served.url.removesuffix(FOLDER))]
    assert (outside, visit.errors, visit.page.evaluate("violations")) == ([], [], [])
    assert visit.page.locator("meta[http-equiv=Content-Security-Policy]").count() == 1


def test_what_is_injected_into_a_page_does_not_run_and_sends_nothing(visit: Visit) -> None:
    visit.page.evaluate(INJECTED)
    visit.page.wait_for_timeout(100)
    assert visit.page.evaluate("window.injected") is None
    assert visit.page.evaluate(SENT) == ["refused", "refused"]
    refused = {line.split()[0] for line in visit.page.evaluate("violations")}
    assert refused >= {"script-src-elem", "script-src-attr", "connect-src"}


def test_an_exercise_works_under_the_policy(served: Site, cut_off: Browser) -> None:
    page = cut_off.new_page()
    page.add_init_script(WATCH)
    page.goto(served.url + TYPES["chapter"], wait_until="networkidle")
    asked = page.locator("guide-predict[data-kind=count]").first
    asked.get_by_label("Your guess").fill("3")
    asked.get_by_role("button", name="Commit").click()
    expect(asked.locator(".predict-solution")).to_be_visible()
    assert page.evaluate("violations") == []
    page.close()


class _Scripts(HTMLParser):
    """Gathers scripts that are written into a page, and handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.policies = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "script" and not known.get("src") and known.get("type") != "application/json":
            self.found.append(f"a script in line {self.getpos()[0]}")
        self.found += [name for name in known if name.startswith("on")]
        self.policies += known.get("http-equiv") == "Content-Security-Policy"


def test_no_page_has_a_script_written_into_it_and_each_has_the_policy(site: Site) -> None:
    for page in site.folder.rglob("*.html"):
        scripts = _Scripts()
        scripts.feed(page.read_text(encoding="utf-8"))
        assert (scripts.found, scripts.policies) == ([], 1), page


@pytest.mark.parametrize(("scheme", "shown"), [("light", "default"), ("dark", "slate")])
def test_a_page_is_drawn_in_the_scheme_of_the_system_before_other_scripts_run(
    site: Site, browser: Browser, scheme: str, shown: str
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.route("**/bundle*.js", lambda route: route.abort())
    page.goto(site.url)
    assert page.locator("body").get_attribute("data-md-color-scheme") == shown
    context.close()


def test_a_chosen_scheme_stays_on_other_pages_before_other_scripts_run(site: Site, browser: Browser) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(site.url, wait_until="networkidle")
    for label in ("__palette_1", "__palette_2"):  # light, then dark
        page.locator(f"label[for={label}]").click()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    page.route("**/bundle*.js", lambda route: route.abort())
    page.goto(f"{site.url}stages/mlp_eager/")
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    context.close()


def test_a_choice_to_follow_the_system_follows_it_while_the_page_is_open(site: Site, browser: Browser) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(site.url, wait_until="networkidle")
    body, root = page.locator("body"), page.locator("html")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.emulate_media(color_scheme="dark")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    assert root.evaluate("e => getComputedStyle(e).colorScheme") == "dark"  # the scrollbars too
    header = page.locator(".md-header").evaluate("e => getComputedStyle(e).backgroundColor")
    assert page.locator("meta[name=theme-color]").get_attribute("content") == header
    page.locator("label[for=__palette_1]").click()  # light, whatever the system says
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(100)
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    context.close()


def test_the_choice_of_a_scheme_goes_round_by_enter(site: Site, browser: Browser) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(site.url, wait_until="networkidle")
    page.locator("#__palette_0").focus()
    seen = []
    for _ in range(3):
        page.keyboard.press("Enter")
        page.wait_for_timeout(60)  # two frames, in which all transitions stand still
        buttons = (
            "[...document.querySelectorAll('[data-guide=palette] label')].filter(e => !e.hidden).map(e => e.title)"
        )
        seen.append((page.locator("body").get_attribute("data-md-color-scheme"), *page.evaluate(buttons)))
    assert seen == [
        ("default", "Switch to dark mode"),
        ("slate", "Follow the system's light or dark mode"),
        ("slate", "Switch to light mode"),
    ]
    assert not page.locator("body[data-md-color-switching]").count()
    context.close()


def test_a_browser_that_keeps_nothing_shows_the_page(site: Site, browser: Browser) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused') } })")
    page.goto(site.url)
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    context.close()


def test_the_icon_is_ours(site: Site, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{site.url}stages/mlp_eager/")
    icon = page.evaluate("document.querySelector('link[rel=icon]').href")
    page.close()
    assert icon == f"{site.url}assets/favicon.svg"
    with urllib.request.urlopen(icon) as answer:
        assert answer.headers["Content-Type"] == "image/svg+xml"
        assert len(answer.read()) < 1000


@pytest.mark.parametrize(
    ("site_url", "has_policy"),
    [("http://127.0.0.1:8000/", False), ("", True), ("https://example.org/guide/", True), (None, True)],
)
def test_only_the_pages_of_mkdocs_serve_have_no_policy(site_url: str | None, has_policy: bool) -> None:
    template = jinja2.Template((ROOT / "overrides" / "partials" / "policy.html").read_text(encoding="utf-8"))
    config = SimpleNamespace(dev_addr="127.0.0.1:8000", site_url=site_url)
    assert ("Content-Security-Policy" in template.render(config=config)) == has_policy
