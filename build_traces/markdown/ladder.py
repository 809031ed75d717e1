"""`/// ladder` or `/// ladder | stages`: the stages as one computed table.

With the option `chapter: 3`, the rows that chapters 1 to 3 measure are filled; the later rungs are named. The page
is then chapter 3, and says so under its title.
"""

from typing import ClassVar
from xml.etree.ElementTree import Element

from pymdownx.blocks.block import type_integer

from build_traces.errors import FactError
from build_traces.ladder import Stage
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, missing, row, table, work_key
from build_traces.markdown.value import extremes
from build_traces.stage_view import StageView
from build_traces.work_kinds import WORDS

COLUMNS = ("Stage", "Kernels", "GPU µs", "Against", "In a loop, µs", "HBM, MB", "Of the ceiling", "Error")
COLD = "the wall-clock time of a first step is not compared with a GPU time"
COLD_LOOP = "a first step has no step before it"


class LadderTable(TraceBlock):
    """All stages, or those named, in the order given."""

    NAME = "ladder"
    SEARCHED = False
    ARGUMENT = None
    MANY = True
    OPTIONS: ClassVar[dict[str, list[object]]] = {"chapter": [0, type_integer]}

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A table, a stage a row."""
        chapter = self.options["chapter"]
        if chapter:
            conversion.chapter = chapter
            rows = self._climb(conversion, chapter, bool(stages))
        else:
            views = stages or tuple(conversion.facts.view(stage.name) for stage in conversion.facts.ladder.rungs)
            rows = [_row(conversion, view) for view in views]
        return figure_of(self.NAME, None, table("The ladder", COLUMNS, rows, class_="ladder"), _key())

    def _climb(self, conversion: Conversion, chapter: int, has_argument: bool) -> list[Element]:
        """The rungs by chapter: those measured so far, then what is to come."""
        rungs = sorted((s for s in conversion.facts.ladder.rungs if s.chapter), key=lambda stage: stage.chapter)
        last = max((stage.chapter for stage in rungs), default=0)
        if has_argument or not chapter >= 1:
            raise FactError(
                "option 'chapter' of block 'ladder' takes a chapter from 1 on, and no stages beside it",
                hint=f"write /// ladder, then chapter: 1 (rungs are measured up to chapter {last})",
            )
        return [
            _row(conversion, conversion.facts.view(stage.name)) if stage.chapter <= chapter else _to_come(stage)
            for stage in rungs
        ]


def _key() -> Element:
    """What the strips under the stages' names are made of."""
    line = element("p", class_="tl-legend")
    for kind in WORDS:
        append(line, work_key(kind))
        append(line, " ")
    return line


def _to_come(stage: Stage) -> Element:
    return row(
        element("th", stage.title, scope="row"),
        element("td", f"chapter {stage.chapter}", colspan=str(len(COLUMNS) - 1), class_="to-come"),
    )


def _row(conversion: Conversion, view: StageView) -> Element:
    name, cold = view.stage.name, view.stage.cold
    page = conversion.options.docs / "stages" / f"{name}.md"
    step = f".step{view.shown_step}" if cold else ""
    return row(
        element("th", conversion.link(page, view.stage.title), _mix(view), scope="row"),
        _measured(conversion, f"{name}{step}.kernel_count"),
        _time(conversion, f"{name}.time_us", "by the wall clock" if cold else ""),
        missing(COLD) if cold else _against(conversion, view),
        missing(COLD_LOOP) if cold else _time(conversion, f"{name}.back_to_back_us"),
        _measured(conversion, f"{name}.hbm_mb"),
        missing(COLD) if cold else element("td", conversion.fact(f"{name}.ceiling_share", ".1f"), " %"),
        conversion.fact(f"{name}.error"),
    )


def _mix(view: StageView) -> Element:
    """A strip as long as the cell: which kinds of work the GPU's time goes to."""
    spent = view.us_by_kind()
    total = sum(spent.values())
    shares = [(kind, 100 * spent[kind] / total) for kind in WORDS if kind in spent]
    said = ", ".join(f"{WORDS[kind]} {share:.0f} %" for kind, share in shares)
    parts = [element("i", class_=f"mix-part tl-key--{kind}", style=f"width: {share:.2f}%") for kind, share in shares]
    return element("span", *parts, class_="mix", role="img", aria_label=f"GPU time: {said}", title=said)


def _time(conversion: Conversion, path: str, remark: str = "") -> Element:
    cell = element("td", conversion.fact(path))
    spread = conversion.facts.get(path).spread
    if spread is not None:
        cell.extend([element("br"), extremes(spread, path=path)])
    if remark:
        cell.extend([element("br"), element("small", remark)])
    return cell


def _against(conversion: Conversion, view: StageView) -> Element:
    other = view.stage.against
    if other == view.stage.name:
        return missing("other stages are set against this one")
    title = conversion.facts.ladder.stage(other).title
    return element("td", conversion.fact(f"{view.stage.name}.speedup"), "× ", element("small", title))


def _measured(conversion: Conversion, path: str) -> Element:
    """The fact, or why this recording cannot give it."""
    try:
        return conversion.fact(path)
    except FactError as error:
        return missing(error.message)
