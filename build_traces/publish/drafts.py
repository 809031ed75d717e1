"""The pages that no reader of a version may get: drafts, which speak of what no GPU has recorded yet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from build_traces import notebooks
from build_traces.markdown.page import says_draft


def drafts(docs: Path) -> tuple[str, ...]:
    """Pages whose front matter says `draft: true`, and labs that no GPU has run: their paths under `docs`."""
    pages = [page for page in docs.rglob("*.md") if says_draft(page.read_text(encoding="utf-8-sig"))]
    labs = [lab.notebook for lab in notebooks.find(docs / "labs") if notebooks.status(lab).record is None]
    return tuple(sorted(path.relative_to(docs).as_posix() for path in [*pages, *labs]))


def nav_without(nav: Sequence[Any], left_out: Sequence[str]) -> list[Any]:
    """The `nav` of mkdocs.yml without these pages, and without sections that hold no other."""
    kept: list[Any] = []
    for item in nav:
        if isinstance(item, Mapping):
            ((title, target),) = item.items()
            if isinstance(target, str):
                kept += [] if target in left_out else [item]
            elif inner := nav_without(target, left_out):
                kept.append({title: inner})
        elif item not in left_out:
            kept.append(item)
    return kept
