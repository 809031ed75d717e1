"""Tables and names for a terminal: colored where there is one, plain text with whole lines where output is piped.

Names in a trace are hostile text: what a terminal would act on is replaced, and what is too long is cut.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Literal

import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

REPLACED = {
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F)), 0xFFFD),
    **dict.fromkeys((*range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080)), 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
"""Control characters get a picture; marks that are not seen or reorder text, and surrogates, are replaced."""
NAME_LENGTH = 100
CELL_LENGTH = 400
PIPED_WIDTH = 2_000

NUMBER: Literal["right"] = "right"


def clean(text: str, length: int = NAME_LENGTH) -> str:
    """Text that no terminal acts on, not longer than this."""
    cut = text[:length].translate(REPLACED)
    return cut if len(text) <= length else cut[: length - 1] + "…"


def ascii_json(value: msgspec.Struct) -> str:
    """JSON in ASCII without control characters, so that no name in it can act on a terminal."""
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=True, allow_nan=False)
    return text.replace("\x7f", "\\u007f")


def console(file: IO[str] | None = None) -> Console:
    """For results: as wide as the terminal, and where there is none wide enough for any row."""
    file = file or sys.stdout
    return Console(file=file, highlight=False, markup=False, emoji=False, width=None if file.isatty() else PIPED_WIDTH)


@dataclass(frozen=True)
class Column:
    """A column; one that `folds` gives way where the terminal is narrow."""

    title: str
    stands: Literal["left", "right"] = "left"
    folds: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Table:
    """Rows of cells; every cell is cleaned here."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        made.add_column(Text(column.title), justify=column.stands, no_wrap=not column.folds, overflow="fold")
    for row in rows:
        made.add_row(*(Text(clean(cell, CELL_LENGTH)) for cell in row))
    return made


def section(title: str) -> Iterator[RenderableType]:
    """The head of a section."""
    yield Text()
    yield Text(clean(title, CELL_LENGTH), style="bold")


def shown_us(us: float) -> str:
    """A digit behind the point for what is short, none for what is long."""
    return f"{us:,.0f}" if abs(us) >= 10_000 else f"{us:,.1f}"


def plural(count: int, word: str, words: str = "") -> str:
    """`1 kernel`, `5 kernels`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {words or word + 's'}"
