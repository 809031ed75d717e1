"""Find in what a reader reads what this guide does not write: `python -m build_traces.prose_rules`, exit 1 if any.

A rule is a row of RULES. Spelling is codespell's matter, Markdown rumdl's, typed measurements are typed_numbers'.
Of the prose linters, proselint 0.16.0 was tried: it takes TOML, blocks and code for prose, and its configuration does
not switch off what that finds.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from build_traces.errors import BuildTracesError, PageError
from build_traces.prose import prose
from build_traces.typed_numbers import CLAIMS, EXERCISES, claim_passages, exercise_passages

PAGES = ("*.md", ".github/**/*.md", "docs/*.md", "docs/chapters/*.md", "docs/reference/*.md", "docs/stages/*.md")

RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"\b([a-z]{2,})[ \n]\1\b", "write the word once"),
        (r"\w!(?!\w)", "end the sentence with a period"),
        (r"\b[a-z]{3,}ly-(?=[a-z])(?<!only-)(?<!early-)(?<!multiply-)(?<!family-)", "an adverb in -ly takes no hyphen"),
        (r"\b(?:utili[sz]|leverag)(?:e|es|ed|ing)\b", "write use"),
        (r"\b(?:seamless|effortless|blazing|lightning.fast)(?:ly)?\b", "say what it measures, or leave it out"),
        (
            r"\b(?:simply|obviously|basically|of course|needless to say)\b",
            "leave it out: it is not simple to each reader",
        ),
        (r"\b(?:delve|dive|deep.dive)s?(?: deep(?:er)?)? in(?:to)?\b", "write read, or look at"),
        (r"\b(?:powerful|cutting.edge|state.of.the.art|game.changing|revolutionary)\b", "say what it does"),
        (r"\bin order to\b", "write to"),
        (r"\b(?:it is (?:important|worth) (?:to note|noting) that)\b", "say it"),
        (r"\bperformant\b", "write fast"),
    )
)
"""What is found in any case of its letters, and what to do about it."""


def check(root: Path) -> list[PageError]:
    """Every place of the texts under `root` that a rule finds."""
    return [
        PageError(name, line + read.count("\n", 0, match.start()), " ".join(match[0].split()), hint=instead)
        for name, line, read in _texts(root)
        for pattern, instead in RULES
        for match in pattern.finditer(read)
    ]


def _texts(root: Path) -> Iterator[tuple[str, int, str]]:
    """The name of a file, the line on which a text of it begins, and the text."""
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            yield path.relative_to(root).as_posix(), 1, prose(path.read_text(encoding="utf-8"))
    for path in sorted(root.glob(CLAIMS)):
        for passage in claim_passages(path.read_text(encoding="utf-8"), quoted=False):
            yield path.relative_to(root).as_posix(), passage.line, passage.read
    for path in sorted(root.glob(EXERCISES)):
        for passage in exercise_passages(path):
            yield path.relative_to(root).as_posix(), passage.line, passage.read


def main() -> None:
    """Print what was found; exit 1 if anything."""
    try:
        problems = check(Path())
    except BuildTracesError as error:
        sys.exit(f"error: {error}")
    for problem in problems:
        print(problem)
    if problems:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
