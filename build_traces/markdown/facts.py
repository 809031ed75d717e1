"""`/// facts` or `/// facts | stage`: the vocabulary as reference tables, with values of one stage."""

from xml.etree.ElementTree import Element

from build_traces.errors import FactError
from build_traces.facts import KERNEL_FIELDS, RECORDING_FACTS, STAGE_FACTS
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, missing, row, table, wrapping
from build_traces.stage_view import StageView

EXAMPLE_STAGE = "mlp_eager"
COLUMNS = ("Path", "Unit", "What it is", "Example")


class FactTables(TraceBlock):
    """Every fact of a stage, of a kernel and of the recording."""

    NAME = "facts"
    ARGUMENT = None

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """Three tables, made from the vocabulary itself."""
        view = stages[0] if stages else conversion.facts.view(EXAMPLE_STAGE)
        stage = view.stage.name
        of_stage = [
            _row(conversion, f"<stage>.{name}{_key(d.key)}", d.unit, d.about, f"{stage}.{name}{_a_key(view, d.key)}")
            for name, d in STAGE_FACTS.items()
        ]
        of_kernel = [
            _row(conversion, f"<stage>.kernel.<n>.{name}", f.unit, f.about, f"{stage}.kernel.1.{name}")
            for name, f in KERNEL_FIELDS.items()
        ]
        of_recording = [
            _row(conversion, f"recording.{name}", d.unit, d.about, f"recording.{name}")
            for name, d in RECORDING_FACTS.items()
        ]
        return figure_of(
            self.NAME,
            view,
            table("Facts of a stage", COLUMNS, of_stage, class_="facts"),
            table("Facts of a kernel", COLUMNS, of_kernel, class_="facts"),
            table("Facts of the recording", COLUMNS, of_recording, class_="facts"),
        )


def _key(key: str) -> str:
    """`[call]` → `[.<call>]`, `call` → `.<call>`."""
    if not key:
        return ""
    return f"[.<{key.strip('[]')}>]" if key.startswith("[") else f".<{key}>".replace("<n.field>", "<n>.<field>")


def _a_key(view: StageView, key: str) -> str:
    """A key this stage has, for the facts that need one."""
    if key == "n.field":
        return ".1.short"
    if key and not key.startswith("["):
        return f".{next(iter(view.launches_by_name()), 'cudaLaunchKernel')}"
    return ""


def _row(conversion: Conversion, path: str, unit: str, about: str, example: str) -> Element:
    try:
        value: Element = conversion.fact(example)
    except FactError as error:
        value = missing(error.message)
    return row(wrapping(path), unit, _prose(about), value)


def _prose(text: str) -> Element:
    """A sentence of the vocabulary, with what stands between backticks as code."""
    cell = element("td")
    for position, piece in enumerate(text.split("`")):
        append(cell, element("code", piece) if position % 2 else piece)
    return cell
