"""The pages as plain Markdown for machines that read, facts filled in, and llms.txt, which lists them.

Read back from the built pages: what the extension rendered is rewritten here and never rendered a second time, so
that both forms of a page say the same. Beside each `index.html` its Markdown is `index.html.md`, as llmstxt.org has it.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from build_traces.html_tree import every, first, parse, text

TWIN = "index.html.md"
INDEX = "llms.txt"
LOOSE = "The guide"
"""The section of pages that stand in none."""

SKIPPED = {"button", "form", "input", "nav", "noscript", "script", "style", "template"}
"""Also what is hidden. The answer to an exercise is in `<noscript>`: it is not for who has not guessed."""
SKIPPED_CLASSES = {"headerlink", "tl-legend"}
"""The link of a heading to itself, and the key to a picture that is not there."""
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = {*HEADINGS, "blockquote", "details", "dl", "figure", "hr", "ol", "p", "pre", "svg", "table", "ul"}
SPECIAL = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
"""Characters of text that Markdown would act on."""
ENTITIES = {"<": "&lt;", "&": "&amp;"}
LINE_START = re.compile(r"^(?=[#>]|[-+](?: |$))")
NUMBERED = re.compile(r"^(\d+)(?=[.)] )")


def write(site: Path) -> None:
    """Write each page's Markdown beside it, and llms.txt."""
    for page in sorted(site.rglob("index.html")):
        article = first(parse(page.read_text(encoding="utf-8")), "article")
        if article is not None:
            page.with_name(TWIN).write_text(markdown(article), encoding="utf-8")
    (site / INDEX).write_text(_index(site), encoding="utf-8")


def markdown(root: Element) -> str:
    """An element's content as Markdown."""
    return "\n\n".join(_blocks(root)) + "\n"


# llms.txt


def _index(site: Path) -> str:
    start = parse((site / "index.html").read_text(encoding="utf-8"))
    heading = first(start, "meta", property="og:site_name")
    name = heading.get("content", "") if heading is not None else text(_found(start, "title"))
    lines = [f"# {name}", f"> {_description(start)}"]
    if (stamp := first(start, "aside", class_="stamp")) is not None:
        lines.append(_inline(stamp))
    for title, links in _sections(start):
        entries = [_entry(site, *link) for link in links if (site / link[0] / "index.html").is_file()]
        lines.append("\n".join([f"## {title}", "", *entries]))
    return "\n\n".join(lines) + "\n"


def _sections(start: Element) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The navigation: sections with their links, pages that stand in no section first."""
    items = _found(_found(start, "nav", class_="md-nav--primary"), "ul", class_="md-nav__list").findall("li")
    nested = [item for item in items if "md-nav__item--nested" in item.get("class", "").split()]
    yield LOOSE, [link for item in items if item not in nested for link in _links(item)]
    for item in nested:
        yield _found(item, "nav").get("aria-label", ""), list(_links(item))


def _links(item: Element) -> Iterator[tuple[str, str]]:
    for link in every(item, "a", class_="md-nav__link"):
        if not link.get("href", "").startswith("#"):
            yield link.get("href", ""), text(link)


def _entry(site: Path, href: str, title: str) -> str:
    page = parse((site / href / "index.html").read_text(encoding="utf-8"))
    twin = _twin(href or "./")
    return f"- [{_escaped(title)}]({twin}): {_description(page)}"


def _description(page: Element) -> str:
    return _found(page, "meta", name="description").get("content", "")


def _found(root: Element, tag: str, **attributes: str) -> Element:
    element = first(root, tag, **attributes)
    if element is None:
        wanted = " ".join([tag, *(f'{name.rstrip("_")}="{value}"' for name, value in attributes.items())])
        raise ValueError(f"no <{wanted}> on the page: has the theme changed?")
    return element


# Blocks: each is lines of Markdown, with an empty line between two


def _blocks(element: Element) -> list[str]:
    """The blocks inside; text between two of them is a paragraph."""
    made: list[str] = []
    run: list[str] = [_escaped(element.text or "")]
    for child in element:
        if _is_block(child):
            made += [*_paragraph(run), *_block(child)]
            run = []
        else:
            run.append(_span(child))
        run.append(_escaped(child.tail or ""))
    return made + _paragraph(run)


def _block(element: Element) -> list[str]:
    if _is_skipped(element):
        return []
    if element.tag in HEADINGS:
        return [f"{'#' * HEADINGS[element.tag]} {_inline(element)}"]
    return RENDERERS.get(element.tag, _blocks)(element)


def _is_skipped(element: Element) -> bool:
    classes = set(element.get("class", "").split())
    return element.tag in SKIPPED or element.get("hidden") is not None or bool(classes & SKIPPED_CLASSES)


def _is_block(element: Element) -> bool:
    return element.tag in BLOCKS or any(inner.tag in BLOCKS for inner in element.iter()) or element.tag == "div"


def _paragraph(run: list[str]) -> list[str]:
    folded = " ".join("".join(run).split())
    return [NUMBERED.sub(r"\1\\", LINE_START.sub(r"\\", folded))] if folded else []


def _code_block(element: Element) -> list[str]:
    code = "".join(element.itertext()).strip("\n")
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in re.findall(r"`+", code)), default=0))
    return [f"{fence}\n{code}\n{fence}"]


def _list(element: Element) -> list[str]:
    items = []
    for number, item in enumerate(element.findall("li"), start=1):
        mark = f"{number}. " if element.tag == "ol" else "- "
        blocks = _blocks(item)
        # What follows the first paragraph of an item stands close to it if it is a list.
        joined = "".join(("\n" if piece.startswith(("- ", "1. ")) else "\n\n") + piece for piece in blocks).strip()
        items.append(mark + _indented(joined, len(mark)))
    return ["\n".join(items)] if items else []


def _indented(lines: str, width: int) -> str:
    """All lines but the first and empty ones, moved to the right."""
    return re.sub(r"\n(?=[^\n])", "\n" + " " * width, lines)


def _definitions(element: Element) -> list[str]:
    made: list[str] = []
    for child in element:
        if child.tag == "dt":
            made.append(f"- **{_inline(child)}**")
        elif child.tag == "dd" and made:
            made[-1] += ": " + _indented("\n\n".join(_blocks(child)), 2)
    return ["\n".join(made)] if made else []


def _table(element: Element) -> list[str]:
    rows = [[_cell(cell) for cell in row if cell.tag in ("td", "th")] for row in element.iter("tr")]
    if not rows:
        return []
    width = max(map(len, rows))
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    return ["\n".join([lines[0], "|" + "---|" * width, *lines[1:]])]


def _cell(cell: Element) -> str:
    """One line: a list's items follow each other without their marks."""
    lines = [line.strip().removeprefix("- ") for block in _blocks(cell) for line in block.split("\n")]
    return " ".join(filter(None, lines)).replace("|", "\\|")


