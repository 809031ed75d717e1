"""How a fact looks: the number as text, and the `<data>` element that carries its path, value and stamp."""

import math
from xml.etree.ElementTree import Element

from build_traces.errors import FactError
from build_traces.facts import Fact
from build_traces.markdown.html import element
from build_traces.query import Scalar
from build_traces.recording import Spread

DIGITS = 3
"""Significant digits of a float that is shown without a format."""


def shown(value: Scalar, spec: str = "") -> str:
    """A value as readers see it. Raises FactError for a format that does not fit it."""
    if spec:
        try:
            return format(value, spec)
        except ValueError as error:
            raise FactError(
                f"{value!r} cannot be written in the format {spec!r}: {error}",
                hint="use a Python format, such as .1f or , (or leave it out)",
            ) from error
    if isinstance(value, float):
        return _significant(value)
    return f"{value:,}" if isinstance(value, int) else value


def _significant(value: float) -> str:
    """Three significant digits: 56.6, 1,230, 0.00450, 1.20e-07."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    exponent = int(f"{value:.{DIGITS - 1}e}".partition("e")[2])
    decimals = DIGITS - 1 - exponent
    if decimals <= 0:
        return f"{round(value, decimals):,.0f}"
    return f"{value:.{decimals}f}" if exponent >= -4 else f"{value:.{DIGITS - 1}e}"


def extremes(spread: Spread, spec: str = "", path: str = "") -> Element:
    """`56.1–57.2` in small print; nothing in it where both read the same. `path` is the fact's, if it is one."""
    low, high = shown(spread.low, spec), shown(spread.high, spec)
    return element("small", "" if low == high else f"{low}–{high}", **given(data_spread=path, data_format=spec))


def given(**attributes: str) -> dict[str, str]:
    """The attributes that are not empty."""
    return {name: value for name, value in attributes.items() if value}


def fact_element(fact: Fact, spec: str = "", processes: int | None = None) -> Element:
    """A fact in the text: `<data class="fact">`, its spread and stamp on hover. Raises FactError if it is empty."""
    if fact.value == "":
        raise FactError(f"{fact.path} is empty in this recording", hint="leave it out, or record it")
    return element(
        "data",
        shown(fact.value, spec),
        class_="fact",
        data_fact=fact.path,
        value=str(fact.value),
        title=_title(fact, processes),
        **given(data_format=spec),
    )


def _title(fact: Fact, processes: int | None) -> str:
    if fact.spread is None:
        return fact.stamp
    unit = f" {fact.unit}" if fact.unit else ""
    over = f" over {processes} processes" if processes else ""
    return f"between {shown(fact.spread.low)} and {shown(fact.spread.high)}{unit}{over} · {fact.stamp}"
