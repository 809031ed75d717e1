"""`/// generated | stage`: the code that Inductor wrote for a stage.

With the option `kernel: 3`, the Triton function of the step's third kernel and nothing else.
"""

import re
from typing import ClassVar
from xml.etree.ElementTree import Element

from pygments import lex
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound
from pymdownx.blocks.block import type_integer

from build_traces.errors import FactError, RecordingError
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element
from build_traces.recording import record_command
from build_traces.stage_view import StageView


class Generated(TraceBlock):
    """The kept artefacts of one stage, folded away; or one kernel of them, open."""

    NAME = "generated"
    SEARCHED = False
    OPTIONS: ClassVar[dict[str, list[object]]] = {"kernel": [0, type_integer]}

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A `<details>` an artefact."""
        (view,) = stages
        if number := self.options["kernel"]:
            return self._one_kernel(view, number)
        files = [
            element("details", element("summary", element("code", name)), highlighted(_read(view, name), name))
            for name in view.record.artefacts
        ]
        return figure_of(self.NAME, view, *(files or [element("p", "Inductor wrote no code for this stage.")]))

    def _one_kernel(self, view: StageView, number: int) -> Element:
        name = view.nth_kernel(number, None).name
        for artefact in view.record.artefacts:
            if code := function(_read(view, artefact), name):
                where = element("code", f"{view.stage.name}/{artefact}")
                return figure_of(self.NAME, view, highlighted(code, artefact), caption=("Recorded in ", where))
        raise FactError(
            f"the kept code of stage {view.stage.name} holds no Triton function {name}, its kernel {number}",
            hint=f"its artefacts are {', '.join(view.record.artefacts) or 'none'}",
        )


def function(code: str, name: str) -> str:
    """The Triton function of that name, from its decorator to its last line; "" if it is not there."""
    match = re.search(rf"^@triton\.jit\ndef {re.escape(name)}\(.*\n(?:[ \t].*\n|\n)*", code, re.MULTILINE)
    return match[0].rstrip() + "\n" if match else ""


def _read(view: StageView, name: str) -> str:
    stage = view.stage.name
    try:
        return view.recording.path(stage, name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = f"restore it with git checkout, or on a GPU machine: {record_command(stage)}"
        raise RecordingError(stage, f"its artefact {name} cannot be read: {error}", hint=hint) from error


def highlighted(code: str, filename: str) -> Element:
    """Code with the classes of Pygments' style sheets, as elements."""
    try:
        lexer = get_lexer_for_filename(filename)
    except ClassNotFound:
        lexer = TextLexer()
    inner = element("code", tabindex="0")
    for kind, text in lex(code, lexer):
        class_ = STANDARD_TYPES.get(kind, "")
        append(inner, element("span", text, class_=class_) if class_ else text)
    return element("div", element("pre", inner), class_="highlight")
