"""A small site with an exercise of each kind, built from the committed recording, and what its answers are."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from built_site import ROOT, Site, serve
from playwright.sync_api import Browser, BrowserContext, Locator, Page

CHAPTER = "chapters/first/"
LATER = "chapters/second/"
PREDICTIONS = "predictions/"
HOSTILE = "</noscript><img src=x onerror=\"document.title='owned'\"> &lt;b&gt; *no*"

FIRST = f"""
[[exercise]]
id = "kernels"
kind = "count"
asks = "How many kernels does *one* forward of the `MLP` run?"
answer = "{{mlp_eager.kernel_count}}"
explain = '''
Three products, an activation and a multiplication: FOUND-COUNT. See [the start](index.md).

It takes {{{{ mlp_eager.gpu_us:.0f }}}} µs.'''
shows = "timeline | mlp_eager"
a100 = "The article's A100 ran as many: FOUND-A100."
teaches = "A memset is no kernel: FOUND-TEACHES."

[[exercise]]
id = "multiprocessors"
kind = "number"
asks = "How many multiprocessors has this GPU?"
answer = "{{recording.sm_count}}"
unit = "SMs"
within = 1.5
explain = "FOUND-NUMBER."
teaches = "The size of the machine."

[[exercise]]
id = "transpose"
kind = "choice"
asks = "What does `aten::t` start?"
explain = "FOUND-CHOICE."
teaches = "A view costs nothing."

[[exercise.option]]
text = "A kernel that copies"
when = "{{linear_eager.launched_under.aten::t}} == 1"
why = "FOUND-WHY: it moves nothing."

[[exercise.option]]
text = "Nothing on the GPU"
when = "{{linear_eager.launched_under.aten::t}} == 0"
why = "FOUND-WHY: it makes a view."

[[exercise.option]]
text = '''{HOSTILE}'''
when = "{{linear_eager.launched_under.aten::t}} == 2"
why = '''{HOSTILE}'''
"""

SECOND = """
[[exercise]]
id = "what-runs"
kind = "choice"
several = true
asks = "Which of these does the MLP run?"
explain = "FOUND-SEVERAL."
teaches = "To read a kernel list."

[[exercise.option]]
text = "A matrix product"
when = "{mlp_eager.kernel_count.nvjet} > 0"
why = "Three of them."

[[exercise.option]]
text = "A Triton kernel"
when = "{mlp_eager.kernel_count.triton} > 0"
why = "Nothing was compiled."

[[exercise.option]]
text = "A GELU"
when = "{mlp_eager.kernel_count.Gelu} > 0"
why = "It is an operation of its own."

[[exercise]]
id = "order"
kind = "order"
asks = "In which order do they run?"
explain = "FOUND-ORDER."
teaches = "Kernels run in the order of the code."

[[exercise.item]]
text = "the gate's product"
at = "{mlp_eager.kernel_position.nvjet}"

[[exercise.item]]
text = "GELU"
at = "{mlp_eager.kernel_position.Gelu}"

[[exercise.item]]
text = "the product of both"
at = "{mlp_eager.kernel_position.MulFunctor}"
"""

CHAPTERS = {
    "first": ("The first", FIRST, ("kernels", "multiprocessors", "transpose")),
    "second": ("The second", SECOND, ("what-runs", "order")),
}
IDS = [exercise for _, _, ids in CHAPTERS.values() for exercise in ids]

MKDOCS = """INHERIT: whole.yml
nav:
  - Start: index.md
  - chapters/first.md
  - chapters/second.md
  - predictions.md
