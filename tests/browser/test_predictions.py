"""The page of all predictions: what it shows and keeps to itself, and its files, whoever wrote them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import Site, Visit
from exercise_site import (
    CHAPTER,
    IDS,
    PREDICTIONS,
    RIGHT,
    SAID_RIGHT,
    SAID_WRONG,
    WRONG,
    address_of,
    commit,
    exercise,
    kept,
    serve_exercises,
    visiting,
)
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
NO_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError') } })"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') }"
AT = "2026-12-01T00:00:00.000Z"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve_exercises(tmp_path_factory) as site:
        yield site


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with visiting(browser, accept_downloads=True) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext, small: Site) -> Page:
    """The page of all predictions, opened without any."""
    made = context.new_page()
    made.goto(small.url + PREDICTIONS)
    return made


def predict(page: Page, small: Site, answers: dict[str, list[str]], names: list[str] = IDS) -> None:
    """Answer exercises in the chapters, and come back."""
    for name in names:
        page.goto(small.url + address_of(name))
        commit(page, name, answers[name])
    page.goto(small.url + PREDICTIONS)


def row(page: Page, name: str) -> Locator:
    return page.locator(f".prediction[data-exercise='{name}']")


# What it shows


def test_what_is_not_predicted_keeps_its_answer(page: Page) -> None:
    expect(page.locator(".predictions-score")).to_have_text("You have predicted none of 5 yet.")
    assert page.locator(".prediction-outcome").all_inner_texts() == ["Not predicted yet."] * 5
    for text in (page.locator("body").aria_snapshot(), page.evaluate("document.body.innerText")):
        assert "Measured:" not in text
        assert "FOUND" not in text
        assert "132" not in text
    assert page.get_by_role("img", name="Guesses against").count() == 0
    expect(page.get_by_role("button", name="Save as a file")).to_be_disabled()


def test_the_sites_search_knows_no_answers_of_this_page(small: Site) -> None:
    index = json.loads((small.folder / "search" / "search_index.json").read_text(encoding="utf-8"))
    mine = "".join(entry["text"] for entry in index["docs"] if entry["location"].startswith(PREDICTIONS))
    assert "How many kernels does" in mine
    assert "FOUND" not in mine


def test_what_was_predicted_is_shown_by_chapter(page: Page, small: Site) -> None:
    answers = WRONG | {name: RIGHT[name] for name in ("kernels", "order")}
    said = SAID_WRONG | {name: SAID_RIGHT[name] for name in ("kernels", "order")}
    predict(page, small, answers)
    assert page.locator("guide-predictions h2").all_inner_texts() == ["The first", "The second"]
    expect(page.locator(".predictions-score")).to_have_text("First tries: 2 of 5 right. All are predicted.")
    for name in IDS:
        verdict = "Right" if name in ("kernels", "order") else "Not right"
        expect(row(page, name).locator(".prediction-outcome p").first).to_have_text(f"{verdict} {said[name]}")
    expect(row(page, "kernels")).to_contain_text("A memset is no kernel: FOUND-TEACHES.")


def test_only_the_first_try_counts(page: Page, small: Site) -> None:
    predict(page, small, WRONG, ["kernels"])
    page.goto(small.url + CHAPTER)
    exercise(page, "kernels").get_by_role("button", name="Try once more").click()
    commit(page, "kernels", ["5"])
    page.goto(small.url + PREDICTIONS)
    expect(page.locator(".predictions-score")).to_have_text("First tries: 0 of 1 right. 4 of 5 not predicted yet.")
    expect(row(page, "kernels")).to_contain_text("Second try: 5, right.")


@pytest.mark.parametrize("name", IDS)
def test_each_question_leads_to_where_it_is_asked(page: Page, name: str) -> None:
    row(page, name).get_by_role("link").click()
    page.wait_for_url(f"**/{address_of(name)}#predict-{name}")
    expect(exercise(page, name).locator(".predict-asks")).to_be_in_viewport()


def test_an_exercise_leads_here(page: Page, small: Site) -> None:
    page.goto(small.url + CHAPTER)
    link = exercise(page, "kernels").get_by_role("link", name="All your predictions")
    expect(link).to_be_hidden()
    commit(page, "kernels", ["5"])
    link.click()
    page.wait_for_url(f"**/{PREDICTIONS}")
    expect(row(page, "kernels")).to_contain_text("You predicted 5.")


def test_guesses_for_numbers_are_drawn_and_summed_up(page: Page, small: Site) -> None:
    predict(page, small, WRONG)
    picture = page.get_by_role("img", name="Guesses against what was measured")
    expect(picture).to_have_accessible_name(
        "Guesses against what was measured, on two logarithmic scales: 0 near enough, 1 not. "
        "The list below has them as text."
    )
    expect(picture.locator(".ps-wrong")).to_have_count(1)
    assert picture.locator(".ps-wrong title").text_content() == "you: 20 SMs, measured: 132 SMs"
    expect(page.locator(".prediction-numbers figcaption")).to_contain_text("0 too high, 1 too low")
    expect(page.locator(".prediction-numbers figcaption")).to_contain_text("off by a factor of 6.60")
    sizes = picture.locator("text").evaluate_all(
        """all => all.map(t => {
            const { c, d } = t.getScreenCTM();
            return parseFloat(getComputedStyle(t).fontSize) * Math.hypot(c, d);
        })"""
    )
    assert min(sizes) >= 11


@pytest.mark.parametrize("guess", [1e-9, 0.5, 132, 1e9])
def test_every_guess_is_inside_the_picture(page: Page, guess: float) -> None:
    store(page, {"multiprocessors": [guess]})
    page.reload()
    picture = page.locator(".predict-scatter")
    frame = picture.bounding_box()
    for box in (part.bounding_box() for part in picture.locator("circle, path, text").all()):
        assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"]


def test_a_prediction_in_another_tab_shows_at_once(page: Page, context: BrowserContext, small: Site) -> None:
    other = context.new_page()
    other.goto(small.url + CHAPTER)
    commit(other, "kernels", ["5"])
    expect(row(page, "kernels")).to_contain_text("You predicted 5.")


def test_an_edited_question_counts_as_not_predicted(page: Page) -> None:
    page.evaluate(
        "value => localStorage.setItem('guide-predict:kernels', value)",
        json.dumps({"v": 1, "hash": "0123456789ab", "tries": [{"guess": 5, "right": True, "at": AT}]}),
    )
    page.reload()
    expect(row(page, "kernels")).to_contain_text("Not predicted yet.")


# Files


def hash_of(page: Page, name: str) -> str:
    return row(page, name).get_attribute("data-hash") or ""


def answers_of(page: Page, guesses: dict[str, list[object]]) -> dict[str, object]:
    return {
        name: {
            "v": 1,
            "hash": hash_of(page, name),
            "tries": [{"guess": one, "right": True, "at": AT} for one in tries],
        }
        for name, tries in guesses.items()
    }


def store(page: Page, guesses: dict[str, list[object]]) -> None:
    for name, value in answers_of(page, guesses).items():
        page.evaluate(
            "([name, value]) => localStorage.setItem(`guide-predict:${name}`, value)", [name, json.dumps(value)]
        )


def file_of(page: Page, guesses: dict[str, list[object]], **changes: object) -> str:
    whole = {"format": "guide-predictions", "v": 1, "saved": AT, "answers": answers_of(page, guesses)}
    return json.dumps(whole | changes)


def read_file(page: Page, text: str | bytes) -> None:
    content = text.encode() if isinstance(text, str) else text
    page.locator("input[type=file]").set_input_files(
        {"name": "p.json", "mimeType": "application/json", "buffer": content}
    )


def test_a_saved_file_is_read_in_another_browser(page: Page, browser: Browser, small: Site, tmp_path: Path) -> None:
    predict(page, small, WRONG)
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Save as a file").click()
    assert downloading.value.suggested_filename == "predictions.json"
    expect(page.locator(".predictions-status")).to_have_text("Saved as predictions.json.")
    text = downloading.value.path().read_text(encoding="utf-8")
    saved = json.loads(text)
    assert set(saved["answers"]) == set(IDS)
    assert saved["answers"]["multiprocessors"]["tries"][0]["guess"] == 20
    with visiting(browser) as elsewhere:
        fresh = elsewhere.new_page()
        fresh.goto(small.url + PREDICTIONS)
        read_file(fresh, text)
        expect(fresh.get_by_role("status").filter(has_text="Read the file")).to_have_text("Read the file: 5 added.")
        for name in IDS:
            expect(row(fresh, name)).to_contain_text(SAID_WRONG[name])
        fresh.goto(small.url + CHAPTER)
        expect(exercise(fresh, "kernels").get_by_role("heading", name="Not right")).to_be_visible()


def test_what_is_here_is_kept_when_a_file_is_read(page: Page) -> None:
    store(page, {"kernels": [7]})
    page.reload()
    old = answers_of(page, {"order": [[0, 1, 2]]})
    old["order"] = {**old["order"], "hash": "0123456789ab"}
    answers = answers_of(page, {"kernels": [5], "multiprocessors": [20]}) | old | {"gone": {"v": 1}}
    read_file(page, file_of(page, {}, answers=answers))
    expect(page.locator(".predictions-status")).to_have_text(
        "Read the file: 1 added; 1 kept as they were here; 2 left out: of no question here, or of one that has changed."
    )
    assert kept(page, "kernels")["tries"][0]["guess"] == 7
    assert kept(page, "multiprocessors")["tries"][0]["guess"] == 20
    assert kept(page, "gone") is None
    read_file(page, file_of(page, {"transpose": [[1]]}))  # once more, by the same field
    expect(row(page, "transpose")).to_contain_text("Nothing on the GPU")


def test_a_file_cannot_claim_to_be_right(page: Page) -> None:
    read_file(page, file_of(page, {"kernels": [7]}))
    expect(row(page, "kernels")).to_contain_text("Not right")


MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"

HOSTILE = {
    "guess": {"kernels": [MARKUP]},
    "guesses": {"transpose": [[MARKUP]]},
    "object": {"kernels": [{"toString": MARKUP}]},
    "number": {"multiprocessors": ["1e3"]},
    "infinite": {"multiprocessors": [1e400]},
    "position": {"transpose": [[99]]},
    "many": {"what-runs": [[0] * 10_000]},
}


@pytest.mark.parametrize("guesses", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_in_a_file_are_left_out(context, small, guesses: dict[str, list[object]]) -> None:
    visit = Visit(context.new_page(), small.url + PREDICTIONS)
    visit.watch(small)
    page = visit.page
    page.goto(visit.url)
    read_file(page, file_of(page, guesses).replace("Infinity", "1e400"))
    expect(page.locator(".predictions-status")).to_contain_text("0 added; 1 left out")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('guide-'))") == []
    page.wait_for_timeout(100)
    assert page.title() != "owned"
    assert page.locator("guide-predictions :is(img, script)").count() == 0
    assert (visit.outside, visit.errors) == ([], [])


@pytest.mark.parametrize("where", ["id", "hash", "at", "extra", "proto"])
def test_markup_anywhere_in_a_file_is_never_run(page: Page, where: str) -> None:
    good = answers_of(page, {"kernels": [5]})["kernels"]
    answers = {
        "id": {MARKUP: good},
        "hash": {"kernels": {**good, "hash": MARKUP}},
        "at": {"kernels": {**good, "tries": [{"guess": 5, "right": True, "at": MARKUP}]}},
        "extra": {"kernels": {**good, "note": MARKUP, "tries": [{**good["tries"][0], "note": MARKUP}]}},
        "proto": {"__proto__": good, "constructor": good},
    }[where]
    read_file(page, file_of(page, {}, answers=answers))
    expect(page.locator(".predictions-status")).to_contain_text("Read the file")
    page.wait_for_timeout(100)
    assert page.title() != "owned"
    assert page.locator("guide-predictions :is(img, script)").count() == 0
    assert MARKUP[:10] not in page.evaluate("JSON.stringify({...localStorage})")
    page.reload()
    assert page.title() != "owned"


FOREIGN = {
    "empty": "",
    "text": "hello",
    "null": "null",
    "list": "[]",
    "other": '{"format": "other", "v": 1, "answers": {}}',
    "version": '{"format": "guide-predictions", "v": 2, "answers": {}}',
    "answers": '{"format": "guide-predictions", "v": 1, "answers": []}',
    "binary": bytes(range(256)),
    "large": b'{"format": "guide-predictions", "v": 1, "answers": {}, "x": "' + b"x" * 1_000_001 + b'"}',
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_changes_nothing_and_is_called_so(page: Page, content: str | bytes) -> None:
    store(page, {"kernels": [7]})
    read_file(page, content)
    expect(page.locator(".predictions-status")).to_have_text("This file holds no predictions: nothing was changed.")
    assert kept(page, "kernels")["tries"][0]["guess"] == 7


def test_a_file_that_finds_no_room_says_so(context: BrowserContext, small: Site) -> None:
    context.add_init_script(FULL)
    page = context.new_page()
    page.goto(small.url + PREDICTIONS)
    read_file(page, file_of(page, {"kernels": [7]}))
    expect(page.locator(".predictions-status")).to_have_text("Read the file: 0 added; 1 could not be stored.")


# Forgetting


@pytest.mark.parametrize("how", ["Escape", "Keep them"])
def test_forgetting_asks_first(page: Page, how: str) -> None:
    store(page, {"kernels": [7]})
    page.reload()
    page.get_by_role("button", name="Forget everything…").click()
    dialog = page.get_by_role("dialog", name="Forget everything?")
    expect(dialog.get_by_role("button", name="Keep them")).to_be_focused()
    if how == "Escape":
        page.keyboard.press("Escape")
    else:
        page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Forget everything…")).to_be_focused()
    assert kept(page, "kernels") is not None


def test_forgetting_forgets_everything_of_this_site_and_nothing_else(page: Page) -> None:
    store(page, {"kernels": [7], "order": [[0, 1, 2]]})
    page.evaluate("localStorage.setItem('guide-predict:of-an-old-page', 'x'); localStorage.setItem('other', 'y')")
    page.reload()
    page.get_by_role("button", name="Forget everything…").click()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".predictions-status")).to_have_text("Everything is forgotten.")
    expect(page.locator(".predictions-score")).to_have_text("You have predicted none of 5 yet.")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('guide-'))") == []
    assert page.evaluate("localStorage.getItem('other')") == "y"


# Without storage, scripts, sight or room


def test_with_storage_off_it_says_so(context: BrowserContext, small: Site) -> None:
    context.add_init_script(NO_STORAGE)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(small.url + PREDICTIONS)
    expect(page.locator(".predictions-score")).to_contain_text("does not let the page store anything")
    expect(page.get_by_role("button", name="Forget everything…")).to_be_disabled()
    expect(page.locator("input[type=file]")).to_be_disabled()
    expect(page.locator(".prediction")).to_have_count(5)
    assert [error for error in errors if "predict" in error] == []


def test_without_scripts_the_questions_are_listed(browser: Browser, small: Site) -> None:
    with visiting(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(small.url + PREDICTIONS)
        assert "kept by scripts, which are off here" in page.locator("guide-predictions").inner_text()
        assert page.locator(".prediction").count() == 5
        assert "FOUND" not in page.locator("body").inner_text()
        page.locator(".prediction a").first.click()
        page.wait_for_url("**/chapters/first/#predict-kernels")


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    store(page, {"kernels": [7]})
    page.reload()
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = "e => e.closest('guide-predictions') && (e.textContent.trim() || e.type)"
        reached.append(page.evaluate(f"({name})(document.activeElement)"))
    for name in ("Save as a file", "file", "Forget everything…", "What does aten::t start?"):
        assert name in reached


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1440), ("light", 390), ("dark", 390)])
def test_axe_finds_nothing(browser: Browser, small: Site, scheme: str, width: int, filled: bool) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "reduced_motion": "reduce"}
    with visiting(browser, **options) as context:
        page = context.new_page()
        page.goto(small.url + PREDICTIONS)
        if filled:
            store(page, {"kernels": [7, 5], "multiprocessors": [20], "transpose": [[1]], "order": [[0, 1, 2]]})
            page.reload()
            expect(row(page, "kernels")).to_contain_text("Second try")
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        page.get_by_role("button", name="Forget everything…").click()
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


def test_it_fits_a_phone_and_its_targets_a_finger(browser: Browser, small: Site) -> None:
    with visiting(browser, **PHONE) as context:
        page = context.new_page()
        page.goto(small.url + PREDICTIONS)
        store(page, {"kernels": [7, 5], "multiprocessors": [20], "transpose": [[1]], "order": [[0, 1, 2]]})
        page.reload()
        expect(row(page, "kernels")).to_contain_text("Second try")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        page.get_by_role("button", name="Forget everything…").tap()
        for target in page.locator("guide-predictions :is(button, label)").all():
            box = target.bounding_box()
            assert min(box["width"], box["height"]) >= 44
