"""What stands beside the versions: where to begin, what robots and feed readers get, a page for wrong addresses."""

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from build_traces.plain import INDEX as LLMS
from build_traces.publish.edition import LATEST, Properties

ATOM = "http://www.w3.org/2005/Atom"
FEED = "versions.xml"
NAME = "Reading PyTorch traces"
NAMESPACE = uuid.UUID("0c2c3f0e-5b5e-4a57-9f5f-6b1f0d1c8f4e")
"""Of the feed's ids, which must not change when the site moves to another address."""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
"""It names an empty icon: of a page without one, a browser asks the server's root, which is not ours to have."""


@dataclass(frozen=True)
class Published:
    """A version on the branch."""

    version: str
    title: str
    latest: bool
    properties: Properties


def start_of(versions: Sequence[Published]) -> str:
    """The folder that readers are sent to: the latest version, or the first where none is the latest."""
    return LATEST if any(version.latest for version in versions) else versions[0].version


def files(versions: Sequence[Published], site_url: str, llms: str) -> dict[str, str]:
    """The files by name; `llms` is the llms.txt of the version that readers are sent to."""
    if not versions:
        return {}
    start = start_of(versions)
    return {
        "index.html": _redirect(start, site_url),
        "404.html": _not_found(site_url),
        "robots.txt": _robots(start, site_url),
        FEED: _feed(versions, site_url),
        LLMS: re.sub(r"\]\((?![a-z]+:)(?:\.\./)?(recordings/)?", lambda m: f"]({m[1] or f'{start}/'}", llms),
    }


def _redirect(start: str, site_url: str) -> str:
    canonical = f'<link rel="canonical" href="{escape(site_url)}{start}/">\n' if site_url else ""
    feed = f'<link rel="alternate" type="application/atom+xml" title="Versions" href="{FEED}">\n'
    head = f'<meta http-equiv="refresh" content="0; url={start}/">\n{canonical}{feed}'
    return PAGE.format(title=NAME, head=head, body=f'<p><a href="{start}/">Read the guide.</a></p>')


def _not_found(site_url: str) -> str:
    """Shown at any address, so that only a whole address can lead out of it."""
    way_out = f' <a href="{escape(site_url)}">Begin at the start.</a>' if site_url else ""
    body = f"<p>It may be in another version of the guide.{way_out}</p>"
    return PAGE.format(title="There is no such page", head='<meta name="robots" content="noindex">\n', body=body)


def _robots(start: str, site_url: str) -> str:
    """Old versions may be read: only then is it seen that their pages name the latest as the one to show."""
    sitemap = f"Sitemap: {site_url}{start}/sitemap.xml\n" if site_url else ""
    return f"User-agent: *\nAllow: /\n{sitemap}"


# The feed


def _feed(versions: Sequence[Published], site_url: str) -> str:
    ElementTree.register_namespace("", ATOM)
    feed = Element(f"{{{ATOM}}}feed")
    _text(feed, "title", f"{NAME}: versions")
    _text(feed, "id", uuid.uuid5(NAMESPACE, "feed").urn)
    _text(feed, "updated", max(version.properties.published for version in versions))
    _text(SubElement(feed, f"{{{ATOM}}}author"), "name", f"The authors of {NAME}")
    SubElement(feed, f"{{{ATOM}}}link", rel="self", type="application/atom+xml", href=site_url + FEED)
    SubElement(feed, f"{{{ATOM}}}link", href=site_url or "./")
    for version in sorted(versions, key=lambda version: version.properties.published, reverse=True):
        _entry(feed, version, site_url)
    ElementTree.indent(feed)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(feed, encoding="unicode")}\n'


def _entry(feed: Element, version: Published, site_url: str) -> None:
    entry = SubElement(feed, f"{{{ATOM}}}entry")
    _text(entry, "title", f"{NAME} {version.title}")
    _text(entry, "id", uuid.uuid5(NAMESPACE, version.version).urn)
    _text(entry, "updated", version.properties.published)
    SubElement(entry, f"{{{ATOM}}}link", href=f"{site_url}{version.version}/")
    _text(entry, "summary", " ".join(_said_of(version)))


def _said_of(version: Published) -> Iterator[str]:
    yield str(version.properties.recording)
    yield f"The text is that of commit {version.properties.commit[:10]}."
    if version.properties.left_out:
        yield f"Not in this version yet: {', '.join(version.properties.left_out)}."


def _text(parent: Element, tag: str, content: str) -> None:
    SubElement(parent, f"{{{ATOM}}}{tag}").text = content
