"""`/// predict | ID`: an exercise. The reader commits to an answer, and then sees what the recording says.

Scripts make controls of the question, and show what is in `<noscript>` once the reader has committed: until then it
is not rendered, read out or found. Without scripts it is folded behind the question.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar
from xml.etree.ElementTree import Element, SubElement

from build_traces.answers import Answer, answer, shown_order
from build_traces.errors import FactError, NotRecordedError, unknown_name
from build_traces.exercises import Exercise, UnansweredError
from build_traces.markdown import exercise_book, solution
from build_traces.markdown.block import TraceBlock
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.exercise_book import ExerciseBook
from build_traces.markdown.html import append, element
from build_traces.markdown.passage import paragraphs, passage
from build_traces.stage_view import StageView

PREDICTIONS_PAGE = "predictions.md"
SHOWABLE = (
    "kernels",
    "ops",
    "timeline",
    "distribution",
    "roofline",
    "profile",
    "generated",
    "stagefacts",
    "ladder",
    "claim",
    "sweep",
)
"""The blocks that may stand by an explanation."""
NO_ANSWER = "The recording that this page shows has no answer to this question"


class Predict(TraceBlock):
    """One exercise; the argument is its id."""

    NAME = exercise_book.BLOCK
    ARGUMENT = None  # checked here
    OF_STAGES = False
    ELEMENT: ClassVar[str] = "guide-predict"

    def on_create(self, parent: Element) -> Element:
        """Called by pymdownx at the header."""
        return SubElement(parent, self.ELEMENT)

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The question, and what scripts need."""
        book: ExerciseBook = self.config["exercises"]
        if not self.argument:
            raise FactError("block 'predict' needs the id of an exercise", hint="write /// predict | eager-mlp-kernels")
        exercise = book.exercises.get(self.argument)
        if book.page_of(conversion.page) != exercise.page:
            message = f"exercise {exercise.id!r} ({exercise.place}) is of {exercise.page}, and this is another page"
            raise FactError(message, hint=f"show it there, or move it to the file of this page in {book.folder}")
        made = self._frame(conversion, exercise)
        try:
            self._ask(conversion, exercise, made)
        except NotRecordedError as error:
            append(made, conversion.not_recorded(error, "p"))
        except UnansweredError as error:
            if book.must_answer(conversion.facts):
                raise
            append(made, element("p", f"{NO_ANSWER}: {error.message}.", class_="unrecorded"))
        return made

    def _frame(self, conversion: Conversion, exercise: Exercise) -> Element:
        """The element with all that is known of an exercise without a recording."""
        made = element(self.ELEMENT, class_="predict", **described(exercise))
        name = anchor(exercise)
        made.attrib.update({"id": name, "role": "group", "aria-labelledby": f"{name}-label"})
        append(made, element("p", "Predict", class_="predict-label", id=f"{name}-label"))
        return made

    def _ask(self, conversion: Conversion, exercise: Exercise, made: Element) -> None:
        """Add the question, and the answer if there is one. Raises NotRecordedError and UnansweredError."""
        with telling(exercise):
            asked = paragraphs(exercise.asks, conversion, conversion.facts)
        name = anchor(exercise)
        append(made, element("div", *asked, class_="predict-asks", id=f"{name}-asks"))
        made.set("aria-labelledby", f"{name}-label {name}-asks")
        found = answer(exercise, conversion.facts)
        with telling(exercise):
            if exercise.parts:
                append(made, _choices(exercise, found, conversion))
            hidden = solution.solution(exercise, found, conversion, self._block(conversion, exercise))
            made.set("data-key", solution.key(exercise, found, conversion))
        append(made, _folded(hidden))
        page = conversion.options.docs / PREDICTIONS_PAGE
        if page.is_file():
            link = conversion.link(page, "All your predictions")
            append(made, element("p", link, class_="predict-all", hidden=""))

    def _block(self, conversion: Conversion, exercise: Exercise) -> Element | None:
        """The block that stands by the explanation. Raises BuildTracesError."""
        if not exercise.shows:
            return None
        name, _, argument = exercise.shows.partition(" | ")
        if name not in SHOWABLE:
            unknown_name("block to show with an explanation", name, list(SHOWABLE))
        block = self.config["blocks"][name](self.length, self.tracker, self._block_mgr, self.config)
        if not block._validate(Element("div"), argument.strip() or None):
            raise FactError(f"{exercise.shows!r} is no block", hint='write shows = "kernels | mlp_eager"')
        made: Element = block.render(conversion, block._stages(conversion))
        return made


@contextmanager
def telling(exercise: Exercise) -> Iterator[None]:
    """A fact that cannot be given inside is told with the place of the exercise, which may be sound elsewhere."""
    try:
        yield
    except FactError as error:
        raise exercise.unanswered(error.message, error.hint) from error


def anchor(exercise: Exercise) -> str:
    """The id of an exercise on its page."""
    return f"predict-{exercise.id}"


def described(exercise: Exercise) -> dict[str, str]:
    """The attributes by which scripts know an exercise, wherever it is named."""
    known = {
        "data_exercise": exercise.id,
        "data_kind": exercise.kind,
        "data_hash": exercise.hash,
        "data_unit": exercise.unit,
        "data_within": f"{exercise.within:g}" if exercise.within else "",
        "data_several": "true" if exercise.several else "",
        "data_parts": str(len(exercise.parts)) if exercise.parts else "",
    }
    return {name: value for name, value in known.items() if value}


def _choices(exercise: Exercise, found: Answer, conversion: Conversion) -> Element:
    """Options as they are written, or items in an order that is not the right one."""
    shown: Sequence[int] = range(len(exercise.option))
    if exercise.kind == "order":
        shown = shown_order(exercise, found.right)
    entries = [
        element(
            "li",
            passage("span", exercise.parts[position].text, conversion, conversion.facts),
            data_position=str(position),
        )
        for position in shown
    ]
    return element("ul", *entries, class_="predict-parts")


def _folded(hidden: Element) -> Element:
    """What is behind the question: for scripts until they need it, for readers without them in a `<details>`."""
    return element(
        "noscript",
        element("details", element("summary", "Answer"), hidden, class_="predict-more"),
        data_search_exclude="",
    )
