"""The answers of exercises: what a recording says is right, and in which order items are shown."""

import hashlib
from dataclasses import dataclass
from itertools import pairwise

from build_traces import expressions
from build_traces.entries import check_names
from build_traces.errors import BuildTracesError, FactError
from build_traces.exercises import Exercise
from build_traces.expressions import Value
from build_traces.facts import Facts


@dataclass(frozen=True)
class Answer:
    """What a recording says is right.

    `value` of a count or number. `parts` has the value of each option's `when` or each item's `at`; `right` the
    positions, from 0, of the options that hold, or of the items in their right order.
    """

    value: Value | None = None
    parts: tuple[Value, ...] = ()
    right: tuple[int, ...] = ()

    @property
    def number(self) -> float:
        """The value of a count or number."""
        assert self.value is not None
        return float(self.value.value)


def answer(exercise: Exercise, facts: Facts) -> Answer:
    """The answer by the recording that these are the facts of.

    Raises EntryError for names that no recording has, UnansweredError where this one has no answer, and
    NotRecordedError for a stage that it lacks.
    """
    return ANSWERED[exercise.kind](exercise, facts)


def _evaluate(exercise: Exercise, written: str, facts: Facts, part: int | None = None) -> Value:
    try:
        check_names(expressions.paths(written), facts.ladder)
    except BuildTracesError as error:
        raise exercise.refusal(error, part) from error
    try:
        return expressions.evaluate(written, facts)
    except FactError as error:
        raise exercise.unanswered(error.message, error.hint, part) from error


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(exercise: Exercise, facts: Facts) -> Answer:
    result = _evaluate(exercise, exercise.answer, facts)
    if not _is_number(result.value) or float(result.value) != int(float(result.value)) or float(result.value) < 0:
        message = f"its answer is {result.value!r}, and a count is a whole number"
        raise exercise.unanswered(message, 'write kind = "number" and within = 1.5, or round() it')
    return Answer(result)


def _number(exercise: Exercise, facts: Facts) -> Answer:
    result = _evaluate(exercise, exercise.answer, facts)
    if not _is_number(result.value) or float(result.value) <= 0:
        message = f"its answer is {result.value!r}, and a number is judged by ratio: it must be above 0"
        raise exercise.unanswered(message, 'ask for something else, or write kind = "count"')
    return Answer(result)


def _choice(exercise: Exercise, facts: Facts) -> Answer:
    results = tuple(_evaluate(exercise, option.when, facts, n) for n, option in enumerate(exercise.option))
    for position, result in enumerate(results):
        if not isinstance(result.value, bool):
            message = f"option {position + 1} is right when {result.value!r}, which is neither true nor false"
            raise exercise.unanswered(message, "compare it with something, as in {…} == 5", position)
    right = tuple(position for position, result in enumerate(results) if result.value)
    numbers = " and ".join(str(position + 1) for position in right) or "none"
    if exercise.several and not 0 < len(right) < len(results):
        message = f"of its options {numbers if right else 'none'} hold: at least one must, and not all"
        raise exercise.unanswered(message, "correct what stands in when, or change the options")
    if not exercise.several and len(right) != 1:
        message = f"exactly one option must hold, and {numbers} of {len(results)} does"
        if right:
            message = f"exactly one option must hold, and options {numbers} do"
        raise exercise.unanswered(message, "correct what stands in when, or write several = true")
    return Answer(parts=results, right=right)


def _order(exercise: Exercise, facts: Facts) -> Answer:
    results = tuple(_evaluate(exercise, item.at, facts, n) for n, item in enumerate(exercise.item))
    for position, result in enumerate(results):
        if not _is_number(result.value):
            message = f"item {position + 1} is at {result.value!r}, which is no number"
            raise exercise.unanswered(message, "write an expression that comes to a number", position)
    right = tuple(sorted(range(len(results)), key=lambda n: float(results[n].value)))
    for first, second in pairwise(right):
        if results[first].value == results[second].value:
            message = f"items {first + 1} and {second + 1} are both at {results[first].value!r}: neither is first"
            raise exercise.unanswered(message, "ask for things that can be told apart", second)
    return Answer(parts=results, right=right)


ANSWERED = {"count": _count, "number": _number, "choice": _choice, "order": _order}


def shown_order(exercise: Exercise, right: tuple[int, ...]) -> tuple[int, ...]:
    """The order in which items are shown: one that their text shuffles, and never the right one."""

    def place(position: int) -> str:
        return hashlib.sha256(f"{exercise.hash} {position}".encode()).hexdigest()

    shuffled = tuple(sorted(range(len(exercise.item)), key=place))
    return shuffled if shuffled != right else (*shuffled[1:], shuffled[0])
