"""HTML as elements, never as strings: what comes from a trace is escaped because it cannot be otherwise.

Names in a trace are hostile text. They are cleaned of control characters here, built into
elements, and sealed: Markdown's own processors (attribute lists, abbreviations, emphasis)
see placeholders and links only.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from markdown.util import AMP_SUBSTITUTE, AtomicString

from build_traces.work_kinds import WORDS, WorkKind

REPLACED = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
"""Control characters get a picture; surrogates and marks that reorder text are replaced."""


def clean(text: str) -> str:
    """Text without characters that a browser, or Markdown's placeholders, would act on."""
    return text.translate(REPLACED)


def element(tag: str, *children: Element | str, **attributes: str) -> Element:
    """An element with its attributes and content; `class_` is class, `data_fact` is data-fact."""
    made = Element(tag, {name.rstrip("_").replace("_", "-"): clean(value) for name, value in attributes.items()})
    for child in children:
        append(made, child)
    return made


def append(parent: Element, child: Element | str) -> None:
    """Add an element, or text behind what is there."""
    if not isinstance(child, str):
        parent.append(child)
    elif len(parent):
        parent[-1].tail = (parent[-1].tail or "") + clean(child)
    else:
        parent.text = (parent.text or "") + clean(child)


WRAP_AFTER = re.compile(r"(?<=[_<,])|(?<=::)")


def wrapping(name: str, **attributes: str) -> Element:
    """A long name in `<code>` that may wrap behind `_`, `::`, `<` and `,`."""
    first, *rest = WRAP_AFTER.split(name)
    code = element("code", first, **attributes)
    for piece in rest:
        if piece:
            append(code, Element("wbr"))
            append(code, piece)
    return code


def table(label: str, columns: Sequence[str], rows: Sequence[Element], class_: str) -> Element:
    """A table in a region that scrolls by itself on a narrow screen."""
    head = element("tr", *(element("th", column, scope="col") for column in columns))
    return scrolling(label, element("table", element("thead", head), element("tbody", *rows), class_=class_))


def row(*cells: Element | str) -> Element:
    """A table row: strings and elements become cells, `<td>` and `<th>` are kept."""
    return element("tr", *(c if not isinstance(c, str) and c.tag in ("td", "th") else element("td", c) for c in cells))


def work_key(kind: WorkKind) -> Element:
    """The color of a kind of GPU work, and its word."""
    return element("span", WORDS[kind], class_=f"tl-key tl-key--{kind}")


def says(picture: str, lines: Iterable[str]) -> Element:
    """What the picture with this id shows, in words: the begin of its caption."""
    made = element("span", class_="figure-says", id=says_id(picture))
    for number, line in enumerate(lines):
        append(made, " " if number else "")
        append(made, element("span", line))
    return made


def says_id(picture: str) -> str:
    """The id of the words that a picture is described by."""
    return f"{picture}-says"


def scrolling(label: str, content: Element) -> Element:
    """A region that scrolls by itself, reachable by keyboard."""
    return element("div", content, class_="trace-scroll", tabindex="0", role="region", aria_label=label)


def definitions(entries: Sequence[tuple[str, Element | str]], class_: str) -> Element:
    """A definition list."""
    made = element("dl", class_=class_)
    for term, value in entries:
        append(made, element("dt", term))
        append(made, element("dd", value))
    return made


def missing(why: str) -> Element:
    """A cell whose value is not there, and why."""
    return element("span", "–", class_="missing", title=why)


def source_link(text: str, source: str) -> Element:
    """A link to a public page; plain text for anything else."""
    return element("a", text, href=source) if source.startswith("https://") else element("span", f"{text}: {source}")


TAG = re.compile(r'<[A-Za-z][^">]*(?:"[^"]*"[^">]*)*>')


def serialized(made: Element) -> str:
    """An element as HTML; no attribute holds a `<`, since inside `<noscript>` it could begin the end of that."""
    html = tostring(made, encoding="unicode", method="html")
    return TAG.sub(lambda tag: "<" + tag[0][1:].replace("<", "&lt;"), html)


def seal(built: Element, shell: Element, stash: Callable[[str], str]) -> None:
    """Move what was built into a shell in Markdown's tree: links as elements, the rest as stashed HTML.

    Builders rewrite and check the links they find in the tree; nothing else there is theirs.
    """
    for name, value in built.items():
        shell.set(name, value if name == "href" else value.replace("&", f"{AMP_SUBSTITUTE}amp;"))
    sealed = _Sealed(shell, stash)
    sealed.add_text(built.text)
    for child in built:
        if any(inner.tag == "a" for inner in child.iter()):
            sealed.flush()
            seal(child, SubElement(shell, child.tag), stash)
        else:
            sealed.add_element(child)
        sealed.add_text(child.tail)
    sealed.flush()


class _Sealed:
    """HTML waiting to be stashed behind what the shell already holds."""

    def __init__(self, shell: Element, stash: Callable[[str], str]) -> None:
        self.shell = shell
        self.stash = stash
        self.pending: list[str] = []

    def add_text(self, text: str | None) -> None:
        if text:
            holder = Element("x")
            holder.text = text
            self.pending.append(tostring(holder, encoding="unicode", method="html")[3:-4])

    def add_element(self, child: Element) -> None:
        tail, child.tail = child.tail, None
        self.pending.append(serialized(child))
        child.tail = tail

    def flush(self) -> None:
        if not self.pending:
            return
        placeholder = self.stash("".join(self.pending))
        self.pending = []
        if len(self.shell):
            self.shell[-1].tail = AtomicString((self.shell[-1].tail or "") + placeholder)
        else:
            self.shell.text = AtomicString((self.shell.text or "") + placeholder)
