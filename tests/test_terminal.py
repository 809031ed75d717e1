"""build_traces.terminal: what a terminal would act on does not reach it, and piped tables are whole lines."""

import io
import json
import unicodedata
from typing import Any

import msgspec
import pytest
from rich.text import Text

from build_traces.terminal import Column, ascii_json, clean, console, plural, section, shown_us, table


class Terminal(io.StringIO):
    """A terminal of eighty columns."""

    def isatty(self) -> bool:
        return True


HOSTILE = [
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x9d0;title\x9c",
    "a\rb\nc\td\be\x00\x7f",
    "\u202egnp.exe",
    "\u2066a\u2069\u200b\u200f\u061c\ufeff\u00ad",
    "\u2028\u2029",
    "\ud800",
    "\U000e0041",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_terminal_acts_on_is_replaced(name: str) -> None:
    cleaned = clean(name)
    assert all(unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in cleaned)
    assert len(cleaned) == len(name)
    cleaned.encode()


def test_other_text_stays_as_it_is() -> None:
    for name in ("void f<A<B>, (C)1>(D const&)", "ünï 漢字 🙂 µ × –", "[red]x[/red] :smile:", ""):
        assert clean(name) == name


def test_a_long_name_is_cut() -> None:
    assert clean("x" * 10_000_000, 10) == "x" * 9 + "…"
    assert clean("x" * 10, 10) == "x" * 10


@pytest.mark.parametrize("file", [io.StringIO, Terminal])
def test_nothing_hostile_is_printed(file: type[io.StringIO]) -> None:
    screen = file()
    shown = console(screen)
    for name in HOSTILE:
        for part in (*section(name), table([Column("a"), Column("b", folds=True)], [[name, name]])):
            shown.print(part)
    printed = screen.getvalue()
    allowed = "\x1b[2m\x1b[1m\x1b[0m" if file is Terminal else ""  # dim, bold and off are rich's own
    for sequence in ("\x1b[2m", "\x1b[1m", "\x1b[0m", "\x1b[1;2m"):
        printed = printed.replace(sequence, "") if allowed else printed
    assert not [letter for letter in printed if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")]


def test_markup_in_a_name_is_text() -> None:
    screen = io.StringIO()
    console(screen).print(table([Column("[b]x")], [["[red]a[/red] [clone .kd] :smile:"]]))
    assert "[b]x" in screen.getvalue()
    assert "[red]a[/red] [clone .kd] :smile:" in screen.getvalue()


def test_a_piped_table_has_a_line_a_row_and_no_color() -> None:
    screen = io.StringIO()
    console(screen).print(
        table([Column("name", folds=True), Column("µs", "right")], [["x" * 300, "1.0"], ["y", "2.0"]])
    )
    lines = screen.getvalue().splitlines()
    assert [line.split() for line in lines] == [["name", "µs"], ["x" * 300, "1.0"], ["y", "2.0"]]


def test_on_a_terminal_a_table_is_as_wide_as_it() -> None:
    screen = Terminal()
    made = console(screen)
    made.width = 40
    made.print(table([Column("name", folds=True), Column("µs", "right")], [["x" * 100, "1.0"]]))
    assert max(len(Text.from_ansi(line).plain) for line in screen.getvalue().splitlines()) <= 40


class Value(msgspec.Struct):
    value: Any


@pytest.mark.parametrize("name", HOSTILE)
def test_json_for_machines_keeps_names_and_has_nothing_that_acts_on_a_terminal(name: str) -> None:
    made = ascii_json(Value([name]))
    assert made.isascii()
    assert made.isprintable()
    assert json.loads(made) == {"value": [name]}


def test_a_number_that_is_none_is_no_json() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        ascii_json(Value(float("nan")))


def test_times_and_counts_read_well() -> None:
    assert [shown_us(us) for us in (0, 1.25, 9_999.94, 12_345.6, -3)] == ["0.0", "1.2", "9,999.9", "12,346", "-3.0"]
    assert [plural(n, "launch", "launches") for n in (0, 1, 1_000)] == ["0 launches", "1 launch", "1,000 launches"]
