"""An exercise of each kind, answered by keyboard, mouse and finger, with and without scripts, storage and sight."""

import json
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from built_site import Site, Visit
from exercise_site import (
    CHAPTER,
    FOUND,
    HOSTILE,
    IDS,
    LATER,
    RIGHT,
    SAID_RIGHT,
    SAID_WRONG,
    WRONG,
    address_of,
    commit,
    exercise,
    kept,
    place_of,
    serve_exercises,
    visiting,
)
from playwright.sync_api import Browser, BrowserContext, Page, expect

from build_traces.markdown.value import shown

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
NO_STORAGE = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
)
FILL = """() => {
    let size = 1 << 20;
    for (let n = 0; size > 0; n += 1) {
        try { localStorage.setItem(`full-${n}`, "x".repeat(size)) } catch { size = size >> 1 }
    }
}"""
MODULES = "document.querySelector('script[src*=\"predict.js\"]').src.replace('predict.js', 'predict-judge.js')"
CANNOT = "This browser does not let the page remember your answer"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve_exercises(tmp_path_factory) as site:
        yield site


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with visiting(browser) as made:
        yield made


def opened(context: BrowserContext, small: Site, address: str = CHAPTER) -> Page:
    page = context.new_page()
    page.goto(small.url + address)
    return page


# Before committing


@pytest.mark.parametrize("address", [CHAPTER, LATER])
def test_the_answer_is_not_readable_audible_or_found_before_committing(context, small, address: str) -> None:
    page = opened(context, small, address)
    expect(page.get_by_role("button", name="Commit").first).to_be_visible()
    heard = page.locator("body").aria_snapshot()
    read = page.evaluate("document.body.innerText")
    for text in (heard, read):
        assert "FOUND" not in text
        assert "Measured:" not in text
        assert "Right" not in text.replace("Right within", "")
    for text in ("FOUND", "Measured:", "moves nothing"):
        assert not page.evaluate("text => window.find(text, false, false, true)", text)
    assert page.evaluate("window.find('Predict', false, false, true)")  # the search itself works


