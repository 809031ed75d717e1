"""`/// kernels | stage`: the kernels of a step, what their names say, and how long they take.

Where the steps of a stage run different kernels, one step is shown: the one that pictures show, or
that of the option `step: 3`.
"""

from collections.abc import Sequence
from typing import ClassVar
from xml.etree.ElementTree import Element

from build_traces.kernel_names import KernelName, Part, decode
from build_traces.markdown.block import STEP_OPTION, TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, missing, row, source_link, table, work_key, wrapping
from build_traces.markdown.value import extremes, shown
from build_traces.query import MB
from build_traces.recording import KernelBytes
from build_traces.stage_view import StageView, WorkRow
from build_traces.trace import ActivityKind
from build_traces.work_kinds import work_kind

COLUMNS = ("#", "Kernel", "What the name says", "A step", "µs each", "Grid × block")
HBM_COLUMN = "HBM read / write, MB"
MOST_RUNS = 5
BESIDE: dict[ActivityKind, tuple[str, str]] = {"memset": ("memset", "memsets"), "memcpy": ("memcpy", "memcpys")}


class Kernels(TraceBlock):
    """The kernel list of one stage, equal launches in one row."""

    NAME = "kernels"
    OPTIONS: ClassVar[dict[str, list[object]]] = STEP_OPTION

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A table, and a line about memsets and memcpys."""
        (view,) = stages
        step = view.chosen_step or (view.shown_step if view.steps_differ else None)
        with_hbm = view.record.hbm is not None
        rows = [_Row(conversion, view, work, step).html() for work in view.work_rows(("kernel",), step)]
        columns = (*COLUMNS, HBM_COLUMN) if with_hbm else COLUMNS
        of_step = f", step {step} of {len(view.trace.steps)}" if step else ""
        name = f"Kernels of {view.stage.name}{of_step}"
        content = [table(name, columns, rows, class_="kernels"), _beside(view, step)]
        if not with_hbm:
            content.append(element("p", f"HBM bytes were not measured: {view.hbm_missing}.", class_="missing"))
        figure = figure_of(self.NAME, view, *content, caption=(f"{name}.",) if step else ())
        if step:
            figure.set("data-step", str(step))
        return figure


class _Row:
    """One row; its cells are facts where a path leads to exactly this value."""

    def __init__(self, conversion: Conversion, view: StageView, work: WorkRow, step: int | None) -> None:
        self.conversion = conversion
        self.view = view
        self.work = work
        self.step = step
        self.numbers = _numbers(view, work, step)

    def html(self) -> Element:
        """The `<tr>`."""
        decoded = decode(self.work.name)
        cells = [
            element("td", in_ranges(self.numbers)),
            _name_cell(decoded),
            element("td", work_key(work_kind("kernel", self.work.name)), " ", decoded.summary),
            element("td", shown(self.work.count)),
            self._time_cell(),
            self._launch_cell(),
        ]
        if self.work.hbm is not None:
            cells.append(self._hbm_cell(self.work.hbm))
        return row(*cells)

    def _time_cell(self) -> Element:
        us = self.work.us
        if us is None:
            return missing("no process ran it in any profiled step")
        cell = element("td", self._or_fact("us", shown(us.median)), element("br"), extremes(us))
        processes = len(self.view.record.processes)
        if self.work.draws < processes:
            append(cell, element("br"))
            append(cell, element("small", f"{self.work.draws} of {processes} processes", class_="draws"))
        return cell

    def _launch_cell(self) -> Element:
        grid, block = _dims(self.work.grid), _dims(self.work.block)
        grid_cell, block_cell = self._or_fact("grid", grid), self._or_fact("block", block)
        return element("td", "(", grid_cell, ") × ", element("br"), "(", block_cell, ")")

    def _hbm_cell(self, hbm: KernelBytes) -> Element:
        read, write = shown(hbm.read_bytes / MB), shown(hbm.write_bytes / MB)
        return element("td", self._or_fact("hbm_read_mb", read), " / ", self._or_fact("hbm_write_mb", write))

    def _or_fact(self, field: str, text: str) -> Element | str:
        """The fact of the row's only kernel if it reads the same; else the text."""
        if self.work.count > 1:
            return text
        of_step = f".step{self.step}" if self.step else ""
        fact = self.conversion.facts.get(f"{self.view.stage.name}{of_step}.kernel.{self.numbers[0]}.{field}")
        if shown(fact.value) != text or (fact.spread is not None and fact.spread != self.work.us):
            return text
        return self.conversion.value(fact)


def _numbers(view: StageView, work: WorkRow, step: int | None) -> list[int]:
    """Which kernels of a step are in this row, from 1 in the order they run."""
    same = (work.name, work.grid, work.block)
    kernels = view.kernel_launches(step)
    return [n for n, w in enumerate(kernels, start=1) if (w.name, w.grid, w.block) == same]


def in_ranges(numbers: Sequence[int]) -> str:
    """`1, 3` and `1, 3–5, 9`, from numbers that rise; of many runs the first four and how many more there are."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [
        f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run))
        for run in (runs if len(runs) <= MOST_RUNS else runs[: MOST_RUNS - 1])
    ]
    if len(runs) > MOST_RUNS:
        said.append(f"and {sum(map(len, runs[MOST_RUNS - 1 :]))} more")
    return ", ".join(said)


def _name_cell(decoded: KernelName) -> Element:
    cell = element("td", wrapping(decoded.name))
    if decoded.parts:
        entries = [entry for part in decoded.parts for entry in _part(part)]
        append(cell, element("details", element("summary", "its parts"), element("dl", *entries)))
    return cell


def _part(part: Part) -> tuple[Element, Element]:
    term = element("dt", wrapping(part.text))
    if part.meaning is None or part.source is None:
        return term, element("dd", "not documented", class_="unknown")
    return term, element("dd", part.meaning, " (", source_link("source", part.source), ")")


def _dims(dims: Sequence[int]) -> str:
    return " × ".join(map(str, dims))


def _beside(view: StageView, step: int | None) -> Element:
    """`Beside the kernels: 2 memsets, 0.736 µs each.`"""
    said = []
    for kind, (one, many) in BESIDE.items():
        for work in view.work_rows((kind,), step):
            each = " each" if work.count > 1 else ""
            name = "" if kind == "memset" else f" ({work.name})"
            took = f", {shown(work.us.median)} µs{each}" if work.us else ""
            said.append(f"{work.count} {one if work.count == 1 else many}{name}{took}")
    return element("p", f"Beside the kernels: {'; '.join(said) or 'no memset and no memcpy'}.", class_="beside")
