"""No link leads to a page that a version is published without: it becomes its text, with a remark."""

import os
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from build_traces.markdown.conversion import Conversion


class LeaveOut(Treeprocessor):
    """Runs when all links are in the tree, and before the builder rewrites them."""

    def __init__(self, md: Markdown, conversion: Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, root: Element) -> None:
        """Called by Python-Markdown."""
        if not self.conversion.options.left_out:
            return
        for link in root.iter("a"):
            if self._target(link.get("href", "")) in self.conversion.options.left_out:
                link.tag = "span"
                link.attrib.clear()
                link.set("class", "left-out")
                SubElement(link, "small").text = " (to come)"

    def _target(self, href: str) -> str:
        """The path under `docs` that a link written on this page leads to, "" if to none."""
        path, folder = unquote(href.partition("#")[0]), self.conversion.page.folder
        if not path or folder is None:
            return ""
        return Path(os.path.relpath(folder / path, self.conversion.options.docs.resolve())).as_posix()
