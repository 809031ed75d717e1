"""Read the table that `key_averages().table()` printed: its "Self CUDA" column, and the total under it."""

import re
from dataclasses import dataclass

from build_traces.errors import FactError, unknown_name

COLUMN = "Self CUDA"
TOTAL = re.compile(rf"^{COLUMN} time total: (\S+)$", re.MULTILINE)
TIME = re.compile(r"(?P<number>[\d.]+)(?P<unit>us|ms|s)")
US = {"us": 1.0, "ms": 1e3, "s": 1e6}
RULE = re.compile(r"^-{3,}(?:  -{3,})*\s*$")


@dataclass(frozen=True)
class ProfilerTable:
    """`rows`: name and own GPU time in µs of each row, in order; `total_us`: what the line under the table says."""

    rows: tuple[tuple[str, float], ...]
    total_us: float

    def self_cuda_us(self, name: str = "") -> float:
        """The column's sum, over all rows or those of one name. Raises FactError if no row has it."""
        mine = [us for row, us in self.rows if name in ("", row)]
        if not mine:
            unknown_name("row in the profiler's table", name, [row for row, _ in self.rows])
        return sum(mine)


def read_table(text: str) -> ProfilerTable:
    """The table as printed. Raises FactError if there is none with GPU times."""
    total = TOTAL.search(text)
    rules = [line for line in text.splitlines() if RULE.match(line)]
    if total is None or not rules:
        raise FactError("the profiler's table has no GPU times", hint="record the stage again")
    cells = [_cells(line, rules[0]) for line in text.splitlines() if line.strip() and not RULE.match(line)]
    head, *body = cells
    column = head.index(COLUMN)
    rows = tuple((row[0], _us(row[column])) for row in body if TIME.fullmatch(row[column]))
    return ProfilerTable(rows, _us(total[1]))


def _cells(line: str, rule: str) -> list[str]:
    """The cells of a line: the rule's dashes are as wide as the columns."""
    return [line[match.start() : match.end()].strip() for match in re.finditer(r"-+", rule)]


def _us(written: str) -> float:
    match = TIME.fullmatch(written)
    if match is None:
        raise FactError(f"{written!r} in the profiler's table is no time")
    return float(match["number"]) * US[match["unit"]]
