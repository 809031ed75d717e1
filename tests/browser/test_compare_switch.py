"""A reader's own recording on every page: facts, kernel lists, verdicts and exercises switch, and back again."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import FITS, PAGES, WIDTHS, Site, Visit, wait_until
from compare_files import encoded, exported
from comparing import PAGE, counts, drop, opened
from playwright.sync_api import Browser, BrowserContext, Page, expect

CHAPTER = "chapters/three-linears-and-a-gate/"
OTHERS = [address for address in PAGES if address != PAGE]
TEXT = "document.querySelector('article').innerText"


@pytest.fixture(scope="module")
def recording() -> dict[str, Any]:
    """The committed one."""
    return exported()


@pytest.fixture
def other(recording: dict[str, Any]) -> dict[str, Any]:
    """An invented GPU: twice as slow, no HBM counters, and with no stage mlp_compiled."""
    made = copy.deepcopy(recording)
    made["environment"] |= {"gpu": "Slow GPU", "torch": "9.9.9+cu999"}
    for stage in made["stages"]:
        stage["hbm"], stage["hbm_missing"] = None, "there is no ncu"
        for process in stage["processes"]:
            process["time_us"] = [2 * us for us in process["time_us"]]
            process["work"] = [[at, [us and 2 * us for us in times]] for at, times in process["work"]]
    made["stages"] = [stage for stage in made["stages"] if stage["rung"]["name"] != "mlp_compiled"]
    made["left_out"] = {"mlp_compiled": "missing: not recorded yet"}
    return made


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1440, "height": 900})
    yield made
    made.close()


def kept(context: BrowserContext, site: Site, export: dict[str, Any]) -> Page:
    """A page of a browser that keeps this recording."""
    page = opened(context.new_page(), site)
    assert "shows its numbers now" in drop(page, "export.json", encoded(export))
    return page


def fact(page: Page, path: str) -> str:
    return page.locator(f'article data.fact[data-fact="{path}"]').first.inner_text()


# The committed recording, exported and read again


def test_our_own_recording_says_on_every_page_what_the_page_says(context, site: Site, recording) -> None:
    visit = Visit(kept(context, site, recording), site.url)
    visit.watch(site)
    switched = 0
    for address in OTHERS:
        page = opened(visit.page, site, address)
        found = counts(page)
        assert (found["differ"], found["ours"]) == (0, 0), (address, found)
        facts = page.locator("article data.fact").count()
        lists = page.locator("article figure[data-switched=kernels]").count()
        assert found["facts"] >= facts - page.locator("article ul.verdicts li ~ li data.fact").count()
        switched += found["facts"] + lists
    assert switched > 1_000
    assert (visit.errors, visit.outside) == ([], [])


def test_our_own_recording_leaves_every_verdict_and_list_as_it_is(context, site: Site, recording) -> None:
    page = kept(context, site, recording)
    for address in ("claims/", "chapters/compile-the-mlp/"):
        opened(page, site, address)
        counts(page)
        yours = page.locator("ul.verdicts > li:first-child > .verdict").all_inner_texts()
        page.get_by_role("button", name="Show ours").click()
        expect(page.get_by_role("button", name="Show mine")).to_be_visible()
        assert page.locator("ul.verdicts > li:first-child > .verdict").all_inner_texts() == yours
        assert len(yours) > 3
        page.get_by_role("button", name="Show mine").click()
        counts(page)


# Another one


def test_facts_become_the_readers_and_differences_are_marked(context, site: Site, other) -> None:
    page = opened(context.new_page(), site, CHAPTER)
    ours = fact(page, "mlp_eager.gpu_us")
    kept(context, site, other)
    opened(page, site, CHAPTER)
    found = counts(page)
    assert 0 < found["differ"] < found["facts"] and found["ours"] > 0
    assert fact(page, "mlp_eager.gpu_us") != ours
    gpu_us = page.locator('article data.fact[data-fact="mlp_eager.gpu_us"]').first
    assert abs(float(gpu_us.inner_text().replace(",", "")) / float(ours.replace(",", "")) - 2) < 0.02
    expect(gpu_us).to_have_attribute("title", re.compile(rf"Slow GPU · torch 9\.9\.9.*ours: {ours}"))
    expect(page.locator(".compare-banner")).to_contain_text("These numbers are yours: Slow GPU, torch 9.9.9.")
    assert fact(page, "recording.gpu") == "Slow GPU"


def test_what_the_recording_lacks_stays_ours_and_is_marked(context, site: Site, other) -> None:
    page = opened(context.new_page(), site, "stages/mlp_compiled/")
    before = fact(page, "mlp_compiled.time_us")
    kept(context, site, other)
    opened(page, site, "stages/mlp_compiled/")
    assert counts(page)["differ"] == 0
    data = page.locator('article data.fact[data-fact="mlp_compiled.time_us"]').first
    expect(data).to_have_class("fact fact--ours")
    assert data.inner_text().startswith(before)
    expect(data).to_have_attribute(
        "title",
        "Ours: your recording does not say. stage mlp_compiled is not in this recording: missing: not recorded yet",
    )
    expect(page.locator("figure.trace-block--kernels > .compare-ours")).to_contain_text(
        "From our recording, not yours."
    )


def test_what_stays_ours_is_marked_above_all_that_is_ours(context, site: Site, other) -> None:
    """A timeline's caption says what our picture shows, so the mark stands above the caption too."""
    page = kept(context, site, other)
    opened(page, site, "stages/mlp_eager/")
    assert counts(page)["facts"] > 0
    marked = page.evaluate("""() => ["timeline", "ops", "profile"].map((name) => {
        const figure = document.querySelector(`figure.trace-block--${name}`);
        return [name, figure.firstElementChild.className, figure.querySelectorAll(".compare-ours").length];
    })""")
    assert marked == [[name, "compare-ours", 1] for name in ("timeline", "ops", "profile")]


