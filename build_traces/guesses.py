"""The guesses of a lab's reader, each judged by what the reader's own trace holds.

For the labs (docs/labs), which print a verdict behind each profile; needs neither torch nor a GPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from build_traces.errors import BuildTracesError

Value = int | float | str

NO_GUESS = "none yet: set it above, then run both cells again"


class GuessError(BuildTracesError):
    """For the reader of a lab: a guess that nothing could be right or wrong about."""


@dataclass(frozen=True)
class Verdict:
    """A guess beside what was measured; `right` is None where no guess was made."""

    question: str
    guess: Value | None
    measured: Value
    right: bool | None
    said: str
    unit: str = ""
    judge: str = "your trace"
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [
            ("your guess", NO_GUESS if self.guess is None else shown(self.guess, self.unit)),
            (self.judge, shown(self.measured, self.unit)),
            ("verdict", self.said),
        ]
        width = max(len(name) for name, _ in rows)
        lines = [self.question, *(f"  {name:{width}}   {value}" for name, value in rows if value)]
        return "\n".join([*lines, *([""] if self.evidence else []), *(f"  {line}" for line in self.evidence)])


def check(
    question: str,
    guess: Value | None,
    measured: Value,
    *,
    unit: str = "",
    within: float | None = None,
    options: Sequence[str] = (),
    judge: str = "your trace",
    evidence: Sequence[str] = (),
) -> Verdict:
    """Judge a guess by what was measured.

    A number is right if it is equal or, with `within`, if it is off by no more than that factor; a word must be
    one of `options`. `evidence` is what to look at, a line each. Raises GuessError for a guess of another kind.
    """
    if guess is None:
        right, said = None, ""
    elif isinstance(measured, str):
        right, said = _word(guess, measured, options)
    else:
        right, said = _number(guess, measured, within)
    return Verdict(question, guess, measured, right, said, unit, judge, tuple(evidence))


def _word(guess: Value, measured: str, options: Sequence[str]) -> tuple[bool, str]:
    if guess not in options:
        raise GuessError(f"{guess!r} cannot be judged", hint=f"write one of {', '.join(map(repr, options))}")
    return guess == measured, "right" if guess == measured else "not right"


def _number(guess: Value, measured: float, within: float | None) -> tuple[bool, str]:
    if isinstance(guess, bool | str):
        raise GuessError(f"{guess!r} is no number", hint="write the guess as a number, without quotes")
    if within is None or guess == measured or min(guess, measured) <= 0:
        return guess == measured, "right" if guess == measured else "not right"
    ratio = guess / measured
    off = f"{shown(max(ratio, 1 / ratio))} times too {'high' if ratio > 1 else 'low'}"
    if max(ratio, 1 / ratio) <= within:
        return True, f"right: within a factor of {within:g}"
    return False, f"not right: {off}"


def shown(value: Value, unit: str = "") -> str:
    """A value as a reader writes it: three significant digits, or all of them before the point."""
    if isinstance(value, float):
        decimals = next((d for d, limit in enumerate((100, 10, 1)) if abs(value) >= limit), 3)
        value = f"{value:,.{decimals}f}"
    elif isinstance(value, int):
        value = f"{value:,}"
    return f"{value} {unit}" if unit else value
