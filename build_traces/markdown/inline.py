"""`{{ path }}` and `{{ path:spec }}` in the text of a page, but not in code."""

import re
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.inlinepatterns import InlineProcessor

from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import seal

FACT = r"\{\{[ \t]*([^{}\n]+?)[ \t]*\}\}"
SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%]?")
"""Python's format specification; what follows a colon in a kernel's or an op's name rarely is one."""


def split(written: str) -> tuple[str, str]:
    """`mlp_eager.gpu_us:.0f` → path and format; `mlp_eager.op_count.aten::t` is all path."""
    path, colon, spec = written.rpartition(":")
    if not colon or path.endswith(":") or not spec or not SPEC.fullmatch(spec):
        return written, ""
    return path.rstrip(), spec


class FactPattern(InlineProcessor):
    """Replaces a path in double braces by its fact."""

    def __init__(self, md: Markdown, conversion: Conversion) -> None:
        super().__init__(FACT, md)
        self.conversion = conversion

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # as Python-Markdown calls it
        """Called by Python-Markdown. Raises PageError."""
        path, spec = split(m[1])
        with self.conversion.at(self.conversion.index_of(m[0])):
            built = self.conversion.fact(path, spec)
        shell = Element("data")
        seal(built, shell, self.conversion.md.htmlStash.store)
        return shell, m.start(0), m.end(0)
