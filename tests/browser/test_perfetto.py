"""The click on "Open in Perfetto", against a stand-in for the Perfetto UI on another origin."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from built_site import Site, serve
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

STAGE = "mlp_eager"
# Conditions in the new tab are polled by time: a tab behind another may draw no frames to poll by.
MODULE = "document.querySelector('script[src*=perfetto]').src"

FAKE_UI = """<!doctype html><title>stand-in</title><script>
  const begin = Date.now();
  window.pings = 0;
  addEventListener("message", ({ data, source, origin }) => {
    if (data === "PING") {
      window.pings += 1;
      if (Date.now() - begin >= ANSWER_AFTER_MS) source.postMessage("PONG", origin);
    } else if (data.perfetto) {
      const { buffer, title, fileName } = data.perfetto;
      window.received = { title, fileName, bytes: [...new Uint8Array(buffer)] };
    }
  });
</script>"""


@dataclass
class Opened:
    """A stage's page with the link under test."""

    page: Page
    link: Locator
    status: Locator
    requests: list[str]

    def use_ui(self, origin: str) -> None:
        self.link.evaluate("(link, origin) => { link.dataset.origin = origin }", origin.rstrip("/"))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context()
    yield made
    made.close()


@pytest.fixture
def opened(site: Site, context: BrowserContext) -> Opened:
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{site.url}stages/{STAGE}/")
    link = page.locator("a.perfetto").first
    return Opened(page, link, page.locator("a.perfetto + [role=status]").first, requests)


def fake_ui(folder: Path, answer_after_ms: float) -> Path:
    (folder / "index.html").write_text(FAKE_UI.replace("ANSWER_AFTER_MS", str(answer_after_ms)), encoding="utf-8")
    return folder


def published_trace(site: Site) -> bytes:
    return next((site.folder / "recordings").glob(f"*/{STAGE}/trace.json.gz")).read_bytes()


def test_nothing_is_requested_before_the_click(opened: Opened) -> None:
    assert [url for url in opened.requests if "trace.json" in url or "perfetto.dev" in url] == []


def test_the_link_leads_to_the_file_for_who_has_no_scripts(opened: Opened) -> None:
    assert (opened.link.get_attribute("href") or "").endswith(f"{STAGE}/trace.json.gz")


def test_a_ui_that_answers_late_gets_the_published_file(opened: Opened, site: Site, tmp_path: Path) -> None:
    with serve(fake_ui(tmp_path, answer_after_ms=700)) as ui:
        opened.use_ui(ui)
        with opened.page.expect_popup() as popup:
            opened.link.click()
        popup.value.wait_for_function("window.received", polling=100)
        expect(opened.status).to_have_text("Opened in a new tab.")
        received = popup.value.evaluate("window.received")
        assert popup.value.evaluate("window.pings") > 1
    assert bytes(received["bytes"]) == published_trace(site)
    assert received["fileName"] == "trace.json.gz"
    assert STAGE in received["title"]


def test_a_ui_that_never_answers_is_reported_with_the_download(opened: Opened, site: Site, tmp_path: Path) -> None:
    opened.page.clock.install()
    with serve(fake_ui(tmp_path, answer_after_ms=1e9)) as ui:
        opened.use_ui(ui)
        with opened.page.expect_popup():
            opened.link.click()
        opened.page.clock.run_for(29_000)
        expect(opened.status).to_contain_text("Opening")
        opened.page.clock.run_for(2_000)
        expect(opened.status).to_contain_text("does not answer")
    with opened.page.expect_download() as downloading:
        opened.status.get_by_role("link", name="Download").click()
    assert downloading.value.path().read_bytes() == published_trace(site)


