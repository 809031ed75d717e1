"""`/// lab | NAME`: a lab to run, where its page is, its two files to download, and what machine ran it.

A lab whose notebook is stale ends the build. One that no GPU has run yet says so; its own page is the draft.
"""

from html import escape
from pathlib import Path
from xml.etree.ElementTree import Element

from build_traces import notebooks
from build_traces.errors import FactError
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element
from build_traces.notebooks import Lab, LabStatus
from build_traces.stage_view import StageView

FOLDER = "labs"


class LabFigure(TraceBlock):
    """One lab; the argument is its name."""

    NAME = "lab"
    ARGUMENT = None  # checked here
    OF_STAGES = False

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """Two lines: the links, and who ran it. Raises LabError."""
        if not self.argument:
            raise FactError("block 'lab' needs the name of a lab", hint="write /// lab | linear")
        lab = notebooks.named(self.argument, conversion.options.docs / FOLDER)
        status = notebooks.status(lab)
        status.refuse_stale()
        links = element("p", conversion.link(lab.notebook, lab.title), " · download ")
        append(links, _download(conversion, lab))
        append(links, " or ")
        append(links, conversion.link(lab.script, element("code", lab.script.name), download=lab.script.name))
        figure = figure_of(self.NAME, None, links, element("p", _ran(status), class_="lab-state"))
        figure.set("data-lab", lab.name)
        return figure


def _ran(status: LabStatus) -> str:
    if status.record is None:
        return "Not recorded yet: no GPU has run it."
    return f"It ran on {status.record.stamp}."


def _download(conversion: Conversion, lab: Lab) -> Element:
    """A link to the notebook's file, which the builder publishes in the folder of the lab's page.

    Kept out of the tree: a link to a notebook in there is taken for one to its page.
    """
    name = lab.notebook.name
    page = conversion.page
    if page.folder is None or f"{FOLDER}/{name}" in conversion.options.left_out:
        return element("code", name)
    source = Path(page.label)
    depth = len(source.parent.parts) - len(conversion.options.docs.parts) + (source.stem != "index")
    href = f"{'../' * depth}{FOLDER}/{lab.name}/{name}"
    link = f'<a href="{escape(href)}" download="{escape(name)}"><code>{escape(name)}</code></a>'
    holder = element("span")
    holder.text = conversion.md.htmlStash.store(link)
    return holder
