"""`/// lessons`: what the exercises of this page teach, a line each, for its end."""

from xml.etree.ElementTree import Element

from build_traces.errors import FactError
from build_traces.exercises import Exercise
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.exercise_book import BLOCK, ExerciseBook
from build_traces.markdown.html import append, element
from build_traces.markdown.passage import passage
from build_traces.markdown.predict import anchor, telling
from build_traces.stage_view import StageView


class Lessons(TraceBlock):
    """Each links to the question that it answers."""

    NAME = "lessons"
    ARGUMENT = False

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A list, in the order of the page."""
        book: ExerciseBook = self.config["exercises"]
        mine = {exercise.id: exercise for exercise in book.exercises.of_page(book.page_of(conversion.page))}
        asked = [header.argument for header in conversion.headers if header.name == BLOCK]
        order = [mine[id_] for id_ in dict.fromkeys(asked) if id_ in mine]
        lessons = [_lesson(conversion, exercise, f"{n} of {len(order)}") for n, exercise in enumerate(order, start=1)]
        if not lessons:
            raise FactError("this page asks nothing, so it has no lessons", hint="leave the block out")
        return figure_of(self.NAME, None, element("ul", *lessons))


def _lesson(conversion: Conversion, exercise: Exercise, which: str) -> Element:
    with telling(exercise):
        made = passage("li", exercise.teaches, conversion, conversion.facts)
    append(made, " ")
    append(made, element("a", "↑", href=f"#{anchor(exercise)}", aria_label=f"Back to question {which}"))
    return made