def test_a_kernel_list_becomes_the_readers(context, site: Site, other) -> None:
    page = opened(context.new_page(), site, "stages/mlp_eager/")
    cells = "document.querySelector('table.kernels tbody').rows[0].cells"
    ours = [page.evaluate(f"{cells}[{n}].innerText") for n in (0, 1, 3, 4)]
    kept(context, site, other)
    opened(page, site, "stages/mlp_eager/")
    expect(page.locator(".compare-caption")).to_have_text("Yours: Kernels of mlp_eager, Slow GPU, torch 9.9.9.")
    yours = [page.evaluate(f"{cells}[{n}].innerText") for n in (0, 1, 3, 4)]
    assert yours[:3] == ours[:3]
    assert abs(float(yours[3].split()[0]) / float(ours[3].split()[0]) - 2) < 0.02
    expect(page.get_by_text("HBM bytes were not measured: there is no ncu.")).to_be_visible()


def test_a_verdict_is_the_readers(context, site: Site, other) -> None:
    """A3-like claims are of counts and hold; one of the ceiling share changes on a GPU of half the speed."""
    page = kept(context, site, other)
    opened(page, site, "claims/")
    counts(page)
    on = page.locator("ul.verdicts[data-check] > li:first-child > .on").all_inner_texts()
    assert on and all(text.startswith("on yours, Slow GPU, torch 9.9.9") for text in on)
    changed = page.locator("ul.verdicts > li:first-child", has_text="(ours: ")
    assert changed.count() > 0
    unmeasured = page.locator("ul.verdicts > li:first-child > .verdict--not-measured")
    expect(unmeasured.first).to_have_text("not yet measured")
    summary = page.locator("ul.claims-summary > li").first.inner_text()
    words = page.locator("table.claims ul.verdicts > li:first-child > .verdict").all_inner_texts()
    assert f"on yours, Slow GPU, torch 9.9.9: {words.count('holds')} hold, " in summary


def test_there_is_a_way_back_and_it_changes_nothing(context, site: Site, other) -> None:
    page = opened(context.new_page(), site, CHAPTER)
    before = page.evaluate("document.querySelector('article').innerHTML")
    kept(context, site, other)
    opened(page, site, CHAPTER)
    counts(page)
    page.get_by_role("button", name="Show ours").click()
    expect(page.locator(".compare-banner")).to_contain_text(
        "These are our numbers. A recording of yours is kept: Slow GPU"
    )
    page.evaluate("document.querySelector('.compare-banner').remove()")
    tidy = 'text => text.replace(/ data-(enhanced|switched)="[^"]*"/g, \'\').replace(/ class=""/g, \'\')'
    after = page.evaluate("document.querySelector('article').innerHTML")
    assert page.evaluate(tidy, after) == page.evaluate(tidy, before)


