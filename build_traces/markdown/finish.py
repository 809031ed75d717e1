"""The end of a conversion: every block must have been rendered; tables get regions, a page its number and its stamp."""

from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import element, seal
from build_traces.markdown.prose_tables import give_regions
from build_traces.recording import ENVIRONMENT_FILE, short_commit


class Finish(Treeprocessor):
    """Runs after the inline patterns and before the builder rewrites links."""

    def __init__(self, md: Markdown, conversion: Conversion) -> None:
        super().__init__(md)
        self.conversion = conversion

    def run(self, root: Element) -> None:
        """Called by Python-Markdown. Raises PageError."""
        self._check_rendered()
        give_regions(root, self.md)
        if self.conversion.page.is_page:
            if self.conversion.unrecorded:
                seal(self._draft(), self._at_top(root, "aside"), self.conversion.md.htmlStash.store)
            if self.conversion.chapter:
                chapter = element("div", f"Chapter {self.conversion.chapter}", class_="which-chapter")
                seal(chapter, self._at_top(root, "div"), self.conversion.md.htmlStash.store)
            with self.conversion.at(0):
                stamp = self._stamp()
            seal(stamp, SubElement(root, "aside"), self.conversion.md.htmlStash.store)

    def _check_rendered(self) -> None:
        left = self.conversion.rendered.copy()
        for header in self.conversion.headers:
            if not left[header.key]:
                raise self.conversion.page.refusal(
                    header.index,
                    f"block {header.name!r} was not rendered",
                    "leave an empty line before it and no indentation; give a block around it one more slash; "
                    "to show it as code, put it into a fence",
                )
            left[header.key] -= 1

    def _at_top(self, root: Element, tag: str) -> Element:
        """A new element behind the page's title."""
        made = Element(tag)
        root.insert(1 if len(root) and root[0].tag == "h1" else 0, made)
        return made

    def _draft(self) -> Element:
        stages = ", ".join(sorted(self.conversion.unrecorded))
        text = f"This page is a draft. What it says of {stages} is a prediction until a GPU has recorded it."
        return element("aside", text, class_="draft", role="note", aria_label="Draft")

    def _stamp(self) -> Element:
        recording = self.conversion.facts.recording
        environment = recording.environment
        return element(
            "aside",
            f"Version {version}. " if (version := self.conversion.options.version) else "",
            f"Measured on {environment.gpu}, torch {environment.torch}, {environment.date}, "
            f"from commit {short_commit(environment.commit)}. ",
            self.conversion.link(recording.folder / ENVIRONMENT_FILE, "Everything about the machine"),
            class_="stamp",
            aria_label="Where the numbers come from",
        )
