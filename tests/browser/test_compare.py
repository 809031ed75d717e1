"""The page Compare: traces beside ours, by mouse and keyboard; and what it keeps and forgets."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import FITS, WIDTHS, Site, Visit, wait_until
from compare_files import HOSTILE_NAME, TRACES, encoded, exported, one_kernel
from comparing import PAGE, beside, drop, opened
from playwright.sync_api import Browser, BrowserContext, Page, expect
from small_traces import kernel, launch, op, step, trace

from benchmarks.repeat_trace import repeat

SAID = {
    "alexnet.json.gz": "1,408 events; 359 ops, 79 kernels, 3 memsets and 16 memcpys. They ran on NVIDIA A100",
    "amd_mi250.json.gz": "14 kernels, 0 memsets and 2 memcpys. They ran on AMD Radeon Graphics. 2 steps, of 2 kinds.",
    "backward_thread.json": "7 events; 3 ops, 1 kernel",
    "cpu_only.json.gz": "Nothing ran on a GPU in it. 1 step.",
    "ns_resolution_one_step.json.gz": "870 kernels",
    "triton_example.json.gz": "1 kernel, 0 memsets and 0 memcpys. They ran on NVIDIA A100",
    "h200_probe/mlp_cudagraph.json.gz": "They ran on NVIDIA H200. 3 steps",
    "h200_probe/mlp_eager.json.gz": "15 kernels, 6 memsets and 0 memcpys. They ran on NVIDIA H200. 3 steps, all of",
}


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1440, "height": 900})
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, site: Site) -> Page:
    return opened(context.new_page(), site)


# Traces


@pytest.mark.parametrize("name", SAID)
def test_a_real_trace_is_shown_beside_a_stage_of_ours(context, site: Site, name: str) -> None:
    visit = Visit(context.new_page(), site.url + PAGE)
    visit.watch(site)
    page = opened(visit.page, site)
    assert drop(page, Path(name).name, (TRACES / name).read_bytes()) == f"Read {Path(name).name}."
    expect(page.locator(".compare-said")).to_contain_text(SAID[name])
    beside(page, "mlp_eager")
    assert page.locator("table.compare-work tbody tr").count() > 3
    assert (visit.errors, visit.outside) == ([], [])


def test_every_trace_of_the_tests_is_read_without_a_word_of_complaint(page) -> None:
    for path in sorted(TRACES.rglob("*.json*")):
        assert drop(page, path.name, path.read_bytes()) == f"Read {path.name}."


def test_what_differs_from_ours_is_marked(page, site: Site) -> None:
    """mlp_eager of the committed recording, and the same with one kernel less, one more and one in other blocks."""
    ours = next((site.folder / "recordings").glob("*/mlp_eager/trace.json.gz"))
    events = json.loads(gzip.decompress(ours.read_bytes()))
    gelu = next(e["name"] for e in events["traceEvents"] if "Gelu" in e["name"])
    for event in events["traceEvents"]:
        if event["name"] == gelu:
            event["name"] = "my_gelu"
        elif event.get("cat") == "kernel" and "Mul" in event["name"]:
            event["args"]["block"] = [64, 1, 1]
    drop(page, "mine.json", encoded(events))
    beside(page, "mlp_eager")
    marks = page.locator("table.compare-work tbody tr").evaluate_all(
        """rows => rows.map(({ cells }) =>
             [cells[0].textContent, [...cells[1].querySelectorAll("code")].at(-1).textContent])"""
    )
    assert ["new", "my_gelu"] in marks and ["gone", gelu] in marks
    assert [name for mark, name in marks if mark == "changed" and "Mul" in name]
    assert page.locator(".compare-counts").inner_text() == "Beside mlp_eager: 3 the same, 1 changed, 1 new, 1 gone."


def test_our_own_trace_is_all_the_same(page, site: Site) -> None:
    for stage in ("mlp_compiled", "linear_small_cold", "mlp_cudagraph"):
        ours = next((site.folder / "recordings").glob(f"*/{stage}/trace.json.gz"))
        drop(page, "ours.json.gz", ours.read_bytes())
        beside(page, stage)
        expect(page.locator(".compare-counts")).to_contain_text(", 0 changed, 0 new, 0 gone.")


def test_a_kind_of_step_can_be_chosen(page) -> None:
    events = trace(
        step(1, 0, 50), step(2, 60, 50), step(3, 120, 50),
        launch(1, 1, 1), kernel("A", 1, 5, 5), launch(2, 61, 1), kernel("A", 2, 65, 5),
        launch(3, 121, 1), kernel("B", 3, 125, 5),
    )  # fmt: skip
    drop(page, "kinds.json", encoded(events))
    names = page.locator("table.compare-work tbody code")
    expect(names).to_have_text(["A"])
    page.select_option("#compare-kind", label="Steps 3")
    expect(names).to_have_text(["B"])
    page.get_by_text("Its steps").click()
    kinds = "rows => rows.map((row) => row.cells[3].textContent)"
    assert page.locator("table.compare-steps tbody tr").evaluate_all(kinds) == ["1", "1", "2"]


def test_decoded_names_and_launches_are_told(page) -> None:
    name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
    drop(
        page,
        "gemm.json",
        encoded(trace(step(1, 0, 99), launch(1, 1, 2), launch(2, 4, 4), kernel(name, 1, 9, 5), kernel(name, 2, 20, 7))),
    )
    row = page.locator("table.compare-work tbody tr").first
    expect(row).to_contain_text("Matrix multiplication of cuBLASLt")
    assert row.locator("td").all_inner_texts()[2:4] == ["2", "12.0"]
    assert page.locator("table.compare-launches tbody td").all_inner_texts() == ["cudaLaunchKernel", "2", "2", "6.00"]


def test_a_trace_is_forgotten_with_the_page(page, site: Site) -> None:
    drop(page, "one.json", one_kernel())
    page.goto(site.url + PAGE)
    expect(page.locator(".compare-result")).to_be_empty()
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") == 0


# The page


def test_it_works_by_keyboard(page) -> None:
    # Playwright has the browser report choosers from the first listener on, and does not wait until it does: the key
    # below would come too soon.
    page.on("filechooser", lambda _: None)
    page.get_by_role("heading", name="Your GPU against ours").click()  # reading on from here
    for _ in range(6):
        page.keyboard.press("Tab")
        if "compare-file" in page.evaluate("document.activeElement.className"):
            break
    expect(page.locator(".compare-file")).to_be_focused()
    with page.expect_file_chooser() as chosen:
        page.keyboard.press("Enter")
    chosen.value.set_files({"name": "k.json", "mimeType": "application/json", "buffer": one_kernel()})
    heading = page.get_by_role("heading", name="Your trace")
    expect(heading).to_be_focused()
    page.keyboard.press("Tab")  # the steps
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "compare-stage"
    page.keyboard.type("MLP")
    wait_until(page, "document.querySelectorAll('.compare-shows svg.timeline').length === 2", within_s=15)


def test_a_file_can_be_dropped(page) -> None:
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "dropped.json"));
          const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true });
          document.querySelector(".compare-drop").dispatchEvent(drop);
        }""",
        one_kernel().decode(),
    )
    expect(page.locator(".compare-status")).to_have_text("Read dropped.json.")