def test_the_choice_stays_on_other_pages_and_in_other_tabs(context, site: Site, other) -> None:
    page = kept(context, site, other)
    second = opened(context.new_page(), site, CHAPTER)
    counts(second)
    opened(page, site, "stages/mlp_eager/")
    page.get_by_role("button", name="Show ours").click()
    expect(second.get_by_role("button", name="Show mine")).to_be_visible()
    opened(page, site, "chapters/nn-linear/")
    expect(page.get_by_role("button", name="Show mine")).to_be_visible()
    page.get_by_role("button", name="Show mine").click()
    assert counts(page)["differ"] > 0
    expect(page.get_by_role("button", name="Show ours")).to_be_focused()


def test_a_removed_recording_is_gone_from_all_pages(context, site: Site, other) -> None:
    page = kept(context, site, other)
    second = opened(context.new_page(), site, CHAPTER)
    counts(second)
    page.get_by_role("button", name="Remove it from this browser").click()
    expect(page.locator(".compare-status")).to_have_text("Your recording is removed. The pages show our numbers.")
    expect(second.locator(".compare-banner")).to_have_count(0)
    expect(second.locator("[data-switched]")).to_have_count(0)
    opened(page, site, CHAPTER)
    page.wait_for_timeout(300)
    assert page.locator(".compare-banner").count() == 0


def test_the_page_says_how_both_recordings_compare(context, site: Site, other) -> None:
    page = kept(context, site, other)
    rows = page.locator("table.compare-both tbody tr")
    ratios = dict(rows.evaluate_all("rows => rows.map((row) => [row.cells[0].textContent, row.cells[5].textContent])"))
    assert ratios["MLP"] == "2.00 ×" and ratios["MLP, compiled"] == "–"
    expect(page.locator(".compare-kept")).to_contain_text("1 left out")


# Exercises


def answer(page: Page, exercise: str, guess: str) -> None:
    asked = page.locator(f'guide-predict[data-exercise="{exercise}"]')
    asked.get_by_label("Your guess").fill(guess)
    asked.get_by_role("button", name="Commit").click()


def kernel_counts(page: Page) -> list[tuple[str, dict[str, Any]]]:
    """The exercises of the chapter that ask for a count, with what decides each."""
    keys = page.locator("guide-predict[data-kind=count]").evaluate_all(
        "all => all.map((one) => [one.dataset.exercise, atob(one.dataset.key)])"
    )
    return [(name, json.loads(key)) for name, key in keys]


def test_an_exercise_is_judged_by_the_readers_recording(context, site: Site, recording) -> None:
    page = opened(context.new_page(), site, CHAPTER)
    name, key = kernel_counts(page)[0]
    (decides,) = key["decides"]
    stage = decides.strip("{}").split(".")[0]
    assert decides == f"{{{stage}.kernel_count}}"
    # One kernel fewer in each step of that stage: its first kernel becomes a memset.
    made = copy.deepcopy(recording)
    rows = next(one for one in made["stages"] if one["rung"]["name"] == stage)
    first = next(row[0] for row in rows["trace"]["activities"] if rows["work"][row[0]][0] == "kernel")
    gone = sum(row[0] == first for row in rows["trace"]["activities"]) // len(rows["trace"]["steps"])
    rows["work"][first][0] = "memset"
    rows["hbm"] = None
    kept(context, site, made)
    opened(page, site, CHAPTER)
    counts(page)
    answer(page, name, str(key["answer"]))
    asked = page.locator(f'guide-predict[data-exercise="{name}"]')
    expect(asked.locator(".predict-verdict")).to_have_text("Not right")
    expect(asked.locator(".predict-said")).to_contain_text(f"Measured: {key['answer'] - gone}")
    expect(asked.locator(".predict-measured data.fact").first).to_have_text(str(key["answer"] - gone))
    expect(asked.locator(":scope > .compare-ours")).to_contain_text("Judged by your recording")
    page.get_by_role("button", name="Show ours").click()
    expect(asked.locator(".predict-verdict")).to_have_text("Right")
    expect(asked.locator(".predict-measured data.fact").first).to_have_text(str(key["answer"]))
    opened(page, site, "predictions/")
    entry = page.locator(f'.prediction[data-exercise="{name}"]')
    expect(entry.locator(".prediction-outcome .verdict").first).to_have_text("Right")
    page.get_by_role("button", name="Show mine").click()
    expect(entry.locator(".prediction-outcome .verdict").first).to_have_text("Not right")


