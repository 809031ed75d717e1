"""Text from a TOML entry: sentences with `code`, [links](https://…) and {{ facts }} of a given recording."""

import re
from xml.etree.ElementTree import Element

from build_traces.errors import FactError
from build_traces.expressions import evaluate, one_line
from build_traces.facts import Facts
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, wrapping
from build_traces.markdown.inline import FACT, expression_element, is_path, split
from build_traces.markdown.value import fact_element

PIECES = re.compile(rf"`(?P<code>[^`]+)`|\[(?P<label>[^\]]+)\]\((?P<target>[^()\s]+)\)|{FACT}")
FACT_GROUP = 4
IDENTIFIER = re.compile(r"[A-Za-z_][\w:<>]*")
"""A name of a kernel or of a call: no word of a sentence."""


def sentence(tag: str, text: str, conversion: Conversion, facts: Facts, **attributes: str) -> Element:
    """An element with this text in it. Raises FactError and RecordingError for a fact, FactError for a link."""
    made = element(tag, **attributes)
    end = 0
    for match in PIECES.finditer(text):
        append(made, _plain(text[end : match.start()]))
        append(made, _piece(match, conversion, facts))
        end = match.end()
    append(made, _plain(text[end:]))
    return made


def _plain(text: str) -> str:
    if "{{" in text:
        raise FactError(f"a fact in it is not closed: {text!r}", hint="write {{ mlp_eager.kernel_count }}")
    return text


def _piece(match: re.Match[str], conversion: Conversion, facts: Facts) -> Element:
    if match["code"] is not None:
        return wrapping(match["code"])
    if match["target"] is not None:
        return _link(conversion, match["target"], match["label"])
    written, spec = split(one_line(match[FACT_GROUP]))
    if is_path(written):
        fact = facts.get(written)
        made = fact_element(fact, spec)
        return element("code", made) if IDENTIFIER.fullmatch(str(fact.value)) else made
    return expression_element(evaluate(written, facts), spec)


def _link(conversion: Conversion, target: str, label: str) -> Element:
    """A link to the web, or to a page as it is named from docs/."""
    content = [wrapping(piece) if n % 2 else piece for n, piece in enumerate(label.split("`")) if piece]
    if target.startswith("https://"):
        return element("a", *content, href=target)
    name, _, anchor = target.partition("#")
    page = conversion.options.docs / name
    if not page.is_file():
        raise FactError(f"there is no page {page} to link to", hint="name it from docs/, as in stages/mlp_eager.md")
    link = conversion.link(page, *content)
    if anchor and link.tag == "a":
        link.set("href", f"{link.get('href')}#{anchor}")
    return link
