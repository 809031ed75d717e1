"""Longer text from a TOML entry: paragraphs of sentences, with *emphasis*."""

import re
from xml.etree.ElementTree import Element

from build_traces.facts import Facts
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element
from build_traces.markdown.inline import FACT
from build_traces.markdown.sentence import sentence

PIECES = re.compile(
    rf"`[^`]+`|\[[^\]]+\]\([^()\s]+\)|{FACT}|(?<!\*)\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?!\*)", re.DOTALL
)
"""What a sentence is made of, so that no star in code or in an expression is taken for emphasis."""
BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")


def passage(tag: str, text: str, conversion: Conversion, facts: Facts, **attributes: str) -> Element:
    """An element with this text, with emphasis. Raises as `sentence`."""
    made, end = element(tag, **attributes), 0
    for match in PIECES.finditer(text):
        if match["emphasis"] is not None:
            _move(sentence(tag, text[end : match.start()], conversion, facts), made)
            append(made, sentence("em", match["emphasis"], conversion, facts))
            end = match.end()
    _move(sentence(tag, text[end:], conversion, facts), made)
    return made


def paragraphs(text: str, conversion: Conversion, facts: Facts) -> list[Element]:
    """A `<p>` for each paragraph; a blank line stands between two."""
    return [passage("p", piece, conversion, facts) for piece in BLANK_LINE.split(text.strip())]


def _move(source: Element, target: Element) -> None:
    """Everything in one element, behind what is in another."""
    append(target, source.text or "")
    for child in source:
        target.append(child)


def plain(made: Element) -> str:
    """An element's text on one line."""
    return " ".join("".join(made.itertext()).split())
