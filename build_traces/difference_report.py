"""What differs between two traces or recordings, as tables for a person."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from build_traces.difference import Difference, Shape, Side, StepDifference, TimeChange, WorkChange
from build_traces.terminal import NUMBER, Column, clean, section, shown_us, table

MOST_ROWS = 40


def report(difference: Difference) -> Iterator[RenderableType]:
    """The report from top to bottom, a line or a table each."""
    yield Text(f"A: {clean(difference.a, 400)}")
    yield Text(f"B: {clean(difference.b, 400)}")
    if difference.fields:
        yield Text()
        rows = [[field.what, clean(field.a), clean(field.b)] for field in difference.fields]
        yield table([Column(""), Column("A", folds=True), Column("B", folds=True)], rows)
    equal = [step.stage for step in difference.steps if step.stage and _equal(step)]
    for step in difference.steps:
        if step.stage not in equal:
            yield from _step(step)
    if equal:
        yield from section(f"Equal in A and B: {', '.join(map(clean, equal))}")
    for side, only in (("A", difference.only_a), ("B", difference.only_b)):
        if only:
            yield from section(f"Only in {side}: {', '.join(map(clean, only))}")


def _equal(step: StepDifference) -> bool:
    same_work = all(row.a == row.b for row in step.work)
    same_launches = all(row.a == row.b for row in step.launches)
    return same_work and same_launches and all(row.a == row.b for row in step.times)


def _step(step: StepDifference) -> Iterator[RenderableType]:
    yield from section(step.stage or "A step")
    if not step.stage:
        yield Text(f"A: {clean(step.a)}; B: {clean(step.b)}")
    columns = [Column("µs"), Column("A", NUMBER), Column("B", NUMBER), Column("B ÷ A", NUMBER)]
    yield table(columns, [_time(time) for time in step.times])
    work = step.work
    if len(work) > MOST_ROWS:
        work = tuple(sorted(work, key=lambda row: -abs(_us(row.b) - _us(row.a)))[:MOST_ROWS])
    columns = [
        Column(""),
        Column("A ×", NUMBER),
        Column("B ×", NUMBER),
        Column("A µs", NUMBER),
        Column("B µs", NUMBER),
        Column("B ÷ A", NUMBER),
        Column("work", folds=True),
        Column("grid · block", folds=True),
    ]
    yield Text()
    yield table(columns, [_work(row) for row in work])
    if len(work) < len(step.work):
        yield Text(f"… and {len(step.work) - len(work):,} more rows whose time differs less; --json has them all")
    columns = [Column("launch"), Column("A ×", NUMBER), Column("B ×", NUMBER)]
    if launches := [[clean(row.call), _count(row.a), _count(row.b)] for row in step.launches if row.a != row.b]:
        yield Text()
        yield table(columns, launches)


def _time(time: TimeChange) -> list[str]:
    a, b = (None if side is None else side.median for side in (time.a, time.b))
    return [time.what, _shown(a), _shown(b), _ratio(a, b)]


def _work(row: WorkChange) -> list[str]:
    a, b = (None if side is None else side.us for side in (row.a, row.b))
    counts = [_count(side.count if side else 0) for side in (row.a, row.b)]
    return [
        "" if row.change == "same" else row.change,
        *counts,
        _shown(a),
        _shown(b),
        _ratio(a, b),
        clean(row.short),
        _shapes(row),
    ]


def _shapes(row: WorkChange) -> str:
    """The shapes, or from which to which they changed."""
    a, b = (_shape(side.shapes) if side else "" for side in (row.a, row.b))
    return f"{a} → {b}" if a and b and a != b else a or b


def _shape(shapes: tuple[Shape, ...]) -> str:
    distinct = dict.fromkeys((shape.grid, shape.block) for shape in shapes)
    if len(distinct) > 1:
        return f"{len(distinct)} shapes"
    return " · ".join(" × ".join(map(str, dims[:3])) for dims in next(iter(distinct)) if dims)


def _us(side: Side | None) -> float:
    return side.us or 0.0 if side else 0.0


def _count(count: int) -> str:
    return str(count) if count else ""


def _shown(us: float | None) -> str:
    return "" if us is None else shown_us(us)


def _ratio(a: float | None, b: float | None) -> str:
    return f"{b / a:.2f}" if a and b is not None else ""
