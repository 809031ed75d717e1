"""`{{ path:spec }}` and `{{ EXPRESSION :spec }}` in the text of a page, but not in code."""

import re
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.inlinepatterns import InlineProcessor

from build_traces.expressions import ExpressionError, Value, evaluate, one_line
from build_traces.facts import Fact
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import element, seal
from build_traces.markdown.value import given, shown

FACT = r"\{\{\s*((?:[^{}]|\{[^{}\n]*\})+?)\s*\}\}"
SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%]?")
"""Python's format specification; what follows a colon in a kernel's or an op's name rarely is one."""
PATH = re.compile(r"[A-Za-z_]\w*(?:\.[^{}]*)?")
OPERATOR = re.compile(r" (?:[-+*/%<>]|\*\*|//|[=!<>]=) ")
"""Between spaces none of them is in the name of an op or of a kernel's field."""


def split(written: str) -> tuple[str, str]:
    """`mlp_eager.gpu_us:.0f` → path and format; `mlp_eager.op_count.aten::t` is all path."""
    path, colon, spec = written.rpartition(":")
    if not colon or path.endswith(":") or not spec or not SPEC.fullmatch(spec):
        return written, ""
    return path.rstrip(), spec


def is_path(written: str) -> bool:
    """Whether this names one fact; anything else is an expression."""
    return bool(PATH.fullmatch(written)) and not OPERATOR.search(written)


class FactPattern(InlineProcessor):
    """Replaces a path or an expression in double braces by its value."""

    def __init__(self, md: Markdown, conversion: Conversion) -> None:
        super().__init__(FACT, md)
        self.conversion = conversion

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # as Python-Markdown calls it
        """Called by Python-Markdown. Raises PageError."""
        written, spec = split(one_line(m[1]))
        with self.conversion.at(self.conversion.index_of(m[0].partition("\n")[0])):
            built = self.conversion.fact(written, spec) if is_path(written) else self._expression(written, spec)
        shell = Element(built.tag)
        seal(built, shell, self.conversion.md.htmlStash.store)
        return shell, m.start(0), m.end(0)

    def _expression(self, written: str, spec: str) -> Element:
        return self.conversion.in_text(lambda: expression_element(evaluate(written, self.conversion.facts), spec))


def expression_element(value: Value, spec: str = "") -> Element:
    """An expression in the text, with its facts and their stamp on hover; one without facts is no fact itself."""
    if isinstance(value.value, bool) or value.value == "":
        hint = 'write "yes" if … else "no", or make it a claim'
        raise ExpressionError(value.written, f"it comes to {value.value!r}, which is nothing to read", hint=hint)
    return element(
        "data",
        shown(value.value, spec),
        class_="fact" if value.facts else "computed",
        data_expression=value.written,
        value=str(value.value),
        title=_title(value),
        **given(data_format=spec),
    )


def _title(value: Value) -> str:
    if not value.facts:
        return f"= {value.written}"
    stamps = dict.fromkeys(fact.stamp for fact in value.facts)
    return f"{', '.join(map(_said, value.facts))} · {'; '.join(stamps)}"


def _said(fact: Fact) -> str:
    """`mlp_eager.gpu_us = 242 µs`."""
    return f"{fact.path} = {shown(fact.value)} {fact.unit}".rstrip()
