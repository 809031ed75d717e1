"""What every block shares: its header names stages, it has no content, and it renders to one figure."""

from abc import abstractmethod
from typing import ClassVar
from xml.etree.ElementTree import Element, SubElement

from pymdownx.blocks.block import Block, type_integer

from build_traces.errors import FactError, NotRecordedError
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, seal
from build_traces.stage_view import StageView

STEP_OPTION: dict[str, list[object]] = {"step": [0, type_integer]}
"""`step: 3` in a block that shows one step of a stage; without it, the stage says which."""


class TraceBlock(Block):
    """`/// NAME | stages` and `///`. ARGUMENT: True needs stages, None may have them, False has none."""

    NAME: ClassVar[str] = ""
    ARGUMENT: ClassVar[bool | None] = True
    MANY: ClassVar[bool] = False
    """Whether the block takes more than one stage."""
    OF_STAGES: ClassVar[bool] = True
    """Whether the argument names stages; else it is an id, which the block itself looks up."""
    SEARCHED: ClassVar[bool] = True
    """Whether the site's search reads what is in it: columns of numbers and generated code would swell the index."""

    @abstractmethod
    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The block's figure. Raises BuildTracesError."""

    def on_create(self, parent: Element) -> Element:
        """Called by pymdownx at the header: an empty figure."""
        return SubElement(parent, "figure")

    def on_markdown(self) -> str:
        """Called by pymdownx: nothing in the block is Markdown."""
        return "raw"

    def on_end(self, block: Element) -> None:
        """Called by pymdownx at the end of the block: fill the figure."""
        conversion: Conversion = self.config["conversion"]
        key = (self.NAME, self.argument or "")
        index = conversion.index_of_block(key)
        with conversion.at(index):
            if block.text:
                raise FactError(f"block {self.NAME!r} takes no content", hint="end it with /// on the next line")
            try:
                figure = self.render(conversion, self._stages(conversion))
            except NotRecordedError as error:
                figure = figure_of(self.NAME, None, conversion.not_recorded(error, "p"))
        if not self.SEARCHED:
            figure.set("data-search-exclude", "")
        if added := block.get("class"):
            figure.set("class", f"{figure.get('class', '')} {added}")
        block.text = None
        seal(figure, block, conversion.md.htmlStash.store)
        conversion.rendered[key] += 1

    def _stages(self, conversion: Conversion) -> tuple[StageView, ...]:
        names = (self.argument or "").split() if self.OF_STAGES else []
        if len(names) > 1 and not self.MANY:
            message = f"block {self.NAME!r} takes one stage, {len(names)} were given"
            raise FactError(message, hint="write a block for each")
        views = tuple(conversion.facts.view(name) for name in names)
        step = self.options.get("step", 0)
        return tuple(view.showing(step) for view in views) if step else views


def figure_of(name: str, view: StageView | None, *content: Element, caption: tuple[Element | str, ...] = ()) -> Element:
    """The `<figure>` of a block; the caption stands above what it describes."""
    made = element("figure", class_=f"trace-block trace-block--{name}")
    if view is not None:
        made.set("data-stage", view.stage.name)
    if caption:
        append(made, element("figcaption", *caption))
    for child in content:
        append(made, child)
    return made


def origin(*views: StageView) -> str:
    """Which step of which process a picture shows, for each stage in it."""
    return "; ".join(map(_origin, views)) + ", the one nearest the median"


def _origin(view: StageView) -> str:
    steps, processes = len(view.trace.steps), len(view.record.processes)
    return (
        f"{view.stage.name}, step {view.shown_step} of {steps} in the trace of process "
        f"{view.record.published_process + 1} of {processes}"
    )
