"""A built page as a tree of elements, for what reads the site back; forgiving, as a browser is."""

from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, SubElement

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def parse(html: str) -> Element:
    """The tree of a page or of a piece of one, below an element without a name."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    return builder.root


def first(root: Element, tag: str, **attributes: str) -> Element | None:
    """The first element with this name and these attributes; of a class, one of several is enough."""
    return next(every(root, tag, **attributes), None)


def every(root: Element, tag: str, **attributes: str) -> Iterator[Element]:
    """All elements with this name and these attributes, in order; `class_` is class, `data_fact` data-fact."""
    wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    for element in root.iter(tag):
        if all(value in element.get(name, "").split() for name, value in wanted.items()):
            yield element


def text(element: Element) -> str:
    """The text inside, white space folded."""
    return " ".join("".join(element.itertext()).split())


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by HTMLParser."""
        made = SubElement(self._open[-1], tag, {name: value or "" for name, value in attrs})
        if tag not in VOID:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by HTMLParser."""
        SubElement(self._open[-1], tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        """Called by HTMLParser."""
        if any(element.tag == tag for element in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Called by HTMLParser."""
        parent = self._open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        else:
            parent.text = (parent.text or "") + data
