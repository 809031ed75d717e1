"""The tables that a page writes in Markdown: each in a region that scrolls by itself, as the tables of blocks are.

Material's script wraps a table without a class when a page opens, and the browser lays the page out once more for it.
"""

from html import unescape
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions.toc import render_inner_html, strip_tags

from build_traces.markdown.html import scrolling

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def give_regions(root: Element, md: Markdown) -> None:
    """Wrap each table without a class, and name the region after the heading that the table stands under."""
    parents = {child: parent for parent in root.iter() for child in parent}
    heading = ""
    for part in list(root.iter()):
        if part.tag in HEADINGS:
            heading = unescape(strip_tags(render_inner_html(part, md)))  # with its facts, which wait in the stash
        elif part.tag == "table" and not part.get("class"):
            parent = parents[part]
            place = list(parent).index(part)
            part.set("class", "prose")
            after, part.tail = part.tail, None
            region = scrolling(f"{heading}, table" if heading else "Table", part)
            region.set("class", f"trace-block {region.get('class')}")
            region.tail = after
            parent[place] = region