"""


def write_sources(root: Path) -> None:
    """Everything that the small site is made of."""
    for folder in ("docs/assets", "docs/recordings", "kernel", "overrides", "snippets"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", root / "whole.yml")
    (root / "mkdocs.yml").write_text(MKDOCS)
    (root / "docs" / "chapters").mkdir()
    (root / "docs" / "exercises").mkdir()
    (root / "docs" / "index.md").write_text("# Start\n\nText.\n")
    for name, (title, exercises, ids) in CHAPTERS.items():
        blocks = "\n".join(f"## Part {n}\n\n/// predict | {one}\n///\n" for n, one in enumerate(ids))
        (root / "docs" / "chapters" / f"{name}.md").write_text(f"# {title}\n\n{blocks}\n## Behind\n\nText.\n")
        (root / "docs" / "exercises" / f"{name}.toml").write_text(exercises)
    block = "/// predictions\n    chapters: first second\n///\n"
    (root / "docs" / "predictions.md").write_text(f"# Your predictions\n\nText.\n\n{block}")


def built(root: Path) -> Path:
    """The folder of the site, built once for all tests of a run."""
    if root.exists():
        return root / "site"
    root.mkdir()
    write_sources(root)
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", "site"],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    return root / "site"


@contextmanager
def serve_exercises(temporary: pytest.TempPathFactory) -> Iterator[Site]:
    """The small site, served from a port of its own."""
    folder = built(temporary.getbasetemp() / "exercise_site")
    with serve(folder) as url:
        yield Site(folder, url)


RIGHT = {
    "kernels": ["5"],
    "multiprocessors": ["150"],  # of 132, within a factor of 1.5
    "transpose": ["Nothing on the GPU"],
    "what-runs": ["A matrix product", "A GELU"],
    "order": ["the gate's product", "GELU", "the product of both"],
}
WRONG = {
    "kernels": ["7"],
    "multiprocessors": ["20"],
    "transpose": ["A kernel that copies"],
    "what-runs": ["A matrix product", "A Triton kernel"],
    "order": ["GELU", "the gate's product", "the product of both"],
}
SAID_RIGHT = {
    "kernels": "You predicted 5. Measured: 5.",
    "multiprocessors": "You predicted 150 SMs. Measured: 132 SMs. That is 1.14 times too high.",
    "transpose": "You predicted “Nothing on the GPU”.",
    "what-runs": "You predicted “A matrix product”, “A GELU”.",
    "order": "You predicted the gate's product → GELU → the product of both.",
}
SAID_WRONG = {
    "kernels": "You predicted 7. Measured: 5. That is 2 too many.",
    "multiprocessors": "You predicted 20 SMs. Measured: 132 SMs. That is 6.60 times too low.",
    "transpose": "You predicted “A kernel that copies”. Right: “Nothing on the GPU”.",
    "what-runs": "You predicted “A matrix product”, “A Triton kernel”. Right: “A matrix product”, “A GELU”. "
    "Of the right ones you chose 1 of 2, and 1 beside them.",
    "order": "You predicted GELU → the gate's product → the product of both. "
    "Measured: the gate's product → GELU → the product of both. In their place: 1 of 3.",
}
FOUND = {
    "kernels": "FOUND-COUNT",
    "multiprocessors": "FOUND-NUMBER",
    "transpose": "FOUND-CHOICE",
    "what-runs": "FOUND-SEVERAL",
    "order": "FOUND-ORDER",
}
"""In the explanation of each."""


def address_of(name: str) -> str:
    """The page that shows an exercise."""
    return next(f"chapters/{chapter}/" for chapter, (_, _, ids) in CHAPTERS.items() if name in ids)


@contextmanager
def visiting(browser: Browser, **options: object) -> Iterator[BrowserContext]:
    """A browser context that remembers nothing of others."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    context.set_default_timeout(5000)
    yield context
    context.close()


def exercise(page: Page, name: str) -> Locator:
    """An exercise on its page."""
    return page.locator(f"#predict-{name}")


def commit(page: Page, name: str, answer: list[str], *, tap: bool = False) -> None:
    """Answer an exercise with the mouse, or with a finger."""
    asked = exercise(page, name)

    def press(target: Locator) -> None:
        if tap:
            target.tap()
        else:
            target.click()

    if (field := asked.get_by_label("Your guess")).count():
        press(field)
        field.fill(answer[0])
    elif asked.locator(".predict-sorting").count():
        for place, text in enumerate(answer):
            while place_of(asked, text) > place:
                press(asked.get_by_role("button", name=f"Move up: {text}"))
    else:
        for text in answer:
            press(asked.get_by_text(text, exact=True))
    press(asked.get_by_role("button", name="Commit"))


def place_of(asked: Locator, text: str) -> int:
    """Where an item stands now, from 0."""
    return next(n for n, item in enumerate(asked.locator(".predict-item").all_inner_texts()) if item.endswith(text))


def kept(page: Page, name: str) -> dict[str, object] | None:
    """What the browser remembers of an exercise."""
    return page.evaluate("name => JSON.parse(localStorage.getItem(`guide-predict:${name}`))", name)
