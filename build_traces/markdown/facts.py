"""`/// facts` or `/// facts | stage`: the vocabulary as reference tables, with values of one stage."""

from xml.etree.ElementTree import Element

from build_traces.errors import FactError, NotRecordedError
from build_traces.facts import CALL_FIELDS, KERNEL_FIELDS, RECORDING_FACTS, STAGE_FACTS, SWEEP_FACTS
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, missing, row, table, wrapping
from build_traces.stage_view import StageView

EXAMPLE_STAGE = "mlp_eager"
COLUMNS = ("Path", "Unit", "What it is", "Example")


class FactTables(TraceBlock):
    """Every fact of a stage, of a kernel, of a sweep and its calls, and of the recording."""

    NAME = "facts"
    ARGUMENT = None

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A table of each, made from the vocabulary itself."""
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
            *_of_sweeps(conversion),
            table("Facts of the recording", COLUMNS, of_recording, class_="facts"),
        )


def _of_sweeps(conversion: Conversion) -> list[Element]:
    """The tables of a ladder that has sweeps; their examples are of the first one, and of the first of its calls."""
    sweeps = conversion.facts.ladder.sweeps
    if not sweeps:
        return []
    name, call = sweeps[0].name, _first_call(conversion, sweeps[0].name)
    of_sweep = [
        _row(conversion, f"<sweep>.{fact}{'.<call>.<field>' if d.key else ''}", d.unit, d.about, f"{name}.{fact}")
        for fact, d in SWEEP_FACTS.items()
    ]
    of_call = [
        _row(conversion, f"<sweep>.call.<call>.{field}", d.unit, d.about, f"{name}.call.{call}.{field}")
        for field, d in CALL_FIELDS.items()
    ]
    return [
        table("Facts of a sweep", COLUMNS, of_sweep, class_="facts"),
        table("Facts of a call of a sweep", COLUMNS, of_call, class_="facts"),
    ]


def _first_call(conversion: Conversion, sweep: str) -> str:
    try:
        return conversion.facts.sweep(sweep).calls[0]
    except NotRecordedError:
        return "1"


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
        value: Element = conversion.value(conversion.facts.get(example))
    except (FactError, NotRecordedError) as error:
        value = missing(error.message)
    return row(wrapping(path), unit, _prose(about), value)


def _prose(text: str) -> Element:
    """A sentence of the vocabulary, with what stands between backticks as code."""
    cell = element("td")
    for position, piece in enumerate(text.split("`")):
        append(cell, element("code", piece) if position % 2 else piece)
    return cell