def test_an_answer_from_elsewhere_does_not_count(opened: Opened, tmp_path: Path) -> None:
    with serve(fake_ui(tmp_path, answer_after_ms=1e9)) as ui:
        opened.use_ui(ui)
        with opened.page.expect_popup() as popup:
            opened.link.click()
        popup.value.wait_for_function("window.pings > 0", polling=100)
        opened.page.evaluate("window.postMessage('PONG', '*')")
        opened.page.wait_for_timeout(300)
        assert popup.value.evaluate("window.received") is None
        expect(opened.status).to_contain_text("Opening")


def test_only_the_ui_window_on_its_origin_answers(opened: Opened) -> None:
    cases = [
        (("ui", "https://ui.example", "PONG"), True),
        (("ui", "https://other.example", "PONG"), False),
        (("other", "https://ui.example", "PONG"), False),
        (("ui", "https://ui.example", "PING"), False),
    ]
    counted = opened.page.evaluate(
        """async ([module, messages]) => {
            const windows = { ui: {}, other: {} };
            const { isAnswer } = await import(module);
            return messages.map(([source, origin, data]) =>
                isAnswer({ source: windows[source], origin, data }, windows.ui, "https://ui.example"));
        }""",
        [opened.page.evaluate(MODULE), [message for message, _ in cases]],
    )
    assert counted == [counts for _, counts in cases]


def test_a_tab_that_the_reader_closes_is_reported(opened: Opened, tmp_path: Path) -> None:
    with serve(fake_ui(tmp_path, answer_after_ms=1e9)) as ui:
        opened.use_ui(ui)
        with opened.page.expect_popup() as popup:
            opened.link.click()
        popup.value.close()
        expect(opened.status).to_contain_text("was closed")


def test_a_blocked_pop_up_is_reported_with_the_download(opened: Opened) -> None:
    opened.page.evaluate("window.open = () => null")
    opened.link.click()
    expect(opened.status).to_contain_text("blocked")
    expect(opened.status.get_by_role("link", name="Download")).to_be_visible()


def test_a_file_that_cannot_be_fetched_is_reported_and_the_tab_closed(opened: Opened, tmp_path: Path) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=404)

    opened.page.route("**/trace.json.gz", refuse)
    with serve(fake_ui(tmp_path, answer_after_ms=0)) as ui:
        opened.use_ui(ui)
        with opened.page.expect_popup() as popup:
            opened.link.click()
        expect(opened.status).to_contain_text("could not be fetched")
        if not popup.value.is_closed():
            popup.value.wait_for_event("close")


def test_a_second_try_is_possible_after_a_failure(opened: Opened, tmp_path: Path) -> None:
    opened.page.evaluate("window.opens = window.open; window.open = () => null")
    opened.link.click()
    expect(opened.status).to_contain_text("blocked")
    opened.page.evaluate("window.open = window.opens")
    with serve(fake_ui(tmp_path, answer_after_ms=0)) as ui:
        opened.use_ui(ui)
        with opened.page.expect_popup() as popup:
            opened.link.click()
        popup.value.wait_for_function("window.received", polling=100)
    expect(opened.status).to_have_text("Opened in a new tab.")


def test_a_page_that_material_shows_later_is_enhanced_once(opened: Opened) -> None:
    opened.page.evaluate(
        """() => {
            const link = Object.assign(document.createElement("a"), { className: "perfetto", href: "#", id: "later" });
            document.querySelector("article").append(link);
            window.document$.next(document);
            window.document$.next(document);
        }"""
    )
    expect(opened.page.locator("#later + [role=status]")).to_have_count(1)
    expect(opened.page.locator("#later ~ [role=status]")).to_have_count(1)


def test_it_works_without_material(opened: Opened) -> None:
    module = opened.page.evaluate(MODULE)
    opened.page.evaluate(
        """async module => {
            delete window.document$;
            document.querySelector("article").innerHTML = '<a class="perfetto" href="#">open</a>';
            await import(`${module}?again`);
        }""",
        module,
    )
    expect(opened.page.locator("a.perfetto + [role=status]")).to_have_count(1)
