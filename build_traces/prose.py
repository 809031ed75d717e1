"""What a reader reads of a page's Markdown, line by line as in the file; for checks of the text.

Kept are paragraphs, headings, lists, tables, what stands in blocks, titles and alternative texts. Facts are
replaced by FACT; fences, code spans, comments, addresses and attributes are gone.
"""

import html
import re
from collections.abc import Callable

from build_traces.markdown.inline import FACT as FACT_PATTERN
from build_traces.markdown.preflight import outside_code

FACT = "\ue000"
"""Stands for `{{ … }}`; it is no word and no number."""

FACTS = re.compile(FACT_PATTERN)
UNREAD = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
READ_ATTRIBUTE = re.compile(r'\b(?:alt|title|aria-label|summary|content)\s*=\s*(["\'])(.*?)\1', re.DOTALL)
REFERENCE = re.compile(r"^[ ]{0,3}\[[^\]\n]+\]:[ \t]*\S+", re.MULTILINE)
LINK_TARGET = re.compile(r"\]\([ \t]*<?[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)?>?")
ADDRESS = re.compile(r"<?\bhttps?://[^\s<>()\[\]]+>?")
ATTRIBUTES = re.compile(r"\{:?[ ]*(?:[.#][\w-]|[\w-]+=)[^{}\n]*\}")
BLOCK_HEADER = re.compile(r"^[ \t>]*/{3,}[ ]*(?:[\w-]+[ ]*\|?)?", re.MULTILINE)
EMBED = re.compile(r"^[ \t>]*(?:;[ ]*)?-+8<-+.*$", re.MULTILINE)
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
EMPHASIS = re.compile(r"[*~]+|(?<!\w)_+|_+(?!\w)")

Replacement = Callable[[re.Match[str]], str]


def _attributes(tag: re.Match[str]) -> str:
    return " ".join(value for _, value in READ_ATTRIBUTE.findall(tag[0]))


STEPS: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (FACTS, lambda _: FACT),
    (UNREAD, lambda _: ""),
    (EMBED, lambda _: ""),
    (BLOCK_HEADER, lambda _: ""),
    (REFERENCE, lambda _: ""),
    (LINK_TARGET, lambda _: "]("),
    (ADDRESS, lambda _: ""),
    (TAG, _attributes),
    (ATTRIBUTES, lambda _: ""),
    (ESCAPE, lambda match: match[1]),
    (EMPHASIS, lambda _: ""),
)
"""In this order: what to find, and what is read instead."""


def prose(markdown: str) -> str:
    """The text as it is read, with as many lines as the Markdown has."""
    lines = markdown.split("\n")
    read = dict(outside_code(lines))
    text = "\n".join(read.get(index, "") for index in range(len(lines)))
    for pattern, replacement in STEPS:
        text = pattern.sub(_keeping_lines(replacement), text)
    return "\n".join(html.unescape(line) for line in text.split("\n"))


def _keeping_lines(replacement: Replacement) -> Replacement:
    def replace(match: re.Match[str]) -> str:
        made = replacement(match)
        return made + "\n" * (match[0].count("\n") - made.count("\n"))

    return replace