def _folded(element: Element) -> list[str]:
    inside = Element(element.tag)
    inside.extend(child for child in element if child.tag != "summary")
    return [*(f"**{_inline(summary)}**" for summary in element.findall("summary")), *_blocks(inside)]


def _quote(element: Element) -> list[str]:
    return ["> " + "\n\n".join(_blocks(element)).replace("\n", "\n> ")]


def _picture(element: Element) -> list[str]:
    said = [text(part) for part in (first(element, "title"), first(element, "desc")) if part is not None]
    return [f"*Picture: {_escaped('. '.join(said))}*"] if said else []


RENDERERS: dict[str, Callable[[Element], list[str]]] = {
    "blockquote": _quote,
    "details": _folded,
    "dl": _definitions,
    "hr": lambda _: ["---"],
    "ol": _list,
    "pre": _code_block,
    "svg": _picture,
    "table": _table,
    "ul": _list,
}


# Text


def _inline(element: Element) -> str:
    parts = [_escaped(element.text or "")]
    for child in element:
        parts += [_span(child), _escaped(child.tail or "")]
    return " ".join("".join(parts).split())


def _span(element: Element) -> str:
    if _is_skipped(element):
        return ""
    return SPANS.get(element.tag, _inline_as_is)(element)


def _inline_as_is(element: Element) -> str:
    """What is inside, with the white space at its ends."""
    inside = _inline(element)
    whole = "".join(element.itertext())
    return f"{' ' * whole[:1].isspace()}{inside}{' ' * whole[-1:].isspace()}" if inside else " " * bool(whole)


def _link(element: Element) -> str:
    inside, href = _inline(element), _twin(element.get("href", ""))
    if not href:
        return inside
    return f"[{inside}](<{href}>)" if re.search(r"[()\s]", href) else f"[{inside}]({href})"


def _code(element: Element) -> str:
    spaced = "".join(" " if part.tag == "br" else part.text or "" for part in [element])
    spaced += "".join((" " if part.tag == "br" else "".join(part.itertext())) + (part.tail or "") for part in element)
    code = " ".join(spaced.split())
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
    padding = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{padding}{code}{padding}{ticks}" if code else ""


def _marked(element: Element) -> str:
    """The name of the file that a block of code is from."""
    return f"`{text(element)}`:" if "filename" in element.get("class", "").split() else _inline_as_is(element)


def _image(element: Element) -> str:
    return f"![{_escaped(element.get('alt', ''))}]({element.get('src', '')})"


SPANS: dict[str, Callable[[Element], str]] = {
    "a": _link,
    "b": lambda element: f"**{_inline(element)}**",
    "br": lambda _: " ",
    "code": _code,
    "em": lambda element: f"*{_inline(element)}*",
    "i": lambda element: f"*{_inline(element)}*",
    "img": _image,
    "span": _marked,
    "strong": lambda element: f"**{_inline(element)}**",
    "wbr": lambda _: "",
}


def _escaped(written: str) -> str:
    return SPECIAL.sub(lambda match: ENTITIES.get(match[0], "\\" + match[0]), written)


def _twin(href: str) -> str:
    """A link as it stands on a page; one to a page of the site leads to that page's Markdown instead."""
    parts = urlsplit(href)
    if parts.scheme or parts.netloc or not parts.path:
        return href
    folder = parts.path if parts.path.endswith("/") else f"{parts.path}/"
    if parts.path.endswith("/") or parts.path.rpartition("/")[2] in (".", ".."):
        return parts._replace(path=f"{'' if folder == './' else folder}{TWIN}").geturl()
    return href