def test_an_exercise_without_an_answer_there_is_judged_by_ours(context, site: Site, other) -> None:
    page = kept(context, site, other)
    opened(page, site, "chapters/compile-the-mlp/")
    counts(page)
    notes = page.locator("guide-predict > .compare-ours").all_inner_texts()
    assert any(
        "Judged by our recording: yours has no answer. stage mlp_compiled is not in this recording" in n for n in notes
    )
    assert page.locator("guide-predict").count() == len(notes)


def test_the_answer_is_still_hidden(context, site: Site, other) -> None:
    page = kept(context, site, other)
    opened(page, site, CHAPTER)
    counts(page)
    assert "Measured:" not in page.evaluate(TEXT)


def test_our_own_recording_gives_every_exercise_the_answer_of_the_page(context, site: Site, recording) -> None:
    page = kept(context, site, recording)
    for address in [address for address in OTHERS if address.startswith("chapters/")]:
        page.evaluate("0")
        opened(page, site, address)
        counts(page)
        keys = "[...document.querySelectorAll('guide-predict')].map((one) => [one.dataset.exercise, one.dataset.key])"
        decoded = "(text) => JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))))"
        yours = {name: page.evaluate(decoded, key) for name, key in page.evaluate(keys)}
        assert page.locator("guide-predict[data-switched=yours]").count() == len(yours) > 0
        page.get_by_role("button", name="Show ours").click()
        expect(page.get_by_role("button", name="Show mine")).to_be_visible()
        ours = {name: page.evaluate(decoded, key) for name, key in page.evaluate(keys)}
        for name, key in ours.items():
            near = key.get("answer", 0) == pytest.approx(yours[name].get("answer", 0))
            assert near and key | {"answer": 0} == yours[name] | {"answer": 0}, (address, name)
        page.get_by_role("button", name="Show mine").click()
        counts(page)


# Everywhere


def test_a_page_loads_next_to_nothing_while_no_recording_is_kept(context, site: Site) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.url)))
    page.goto(site.url + CHAPTER, wait_until="networkidle")
    loaded = [url for url in asked if "compare" in url]
    assert sorted(loaded) == ["assets/compare-store.js", "assets/compare.js"]
    assert sum((site.folder / url).stat().st_size for url in loaded) < 6_000
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") == 0


def test_instant_navigation_switches_each_page(context, site: Site, other) -> None:
    """As Material does it: the content is exchanged and document$ tells."""
    page = kept(context, site, other)
    page.add_init_script(
        """window.document$ = { all: [], subscribe(one) { this.all.push(one); one() },
                                next() { for (const one of this.all) one() } };
           Object.defineProperty(window, "document$", { writable: false });"""
    )
    opened(page, site, "stages/mlp_eager/")
    counts(page)
    page.evaluate(
        """async address => {
          const text = await (await fetch(address)).text();
          const next = new DOMParser().parseFromString(text, "text/html");
          document.querySelector("article").replaceWith(next.querySelector("article"));
          document$.next();
        }""",
        f"{site.url}stages/linear_eager/",
    )
    wait_until(page, "document.querySelector('.compare-caption')?.textContent.includes('linear_eager')")
    assert page.locator(".compare-banner").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", [CHAPTER, "stages/mlp_eager/", "claims/"])
def test_axe_finds_nothing(site: Site, browser: Browser, other, scheme, address: str) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = kept(context, site, other)
    opened(page, site, address)
    counts(page)
    page.evaluate("document.querySelectorAll('.md-content details').forEach(d => d.open = true)")
    page.wait_for_timeout(200)
    results = Axe().run(page)
    context.close()
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_still_fit(context, site: Site, other, width: int) -> None:
    page = kept(context, site, other)
    page.set_viewport_size({"width": width, "height": 900})
    for address in (CHAPTER, "stages/mlp_eager/", "claims/", "predictions/"):
        opened(page, site, address)
        counts(page)
        assert page.evaluate(FITS), address


def test_a_browser_that_keeps_nothing_says_so(site: Site, browser: Browser, recording) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("Object.defineProperty(window, 'indexedDB', { get() { throw new Error('refused') } })")
    opened(page, site)
    assert "this browser does not let the page keep it" in drop(page, "export.json", encoded(recording))
    page.locator("table.compare-both").wait_for()
    context.close()