def test_reading_is_told_and_can_be_cancelled(page, tmp_path: Path) -> None:
    repeat(TRACES / "h200_probe" / "mlp_eager.json.gz", 150_000, tmp_path / "large.json")
    page.locator(".compare-file").set_input_files(tmp_path / "large.json")
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("status").first).to_have_text("Cancelled. Nothing was kept.")
    expect(page.get_by_role("progressbar")).to_be_hidden()
    assert drop(page, "small.json", one_kernel()) == "Read small.json."


def test_the_page_does_not_freeze_on_a_large_trace(page, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    repeat(TRACES / "h200_probe" / "mlp_eager.json.gz", 200_000, path)
    page.evaluate(
        """() => {
          window.longest = 0;
          let last = performance.now();
          const tick = () => {
            const now = performance.now();
            window.longest = Math.max(window.longest, now - last);
            last = now;
            setTimeout(tick, 5);
          };
          tick();
        }"""
    )
    page.locator(".compare-file").set_input_files(path)
    expect(page.get_by_role("status").first).to_have_text("Read large.json.", timeout=60_000)
    expect(page.locator(".compare-said")).to_contain_text("200,000 events")
    assert page.evaluate("longest") < 1_000


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_fits(context, site: Site, width: int) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, site)
    drop(
        page,
        "names.json",
        encoded(trace(step(1, 0, 9), op(HOSTILE_NAME * 20, 1, 5), launch(1, 2, 1), kernel("x" * 3_000, 1, 4, 4))),
    )
    beside(page, "mlp_eager")
    assert page.evaluate(FITS)
    drop(page, "export.json", encoded(exported("A GPU with a very long name " * 5)))
    page.locator("table.compare-both").wait_for()
    assert page.evaluate(FITS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(site: Site, browser: Browser, scheme) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = opened(context.new_page(), site)
    drop(page, "mlp_eager.json.gz", (TRACES / "h200_probe" / "mlp_eager.json.gz").read_bytes())
    beside(page, "mlp_compiled")
    page.evaluate("document.querySelectorAll('.md-content details').forEach(d => d.open = true)")
    assert Axe().run(page).violations_count == 0, Axe().run(page).generate_report()
    drop(page, "export.json", encoded(exported("Another")))
    page.locator("table.compare-both").wait_for()
    page.evaluate("document.querySelectorAll('.md-content details').forEach(d => d.open = true)")
    results = Axe().run(page)
    context.close()
    assert results.violations_count == 0, results.generate_report()


def test_without_scripts_it_is_our_stages_and_the_command_line(site: Site, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url + PAGE)
    expect(page.locator("guide-compare noscript code")).to_have_text("python -m build_traces diff A B")
    page.get_by_text("The stages and traces of our recording").click()
    assert page.locator("table.compare-stages tbody tr").count() > 10
    context.close()


def test_our_trace_that_cannot_be_fetched_is_told(page) -> None:
    page.route("**/trace.json.gz", lambda route: route.abort())
    drop(page, "one.json", one_kernel())
    page.select_option("#compare-stage", "mlp_eager")
    expect(page.locator(".compare-status")).to_contain_text("Our trace of mlp_eager could not be fetched")
    expect(page.locator("table.compare-work tbody tr")).to_have_count(1)
