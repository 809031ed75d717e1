"""Parse rendered HTML as a browser would, for tests that look at elements instead of strings."""

from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, SubElement

VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("root")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = SubElement(self.open[-1], tag, {name: value or "" for name, value in attrs})
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        SubElement(self.open[-1], tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        parent = self.open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        else:
            parent.text = (parent.text or "") + data


def parse(html: str) -> Element:
    """The tree of a piece of HTML. Fails where an element is not closed in order."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert builder.open == [builder.root], f"not closed: {[e.tag for e in builder.open[1:]]}"
    return builder.root


def text(element: Element) -> str:
    """An element's text, white space folded."""
    return " ".join("".join(element.itertext()).split())


def with_class(root: Element, name: str) -> list[Element]:
    return [e for e in root.iter() if name in e.get("class", "").split()]


def only(root: Element, name: str) -> Element:
    """The one element with this class."""
    (found,) = with_class(root, name)
    return found


def cells(table: Element) -> list[list[str]]:
    """The text of a table's body, row by row."""
    return [[text(cell) for cell in row] for row in table.iter("tr") if row[0].get("scope") != "col"]


def attributes(root: Element) -> Iterator[tuple[str, str]]:
    for element in root.iter():
        yield from element.items()
