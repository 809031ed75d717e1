"""`/// measures | stages` with `facts: error peak_mb`: chosen facts of several stages, a stage a row."""

from typing import ClassVar
from xml.etree.ElementTree import Element

from pymdownx.blocks.block import type_string

from build_traces.errors import FactError, unknown_name
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import element, missing, row, table
from build_traces.markdown.stagefacts import MEASURED
from build_traces.markdown.value import extremes
from build_traces.stage_view import StageView
from build_traces.vocabulary import STAGE_FACTS

TERMS = {name: term for term, name in MEASURED} | {
    "ceiling_share": "Of the ceiling",
    "intensity": "Operations a byte",
    "pays_off_after": "Paid back after",
    "processes": "Processes",
    "tflops": "GEMM rate",
    "within_us": "Within a process",
}


class Measures(TraceBlock):
    """A table of facts by stage."""

    NAME = "measures"
    MANY = True
    OPTIONS: ClassVar[dict[str, list[object]]] = {"facts": ["", type_string]}

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A row a stage; where a stage cannot give a fact, the cell says why."""
        names = self.options["facts"].split()
        if not names:
            raise FactError("block 'measures' needs facts", hint="write, indented under it, facts: time_us error")
        for name in names:
            if name not in TERMS:
                unknown_name("fact with a heading in this table", name, list(TERMS))
        return figure_of(self.NAME, None, measures_table(conversion, stages, names))


def measures_table(conversion: Conversion, stages: tuple[StageView, ...], names: list[str]) -> Element:
    """Facts named in TERMS, a column each; a row a stage."""
    rows = [_row(conversion, view, names) for view in stages]
    return table("Measured", ("Stage", *map(_heading, names)), rows, class_="measures")


def _heading(name: str) -> str:
    unit = STAGE_FACTS[name].unit
    return f"{TERMS[name]}, {unit}" if unit else TERMS[name]


def _row(conversion: Conversion, view: StageView, names: list[str]) -> Element:
    page = conversion.options.docs / "stages" / f"{view.stage.name}.md"
    head = element("th", conversion.link(page, view.stage.title), scope="row")
    return row(head, *(_cell(conversion, f"{view.stage.name}.{name}") for name in names))


def _cell(conversion: Conversion, path: str) -> Element:
    try:
        fact = conversion.facts.get(path)
    except FactError as error:
        return missing(error.message)
    cell = element("td", conversion.value(fact))
    if fact.spread is not None and fact.spread.low != fact.spread.high:
        cell.extend([element("br"), extremes(fact.spread, path=path)])
    return cell
