"""`/// predictions`: every exercise by chapter, to which a script adds what the reader predicted.

With the option `chapters: read-a-trace nn-linear`, the order in which they are read.
"""

import re
from pathlib import Path
from typing import ClassVar
from xml.etree.ElementTree import Element

from pymdownx.blocks.block import type_string

from build_traces.answers import answer
from build_traces.errors import FactError, NotRecordedError
from build_traces.exercises import Exercise, UnansweredError, page_of
from build_traces.markdown import solution
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.exercise_book import ExerciseBook
from build_traces.markdown.html import append, element
from build_traces.markdown.passage import passage
from build_traces.markdown.predict import anchor, described, telling
from build_traces.stage_view import StageView

TITLE = re.compile(r"^# +(?P<title>.+?) *$", re.MULTILINE)
WITHOUT_SCRIPTS = "Your predictions are kept by scripts, which are off here. These are the questions."


class Predictions(TraceBlock):
    """All exercises."""

    NAME = "predictions"
    ARGUMENT = False
    OPTIONS: ClassVar[dict[str, list[object]]] = {"chapters": ["", type_string]}

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A list for each chapter."""
        book: ExerciseBook = self.config["exercises"]
        chapters = book.exercises.chapters
        order = self._order(list(chapters))
        made = element("guide-predictions", element("noscript", element("p", WITHOUT_SCRIPTS)))
        for name in order:
            if page_of(name) in conversion.options.left_out:
                continue
            title = _title(conversion.options.docs / page_of(name))
            entries = [_entry(conversion, book, exercise) for exercise in chapters[name]]
            append(made, element("h2", title))
            append(made, element("ul", *entries, class_="predictions"))
        return figure_of(self.NAME, None, made)

    def _order(self, chapters: list[str]) -> list[str]:
        """The chapters that have exercises, as the author ordered them."""
        order = str(self.options["chapters"]).split()
        missing = [name for name in chapters if name not in order]
        if missing:
            message = f"option 'chapters' of block 'predictions' lacks {', '.join(missing)}, which has exercises"
            hint = f"write chapters: {' '.join([*order, *missing])}, in the order in which they are read"
            raise FactError(message, hint=hint)
        return [name for name in order if name in chapters]


def _title(page: Path) -> str:
    match = TITLE.search(page.read_text(encoding="utf-8-sig"))
    return match["title"] if match else page.stem


def _entry(conversion: Conversion, book: ExerciseBook, exercise: Exercise) -> Element:
    """A question with a link to where it is asked, and what a script needs to judge what was predicted."""
    made = element("li", class_="prediction", **described(exercise))
    try:
        with telling(exercise):
            asked = _unlinked(passage("span", exercise.asks, conversion, conversion.facts))
            found = answer(exercise, conversion.facts)
            made.set("data-key", solution.key(exercise, found, conversion))
            teaches = passage("p", exercise.teaches, conversion, conversion.facts)
    except NotRecordedError as error:
        append(made, _question(conversion, exercise, exercise.id))
        append(made, element("p", f"Stage {error.stage} is not recorded yet.", class_="unrecorded"))
    except UnansweredError as error:
        if book.must_answer(conversion.facts):
            raise
        append(made, _question(conversion, exercise, exercise.id))
        append(made, element("p", error.message, class_="unrecorded"))
    else:
        append(made, _question(conversion, exercise, asked))
        append(made, element("template", teaches, data_search_exclude=""))
    return made


def _question(conversion: Conversion, exercise: Exercise, text: Element | str) -> Element:
    link = conversion.link(conversion.options.docs / exercise.page, text)
    if link.tag == "a":
        link.set("href", f"{link.get('href')}#{anchor(exercise)}")
    return element("p", link, class_="prediction-asks")


def _unlinked(made: Element) -> Element:
    """The text without links, to stand in one itself."""
    for part in made.iter("a"):
        part.tag = "span"
        part.attrib.pop("href", None)
    return made
