"""`/// kernel-names`: the families of kernel names, and what is documented of each."""

from xml.etree.ElementTree import Element

from build_traces.kernel_names import FAMILIES, Family
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import element, row, source_link, table, wrapping
from build_traces.stage_view import StageView

COLUMNS = ("Family", "Maker", "Example", "What is documented")


class KernelNames(TraceBlock):
    """The reference table of families; it needs no recording."""

    NAME = "kernel-names"
    ARGUMENT = False

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A table, a family a row."""
        rows = [_row(family) for family in FAMILIES.values()]
        return figure_of(self.NAME, None, table("Families of kernel names", COLUMNS, rows, class_="kernel-names"))


def _row(family: Family) -> Element:
    documented = element("td", family.documented)
    if family.source is not None:
        documented.extend([element("br"), source_link("source", family.source)])
    key = element("th", element("code", family.key), scope="row")
    return row(key, family.maker, wrapping(family.example), documented)