def test_the_sites_search_knows_questions_and_no_answers(small) -> None:
    index = (small.folder / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "How many kernels does" in index
    assert "A kernel that copies" in index
    for hidden in ("FOUND", "Measured:", "moves nothing", "132 SMs"):
        assert hidden not in index


def test_the_question_names_the_group_and_the_controls(context, small) -> None:
    page = opened(context, small)
    group = page.get_by_role("group", name="Predict How many kernels does one forward of the MLP run?")
    field = group.get_by_role("textbox", name="Your guess")
    expect(field).to_have_accessible_description("A whole number.")
    field = page.get_by_role("group", name="multiprocessors").get_by_role("textbox")
    expect(field).to_have_accessible_description("SMs Right within a factor of 1.5.")
    expect(page.get_by_role("radiogroup", name="What does aten::t start?").get_by_role("radio")).to_have_count(3)
    page = opened(context, small, LATER)
    expect(page.get_by_role("group", name="Which of these").get_by_role("checkbox")).to_have_count(3)
    expect(page.get_by_role("list", name="In which order do they run?").get_by_role("listitem")).to_have_count(3)


# Committing


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_by_mouse(context, small, name: str, right: bool) -> None:
    visit = Visit(context.new_page(), small.url + address_of(name))
    visit.watch(small)
    page = visit.page
    page.goto(visit.url)
    commit(page, name, (RIGHT if right else WRONG)[name])
    answered = exercise(page, name)
    verdict = answered.get_by_role("heading", name="Right" if right else "Not right", exact=True)
    expect(verdict).to_be_focused()
    expect(verdict).to_be_in_viewport()
    expect(answered.locator(".predict-said")).to_have_text((SAID_RIGHT if right else SAID_WRONG)[name])
    expect(answered.locator(".predict-said")).to_have_attribute("role", "status")
    expect(answered.get_by_text(FOUND[name])).to_be_visible()
    expect(answered.locator(".predict-stamp")).to_contain_text("torch")
    expect(answered.locator(".predict-measured")).to_contain_text("Measured")
    expect(answered.get_by_role("button", name="Commit")).to_be_hidden()
    expect(answered.get_by_role("button", name="Try once more")).to_have_count(0 if right else 1)
    others = "".join(FOUND[other] for other in IDS if other != name)
    assert not any(found in page.evaluate("document.body.innerText") for found in others.split("F") if found)
    assert (visit.outside, visit.errors) == ([], [])


def press_until(page: Page, key: str, selector: str, most: int = 60) -> None:
    """Press a key until what has the focus is this."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not lead to {selector}")


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_by_keyboard(context, small, name: str, right: bool) -> None:
    page = opened(context, small, address_of(name))
    asked, at = exercise(page, name), f"#predict-{name}"
    answer = (RIGHT if right else WRONG)[name]
    expect(asked.get_by_role("button", name="Commit")).to_be_visible()
    if name in ("kernels", "multiprocessors"):
        press_until(page, "Tab", f"{at} .predict-input")
        page.keyboard.type(answer[0])
        page.keyboard.press("Enter")
    elif name == "transpose":
        press_until(page, "Tab", f"{at} input")
        page.keyboard.press("Space")
        for _ in range(1 if right else 0):
            page.keyboard.press("ArrowDown")
        press_until(page, "Tab", f"{at} .predict-button")
        page.keyboard.press("Enter")
    elif name == "what-runs":
        for text in answer:
            value = asked.locator("label", has_text=text).locator("input").get_attribute("value")
            press_until(page, "Tab", f"{at} input[value='{value}']")
            page.keyboard.press("Space")
        press_until(page, "Tab", f"{at} .predict-button")
        page.keyboard.press("Space")
    else:
        for place, text in enumerate(answer):
            while place_of(asked, text) > place:
                press_until(page, "Tab", f'{at} [aria-label="Move up: {text}"]', most=90)
                page.keyboard.press("Enter")
                expect(asked.get_by_role("button", name=f"Move up: {text}")).to_be_focused()
                expect(asked.locator(".predict-moved")).to_contain_text(f"{text} is now number")
                page.locator("h1").click()  # begins anew at the top
        press_until(page, "Tab", f"{at} .predict-button")
        page.keyboard.press("Enter")
    expect(asked.get_by_role("heading", name="Right" if right else "Not right", exact=True)).to_be_focused()
    expect(asked.locator(".predict-said")).to_have_text((SAID_RIGHT if right else SAID_WRONG)[name])
    page.keyboard.press("Tab")
    expect(asked.locator("summary").first).to_be_focused()


@pytest.mark.parametrize("name", IDS)
def test_by_finger_on_a_phone(browser, small, name: str) -> None:
    with visiting(browser, **PHONE) as context:
        page = opened(context, small, address_of(name))
        commit(page, name, WRONG[name], tap=True)
        expect(exercise(page, name).locator(".predict-said")).to_have_text(SAID_WRONG[name])
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_what_is_moved_keeps_the_focus_and_stops_at_the_ends(context, small) -> None:
    page = opened(context, small, LATER)
    asked = exercise(page, "order")
    first = asked.locator(".predict-item").first.inner_text()
    up = asked.get_by_role("button", name="Move up").first
    expect(up).to_have_attribute("aria-disabled", "true")
    up.focus()
    page.keyboard.press("Enter")
    assert asked.locator(".predict-item").first.inner_text() == first
    down = asked.get_by_role("button", name="Move down").first
    down.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert asked.locator(".predict-item").last.inner_text() == first
    expect(asked.get_by_role("button", name="Move down").last).to_be_focused()
    expect(asked.get_by_role("button", name="Move down").last).to_have_attribute("aria-disabled", "true")


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("kernels", "", "Type a whole number"),
        ("kernels", "2.5", "Type a whole number"),
        ("kernels", "-1", "Type a whole number"),
        ("kernels", "many", "Type a whole number"),
        ("multiprocessors", "", "Type a number above 0"),
        ("multiprocessors", "0", "Type a number above 0"),
        ("multiprocessors", "1e999", "Type a number above 0"),
        ("transpose", None, "Choose an option first."),
        ("what-runs", None, "Choose an option first."),
    ],
)
def test_what_is_no_answer_is_said_and_not_judged(context, small, name: str, typed: str | None, problem: str) -> None:
    page = opened(context, small, address_of(name))
    commit(page, name, [] if typed is None else [typed])
    asked = exercise(page, name)
    expect(asked.get_by_role("alert")).to_contain_text(problem)
    first = asked.get_by_label("Your guess") if typed is not None else asked.locator("input").first
    expect(first).to_be_focused()
    if typed is not None:
        expect(first).to_have_attribute("aria-invalid", "true")
    expect(asked.get_by_role("heading")).to_have_count(0)
    assert kept(page, name) is None


def test_the_right_and_the_chosen_option_are_marked(context, small) -> None:
    page = opened(context, small)
    commit(page, "transpose", WRONG["transpose"])
    reasons = exercise(page, "transpose").locator(".predict-reasons > li")
    assert [" ".join(text.split())[:60] for text in reasons.all_inner_texts()][:2] == [
        "Not right A kernel that copies your answer FOUND-WHY: it mov",
        "Right Nothing on the GPU FOUND-WHY: it makes a view.",
    ]
    expect(reasons.nth(2)).to_contain_text(HOSTILE.replace("*no*", "no"))
    assert page.title() != "owned"
    assert page.locator("guide-predict img").count() == 0


def test_a_number_is_shown_on_a_scale(context, small) -> None:
    page = opened(context, small)
    commit(page, "multiprocessors", ["20"])
    picture = exercise(page, "multiprocessors").get_by_role("img")
    expect(picture).to_have_accessible_name("On a scale of ratios: 20 SMs is 6.60 times too low.")
    left, right = (picture.locator(one).bounding_box()["x"] for one in (".ps-guess", ".ps-measured"))
    assert left < right
    sizes = picture.locator("text").evaluate_all("all => all.map(t => parseFloat(getComputedStyle(t).fontSize))")
    assert min(sizes) >= 11


@pytest.mark.parametrize("guess", ["1", "1e9", "0.0001", "131.9", "132"])
def test_every_guess_stays_in_the_picture(browser, small, guess: str) -> None:
    with visiting(browser, **PHONE) as context:
        page = opened(context, small)
        commit(page, "multiprocessors", [guess])
        card = exercise(page, "multiprocessors").bounding_box()
        for box in (part.bounding_box() for part in page.locator(".predict-scale :is(text, circle, rect)").all()):
            assert card["x"] - 1 <= box["x"] and box["x"] + box["width"] <= card["x"] + card["width"] + 1


def test_a_picture_in_the_explanation_opens_in_perfetto_like_any_other(context, small) -> None:
    page = opened(context, small)
    commit(page, "kernels", ["5"])
    link = exercise(page, "kernels").locator("a.perfetto")
    expect(link).to_have_count(1)
    expect(link.locator("xpath=following-sibling::*[1]")).to_have_attribute("role", "status")
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == page.evaluate(
        "document.querySelectorAll('[id]').length"
    )


def test_the_verdict_is_a_heading_under_its_section(context, small) -> None:
    page = opened(context, small)
    commit(page, "kernels", ["5"])
    expect(exercise(page, "kernels").get_by_role("heading", level=3)).to_have_text("Right")


# A second try


def test_a_second_try_is_marked_and_is_the_last(context, small) -> None:
    page = opened(context, small)
    asked = exercise(page, "kernels")
    commit(page, "kernels", ["7"])
    asked.get_by_role("button", name="Try once more").click()
    expect(asked.get_by_label("Your guess")).to_be_focused()
    expect(asked.get_by_label("Your guess")).to_have_value("")
    expect(asked.get_by_text("A second try. Only the first one counts.")).to_be_visible()
    expect(asked.get_by_text("FOUND-COUNT")).to_have_count(0)
    commit(page, "kernels", ["6"])
    expect(asked.get_by_role("heading", name="Not right, at the second try either")).to_be_focused()
    expect(asked.locator(".predict-said")).to_have_text(
        "First you predicted 7, then 6. Measured: 5. That is 1 too many."
    )
    expect(asked.get_by_role("button", name="Try once more")).to_have_count(0)
    assert [(one["guess"], one["right"]) for one in kept(page, "kernels")["tries"]] == [(7, False), (6, False)]


def test_a_second_try_may_be_right(context, small) -> None:
    page = opened(context, small)
    for name in ("transpose", "kernels"):
        commit(page, name, WRONG[name])
        exercise(page, name).get_by_role("button", name="Try once more").click()
        commit(page, name, RIGHT[name])
        expect(exercise(page, name).get_by_role("heading", name="Right, at the second try")).to_be_focused()


# What is remembered


@pytest.mark.parametrize("name", IDS)
def test_what_was_answered_is_there_after_a_reload(context, small, name: str) -> None:
    page = opened(context, small, address_of(name))
    commit(page, name, WRONG[name])
    page.reload()
    answered = exercise(page, name)
    expect(answered.get_by_role("heading", name="Not right")).to_be_visible()
    expect(answered.locator(".predict-said")).to_have_text(SAID_WRONG[name])
    expect(answered.locator(".predict-said")).not_to_have_attribute("role", "status")  # nothing new to read out
    expect(answered.get_by_text(FOUND[name])).to_be_hidden()
    answered.get_by_text("What the recording shows").click()
    expect(answered.get_by_text(FOUND[name])).to_be_visible()
    assert page.evaluate("document.activeElement === document.body || document.activeElement.tagName === 'SUMMARY'")
    answered.get_by_role("button", name="Try once more").click()
    commit(page, name, RIGHT[name])
    expect(answered.get_by_role("heading", name="Right, at the second try")).to_be_focused()


def test_what_is_kept_has_its_form(context, small) -> None:
    page = opened(context, small)
    commit(page, "transpose", WRONG["transpose"])
    entry = kept(page, "transpose")
    assert set(entry) == {"v", "hash", "tries"}
    assert entry["v"] == 1
    assert entry["hash"] == exercise(page, "transpose").get_attribute("data-hash")
    (one,) = entry["tries"]
    assert (one["guess"], one["right"]) == ([0], False)
    assert one["at"].endswith("Z")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('guide-predict:'))") == [
        "guide-predict:transpose"
    ]


def test_an_edited_question_is_asked_anew_and_the_others_stay(context, small) -> None:
    page = opened(context, small)
    commit(page, "kernels", ["5"])
    commit(page, "transpose", RIGHT["transpose"])
    page.evaluate(
        """() => {
            const key = "guide-predict:kernels";
            const kept = JSON.parse(localStorage.getItem(key));
            localStorage.setItem(key, JSON.stringify({ ...kept, hash: "0123456789ab" }));
        }"""
    )
    page.reload()
    expect(exercise(page, "kernels").get_by_role("button", name="Commit")).to_be_visible()
    expect(exercise(page, "transpose").get_by_role("heading", name="Right")).to_be_visible()
    commit(page, "kernels", ["7"])
    assert [one["guess"] for one in kept(page, "kernels")["tries"]] == [7]


def test_a_new_recording_judges_what_was_guessed_anew(context, small) -> None:
    page = opened(context, small)
    commit(page, "kernels", ["5"])
    page.evaluate(
        """() => {
            const key = "guide-predict:kernels";
            localStorage.setItem(key, localStorage.getItem(key).replace('"right":true', '"right":false'));
        }"""
    )
    page.reload()
    expect(exercise(page, "kernels").get_by_role("heading", name="Right", exact=True)).to_be_visible()


def entry(**changes: object) -> str:
    tries = [{"guess": 5, "right": True, "at": "2026-12-01T00:00:00.000Z"}]
    return json.dumps({"v": 1, "hash": "HASH", "tries": tries} | changes)


def tried(**changes: object) -> str:
    return entry(tries=[{"guess": 5, "right": True, "at": "2026-12-01T00:00:00.000Z"} | changes])


DAMAGED = {
    "nothing": "",
    "text": "five",
    "cut": entry()[:-5],
    "null": "null",
    "number": "5",
    "list": "[]",
    "string": '"x"',
    "version": entry(v=2),
    "no-hash": entry(hash=None),
    "no-tries": entry(tries=None),
    "tries-object": entry(tries={"length": 1, "0": 5}),
    "tries-null": entry(tries=[None]),
    "guess-text": tried(guess="<img src=x onerror=\"document.title='owned'\">"),
    "guess-list": tried(guess=[0]),
    "guess-negative": tried(guess=-1),
    "guess-fraction": tried(guess=2.5),
    "guess-object": tried(guess={"toString": 1}),
    "time": tried(at="<b>"),
    "time-number": tried(at=5),
    "huge": entry(tries=[{"guess": 5, "right": True, "at": "2026-12-01T00:00:00.000Z"}] * 5000),
    "prototype": '{"__proto__": {"v": 1}, "hash": "HASH"}',
    "deep": "[" * 5000 + "]" * 5000,
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_damaged_or_foreign_data_is_as_if_it_were_not_there(context, small, damaged: str) -> None:
    visit = Visit(context.new_page(), small.url + CHAPTER)
    visit.watch(small)
    page = visit.page
    page.goto(visit.url)
    key = exercise(page, "kernels").get_attribute("data-hash")
    page.evaluate("value => localStorage.setItem('guide-predict:kernels', value)", damaged.replace("HASH", key))
    page.reload()
    commit(page, "kernels", ["5"])
    expect(exercise(page, "kernels").get_by_role("heading", name="Right", exact=True)).to_be_focused()
    assert [one["guess"] for one in kept(page, "kernels")["tries"]] == [5]
    assert page.title() != "owned"
    assert visit.errors == []


@pytest.mark.parametrize("name", ["transpose", "order"])
@pytest.mark.parametrize("guess", [[], [9], [0, 0], [1, 0], ["0"], [0.5], 1, None, [0, 1, 2, 3], {"0": 0}])
def test_damaged_positions_are_ignored(context, small, name: str, guess: object) -> None:
    page = opened(context, small, address_of(name))
    value = tried(guess=guess).replace("HASH", exercise(page, name).get_attribute("data-hash"))
    page.evaluate("([key, value]) => localStorage.setItem(key, value)", [f"guide-predict:{name}", value])
    page.reload()
    expect(exercise(page, name).get_by_role("button", name="Commit")).to_be_visible()


def test_with_storage_off_it_works_and_says_that_it_cannot_remember(context, small) -> None:
    context.add_init_script(NO_STORAGE)
    visit = Visit(context.new_page(), small.url + CHAPTER)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    page = visit.page
    page.goto(visit.url)
    for name in ("kernels", "multiprocessors", "transpose"):
        commit(page, name, WRONG[name])
        answered = exercise(page, name)
        expect(answered.locator(".predict-said")).to_have_text(SAID_WRONG[name])
        expect(answered.get_by_text(CANNOT)).to_be_visible()
        answered.get_by_role("button", name="Try once more").click()
        commit(page, name, RIGHT[name])
        expect(answered.get_by_role("heading", name="Right, at the second try")).to_be_focused()
    assert [error for error in visit.errors if "predict" in error] == []


def test_with_storage_full_it_works_and_says_that_it_cannot_remember(context, small) -> None:
    page = opened(context, small)
    page.evaluate(FILL)
    commit(page, "kernels", ["7"])
    answered = exercise(page, "kernels")
    expect(answered.get_by_text(CANNOT)).to_be_visible()
    expect(answered.get_by_role("button", name="Try once more")).to_be_visible()
    page.evaluate("localStorage.clear()")
    page.reload()
    commit(page, "kernels", ["5"])
    expect(answered.get_by_text(CANNOT)).to_have_count(0)


# Without scripts


@pytest.mark.parametrize("name", IDS)
def test_without_scripts_the_answer_is_folded_behind_the_question(browser, small, name: str) -> None:
    with visiting(browser, java_script_enabled=False) as context:
        page = opened(context, small, address_of(name))
        asked = exercise(page, name)
        expect(asked.locator(".predict-asks")).to_be_visible()
        if name in ("transpose", "what-runs", "order"):
            expect(asked.locator(".predict-parts > li")).to_have_count(3)
            expect(asked.locator(".predict-parts")).to_be_visible()
        expect(asked.get_by_role("button")).to_have_count(0)
        explanation = asked.locator(".predict-explain")  # Playwright finds no text in a <noscript>
        expect(explanation).to_be_hidden()
        assert asked.locator("summary").first.inner_text() == "Answer"
        page.keyboard.press("Tab")
        asked.locator("summary").first.press("Enter")
        expect(explanation).to_be_visible()
        assert FOUND[name] in explanation.inner_text()
        expect(asked.locator(".predict-measured")).to_be_visible()
        expect(asked.locator(".predict-all")).to_be_hidden()


def test_it_works_where_noscript_was_parsed_as_elements(context, small) -> None:
    page = opened(context, small)
    page.evaluate(
        """async () => {
            const text = await (await fetch(location.href)).text();
            const parsed = new DOMParser().parseFromString(text, "text/html").querySelector("#predict-kernels");
            document.querySelector("#predict-kernels").replaceWith(document.adoptNode(parsed));
        }"""
    )
    assert page.evaluate("document.querySelector('#predict-kernels > noscript').firstElementChild.tagName") == "DETAILS"
    commit(page, "kernels", ["5"])
    expect(exercise(page, "kernels").get_by_text("FOUND-COUNT").first).to_be_visible()


def test_a_question_without_an_answer_here_stays_as_it_is(context, small) -> None:
    page = opened(context, small)
    page.evaluate(
        """() => {
            const made = document.createElement("guide-predict");
            made.id = "predict-none";
            made.innerHTML = "<p>Not recorded yet.</p>";
            document.querySelector("article").append(made);
        }"""
    )
    assert page.locator("#predict-none").inner_html() == "<p>Not recorded yet.</p>"


# Access


@pytest.mark.parametrize("state", ["before", "right", "wrong"])
@pytest.mark.parametrize("address", [CHAPTER, LATER])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1440), ("light", 390), ("dark", 390)])
def test_axe_finds_nothing(browser, small, address: str, state: str, scheme: str, width: int) -> None:
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}, "reduced_motion": "reduce"}
    with visiting(browser, **options) as context:
        page = opened(context, small, address)
        for name in IDS if state != "before" else ():
            if address_of(name) == address:
                commit(page, name, (RIGHT if state == "right" else WRONG)[name])
        page.mouse.move(0, 0)
        page.wait_for_timeout(200)
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("address", [CHAPTER, LATER])
@pytest.mark.parametrize("committed", [False, True])
def test_what_is_touched_is_44_pixels_high_and_wide(browser, small, address: str, committed: bool) -> None:
    with visiting(browser, **PHONE) as context:
        page = opened(context, small, address)
        expect(page.get_by_role("button", name="Commit").first).to_be_visible()
        for name in IDS if committed else ():
            if address_of(name) == address:
                commit(page, name, WRONG[name], tap=True)
        targets = "guide-predict :is(button, .predict-input, .predict-choice, .predict-more > summary):visible"
        found = page.locator(targets).all()
        assert len(found) >= 4
        for target in found:
            box = target.bounding_box()
            assert min(box["width"], box["height"]) >= 44, target.evaluate("e => e.outerHTML.slice(0, 100)")


def test_the_focus_is_seen(context, small) -> None:
    for address in (CHAPTER, LATER):
        page = opened(context, small, address)
        for target in page.locator("guide-predict :is(button, input):visible").all():
            target.focus()
            page.keyboard.press("Shift")  # the reader uses the keyboard
            outline = target.evaluate("e => getComputedStyle(e).outlineStyle + getComputedStyle(e).outlineWidth")
            assert not outline.startswith("none"), target.evaluate("e => e.outerHTML.slice(0, 100)")


def test_nothing_moves_for_who_wants_no_motion(browser, small) -> None:
    with visiting(browser, reduced_motion="reduce") as context:
        page = opened(context, small)
        commit(page, "kernels", ["7"])
        moving = """document.getAnimations().filter(a => a.effect.target.closest("guide-predict")).length"""
        assert page.evaluate(moving) == 0


def test_with_forced_colors_pictures_and_verdicts_are_there(browser, small) -> None:
    with visiting(browser, forced_colors="active") as context:
        page = opened(context, small)
        commit(page, "multiprocessors", ["20"])
        colors = page.locator(".predict-scale").evaluate(
            """svg => [".ps-measured", ".ps-axis"].map(one => getComputedStyle(svg.querySelector(one)).stroke)
                .concat([".ps-guess", "text"].map(one => getComputedStyle(svg.querySelector(one)).fill))"""
        )
        assert "none" not in colors
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background not in colors


def test_a_link_from_elsewhere_leads_to_the_exercise(context, small) -> None:
    page = opened(context, small, f"{CHAPTER}#predict-transpose")
    expect(exercise(page, "transpose").locator(".predict-asks")).to_be_in_viewport()


# The functions


@pytest.fixture(scope="module")
def judged(browser: Browser, small: Site) -> Iterator[Page]:
    """A page with the functions of predict-judge.js."""
    with visiting(browser) as context:
        page = opened(context, small)
        page.evaluate(f"async () => {{ window.judge = await import({MODULES}) }}")
        yield page


@pytest.mark.parametrize(
    ("typed", "unit", "number"),
    [
        ("5", "", 5),
        (" 5 ", "", 5),
        ("+5", "", 5),
        ("5.", "", 5),
        (".5", "", 0.5),
        ("1,234", "", 1234),
        ("1,234.5", "", 1234.5),
        ("1.234,5", "", 1234.5),
        ("1 234 567", "", 1234567),
        ("1\u00a0234", "", 1234),
        ("1'234", "", 1234),
        ("1_000", "", 1000),
        ("0,5", "", 0.5),
        ("12,5", "", 12.5),
        ("1e3", "", 1000),
        ("1.5E-3", "", 0.0015),
        ("37 µs", "µs", 37),
        ("37 μs", "µs", 37),
        ("37us", "µs", 37),
        ("37 US", "µs", 37),
        ("3x", "×", 3),
        ("3 ×", "×", 3),
        ("", "", None),
        ("five", "", None),
        ("5 ms", "µs", None),
        ("1,23,4", "", None),
        ("1..5", "", None),
        ("--5", "", None),
        ("0x10", "", None),
        ("Infinity", "", None),
        ("NaN", "", None),
        ("5; alert(1)", "", None),
    ],
)
def test_a_typed_number_is_read(judged: Page, typed: str, unit: str, number: float | None) -> None:
    assert judged.evaluate("([typed, unit]) => judge.parseNumber(typed, unit)", [typed, unit]) == number


@pytest.mark.parametrize(
    "value",
    [0, 1.0, 1.004, 1.14, 9.996, 12.34, 56.6, 100.0, 131.9, 999.6, 1234.5, 76118.677, 1e7, 0.1234, 0.0045, 1e-7],
)
def test_a_number_is_shown_as_the_pages_show_it(judged: Page, value: float) -> None:
    assert judged.evaluate("value => judge.shownNumber(value)", value) == shown(float(value))


@pytest.mark.parametrize(
    ("guess", "right", "off"),
    [
        (100, True, ""),
        (150, True, "That is 1.50 times too high."),
        (100 / 1.5, True, "That is 1.50 times too low."),
        (151, False, "That is 1.51 times too high."),
        (66, False, "That is 1.52 times too low."),
        (1e6, False, "That is 10,000 times too high."),
        (100.2, True, ""),
    ],
)
def test_a_number_is_judged_by_its_ratio(judged: Page, guess: float, right: bool, off: str) -> None:
    exercise = {"kind": "number", "within": 1.5, "key": {"answer": 100}}
    verdict = judged.evaluate("([exercise, guess]) => judge.judge(exercise, guess)", [exercise, guess])
    assert (verdict["right"], verdict["off"]) == (right, off)
    assert verdict["ratio"] == pytest.approx(guess / 100)


@pytest.mark.parametrize(
    ("ratios", "typical", "low", "high"),
    [([2.0], 2.0, 0, 1), ([0.5, 4.0], 3.0, 1, 1), ([1.0, 0.1, 3.0], 3.0, 1, 1)],
)
def test_the_typical_guess_is_the_median(
    judged: Page, ratios: list[float], typical: float, low: int, high: int
) -> None:
    found = judged.evaluate("ratios => judge.calibration(ratios)", ratios)
    assert found == {"typical": pytest.approx(typical), "low": low, "high": high}
    assert judged.evaluate("judge.calibration([])") is None
