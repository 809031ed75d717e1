"""`/// generated | stage`: the code that Inductor wrote for a stage."""

from xml.etree.ElementTree import Element

from pygments import lex
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from build_traces.errors import RecordingError
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element
from build_traces.recording import record_command
from build_traces.stage_view import StageView


class Generated(TraceBlock):
    """The kept artefacts of one stage, folded away."""

    NAME = "generated"

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A `<details>` an artefact."""
        (view,) = stages
        files = [
            element("details", element("summary", element("code", name)), highlighted(_read(view, name), name))
            for name in view.record.artefacts
        ]
        return figure_of(self.NAME, view, *(files or [element("p", "Inductor wrote no code for this stage.")]))


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
