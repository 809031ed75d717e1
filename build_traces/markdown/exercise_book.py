"""Exercises as pages need them: read once, answered by the recording shown, and each on its chapter's page."""

from pathlib import Path
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from build_traces import exercises
from build_traces.errors import FactError
from build_traces.exercises import Exercise, Exercises
from build_traces.facts import Facts
from build_traces.markdown.conversion import Conversion, Options
from build_traces.markdown.page import Page
from build_traces.markdown.source import load_entries

BLOCK = "predict"
"""The name of the block that shows an exercise."""


class ExerciseBook:
    """The exercises of a folder; the first recording must have an answer to each."""

    def __init__(self, options: Options, folder: Path, first: str) -> None:
        self.options = options
        self.folder = folder
        self.first = first

    @property
    def exercises(self) -> Exercises:
        """Raises EntryError."""
        return load_entries(exercises.load, self.folder, self.options.docs)

    def must_answer(self, facts: Facts) -> bool:
        """Whether an exercise without an answer ends the build; one of another GPU may lack a kernel or a counter."""
        return facts.recording.name == self.first

    def page_of(self, page: Page) -> str:
        """A page's name from docs/, "" for a text that is no page."""
        return Path(page.label).relative_to(self.options.docs).as_posix() if page.is_page else ""


class HoldExercises(Treeprocessor):
    """Ends the build of a chapter that does not show each of its exercises once."""

    def __init__(self, md: Markdown, conversion: Conversion, book: ExerciseBook) -> None:
        super().__init__(md)
        self.conversion = conversion
        self.book = book

    def run(self, root: Element) -> None:
        """Called by Python-Markdown. Raises PageError."""
        if self.conversion.page.is_page:
            with self.conversion.at(0):
                mine = self.book.exercises.of_page(self.book.page_of(self.conversion.page))
            for exercise in mine:
                self._hold(exercise)

    def _hold(self, exercise: Exercise) -> None:
        key = (BLOCK, exercise.id)
        times = self.conversion.rendered[key]
        lines = [header.index for header in self.conversion.headers if header.key == key]
        with self.conversion.at(lines[1] if len(lines) > 1 else 0):
            if not times:
                message = f"exercise {exercise.id!r} ({exercise.place}) is not shown"
                raise FactError(message, hint=f"write /// {BLOCK} | {exercise.id} where the reader should guess")
            if times > 1:
                raise FactError(f"exercise {exercise.id!r} is shown {times} times", hint="leave all but one out")
