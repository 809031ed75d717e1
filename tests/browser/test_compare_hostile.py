"""Whatever is dropped on the page Compare: a clear sentence, and never a script that runs, a hang or a fault."""

import base64
import re
from collections.abc import Iterator

import pytest
from built_site import Site, Visit, wait_until
from compare_files import HOSTILE_NAME, REFUSED, SOUND, broken_exports, encoded, exported, mutations
from comparing import NAMES, drop, opened
from playwright.sync_api import Browser, expect

MUTATIONS = 240
FAULT = re.compile(r"bug of the guide|Error\b|undefined|\[object|at .*\.js|Infinity|Traceback")
TITLE = "Your GPU against ours · Reading PyTorch traces"
READ_ALL = """async ({ module, files, tables }) => {
  const { Reading } = await import(module);
  const outcomes = [];
  for (const file of files) {
    const bytes = Uint8Array.from(atob(file), (one) => one.charCodeAt(0));
    const reading = new Reading(new Blob([bytes]), tables);
    const late = new Promise((resolve) => setTimeout(() => resolve({ refused: "HANG" }), 20_000));
    const found = await Promise.race([reading.found, late]);
    let outcome = "refused" in found ? found.refused : "exported" in found ? "EXPORT" : "TRACE";
    if ("trace" in found && found.trace.steps.length) {
      const lanes = await Promise.race([reading.lanes(0), late]);
      if (!lanes || "refused" in lanes) outcome = "NO PICTURE";
    }
    outcomes.push(outcome);
    reading.end();
  }
  return outcomes;
}"""


@pytest.fixture
def visit(site: Site, browser: Browser) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    made = Visit(context.new_page(), site.url)
    made.watch(site)
    opened(made.page, site)
    yield made
    context.close()


def harmless(visit: Visit) -> None:
    """Nothing ran, failed or was asked for."""
    assert visit.page.title() == TITLE
    assert (visit.errors, visit.outside) == ([], [])
    assert visit.page.locator("guide-compare :is(img, iframe, script:not(.compare-names))").count() == 0


@pytest.mark.parametrize("name", SOUND)
def test_a_strange_file_is_shown(visit: Visit, name: str) -> None:
    content, said = SOUND[name]
    assert drop(visit.page, "strange.json", content) == "Read strange.json."
    expect(visit.page.locator(".compare-said")).to_contain_text(said)
    wait_until(visit.page, "document.querySelectorAll('.compare-shows svg.timeline').length === 1", within_s=15)
    harmless(visit)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_a_sentence(visit: Visit, name: str) -> None:
    content, said = REFUSED[name]
    told = drop(visit.page, "bad.json", content, within_s=60)
    assert told.startswith("bad.json was not read: ") and said in told
    assert not FAULT.search(told) and len(told) < 300
    expect(visit.page.locator(".compare-result")).to_be_empty()
    harmless(visit)


def test_an_export_that_does_not_fit_is_refused_and_nothing_is_kept(visit: Visit) -> None:
    for name, content, said in broken_exports():
        told = drop(visit.page, "export.json", content)
        assert told.startswith("export.json was not read: it is no export") and said in told, (name, told)
        assert not FAULT.search(told), told
    assert visit.page.evaluate("indexedDB.databases().then((all) => all.length)") == 0
    harmless(visit)


def test_names_in_an_export_are_text_on_every_page(visit: Visit, site: Site) -> None:
    made = exported(HOSTILE_NAME)
    made["environment"]["torch"] = HOSTILE_NAME
    made["names"] = [
        name if name.startswith("Profiler") else f"{HOSTILE_NAME}{n}" for n, name in enumerate(made["names"])
    ]
    made["stages"][0]["hbm_missing"] = HOSTILE_NAME
    made["left_out"] = {"mlp_eager": HOSTILE_NAME}
    made["stages"] = [stage for stage in made["stages"] if stage["rung"]["name"] != "mlp_eager"]
    drop(visit.page, "export.json", encoded(made))
    harmless(visit)
    for address in (
        "stages/mlp_compiled/",
        "stages/mlp_eager/",
        "chapters/compile-the-mlp/",
        "predictions/",
        "claims/",
    ):
        opened(visit.page, site, address)
        visit.page.locator(".compare-banner").wait_for()
        assert "owned" not in visit.page.title()
        assert visit.page.locator("article img[src=x]").count() == 0
        assert visit.errors == []


def test_a_recording_that_somebody_else_stored_is_checked(visit: Visit, site: Site) -> None:
    drop(visit.page, "export.json", encoded(exported()))
    visit.page.evaluate(
        """() => new Promise((resolve) => {
          const request = indexedDB.open("guide-compare");
          request.onsuccess = () => {
            const store = request.result.transaction("kept", "readwrite").objectStore("kept");
            const put = store.put({ exported: { schema: 1, protocol: 1, stages: "x" }, decoded: 5 }, "recording");
            put.onsuccess = () => { request.result.close(); resolve() };
          };
        })"""
    )
    opened(visit.page, site, "stages/mlp_eager/")
    expect(visit.page.locator(".compare-banner")).to_contain_text("that this guide cannot show")
    assert visit.errors == []


@pytest.mark.parametrize("part", range(4))
def test_mutated_files_are_read_or_refused_with_a_sentence(visit: Visit, site: Site, part: int) -> None:
    files = mutations(MUTATIONS)[part::4]
    outcomes = visit.page.evaluate(
        READ_ALL,
        {
            "module": f"{site.url}assets/compare-reading.js",
            "files": [base64.b64encode(content).decode() for _, content in files],
            "tables": visit.page.evaluate(NAMES),
        },
    )
    for (name, _), outcome in zip(files, outcomes, strict=True):
        assert outcome not in ("", "HANG", "NO PICTURE") and not FAULT.search(outcome), (name, outcome)
    assert {"TRACE"} < set(outcomes)  # both happen: some are read, some are refused
    harmless(visit)


def test_the_worker_can_do_no_more_than_the_page(visit: Visit, site: Site) -> None:
    """It is a file of the site, and what it may ask for is what the page may."""
    drop(visit.page, "one.json", SOUND["no ProfilerStep"][0])
    workers = [worker.url for worker in visit.page.workers if "/workers/search." not in worker.url]
    assert workers == [f"{site.url}assets/compare-worker.js"]
