"""What a trace says, as tables and sentences for a person: sections with a title, and what each shows."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from build_traces.inspection import (
    About,
    Gap,
    Gpu,
    Idle,
    Inspection,
    Launches,
    StepKind,
    StepSays,
    Why,
    Work,
    short_name,
)
from build_traces.terminal import NUMBER, Column, clean, plural, section, shown_us, table

MOST_STEPS = 12
MOST_GPUS = 16
MOST_KINDS = 3
MOST_ROWS = 25
MOST_OTHERS = 10

VERSION_NAMES = {
    "cuda_runtime_version": "CUDA runtime",
    "cuda_driver_version": "CUDA driver",
    "cupti_version": "CUPTI",
    "hip_runtime_version": "HIP runtime",
    "hip_driver_version": "HIP driver",
}
OPTION_NAMES = {
    "record_shapes": "shapes",
    "profile_memory": "memory",
    "with_stack": "stacks",
    "with_flops": "FLOPs",
    "with_modules": "modules",
}
WHY: dict[Why, str] = {
    "late": "launched late",
    "queued": "queued",
    "unknown": "launch not in the file",
    "end": "end of the step",
}
LEGEND = (
    "Launched late: the CPU was not done with the launch when the GPU went idle. "
    "Queued: it was, and the GPU waited for something else."
)


def report(inspection: Inspection) -> Iterator[RenderableType]:
    """The report from top to bottom, a line or a table each."""
    yield from _about(inspection)
    yield from _steps(inspection)
    by_size = sorted(inspection.kinds, key=lambda kind: -len(kind.steps))
    for kind in by_size[:MOST_KINDS]:
        yield from _kind(kind, inspection.whole_file)
    if len(by_size) > MOST_KINDS:
        yield Text(f"{len(by_size) - MOST_KINDS:,} more kinds of step ran other work; --json has them all")
    yield from _idle(inspection)
    yield from _ops(inspection)
    yield from _memcpys(inspection)
    yield from _launchless(inspection)


def _about(inspection: Inspection) -> Iterator[RenderableType]:
    about = inspection.about
    counts = {
        "op": about.ops,
        "annotation": about.annotations,
        "call": about.calls,
        "kernel": about.kernels,
        "memset": about.memsets,
        "memcpy": about.memcpys,
    }
    said = ", ".join(plural(count, word) for word, count in counts.items() if count)
    yield Text(clean(about.source, 400), style="bold")
    yield Text(f"{plural(about.events, 'event')}: {said or 'none that is read'}; {plural(about.threads, 'CPU thread')}")
    yield from (Text(_gpu(gpu)) for gpu in about.gpus[:MOST_GPUS])
    if len(about.gpus) > MOST_GPUS:
        yield Text(f"… and {len(about.gpus) - MOST_GPUS:,} more GPUs; --json has them all")
    if facts := "; ".join(_facts(about)):
        yield Text(facts)
    if not about.kernels + about.memsets + about.memcpys:
        yield Text("nothing ran on a GPU in this trace")
    if about.negative_durations:
        verb = "counts" if about.negative_durations == 1 else "count"
        yield Text(f"{plural(about.negative_durations, 'event')} ended before the begin, and {verb} as no time")
    if inspection.whole_file:
        yield Text("there is no ProfilerStep in this file: the whole of it counts as one step")


def _gpu(gpu: Gpu) -> str:
    facts = [clean(gpu.name) or "its name is not in the file"]
    facts += [f"{gpu.memory_bytes / 1e9:.0f} GB"] if gpu.memory_bytes else []
    facts += [f"{gpu.multiprocessors} multiprocessors"] if gpu.multiprocessors else []
    facts += [f"compute capability {gpu.capability}"] if gpu.capability else []
    facts += [] if gpu.activities else ["ran nothing"]
    return f"GPU {gpu.device}: " + ", ".join(facts)


def _facts(about: About) -> Iterator[str]:
    for name, number in about.versions.items():
        cuda = name.startswith("cuda")
        yield f"{VERSION_NAMES[name]} {f'{number // 1000}.{number % 1000 // 10}' if cuda else number}"
    if about.rank is not None and about.world_size:
        yield f"rank {about.rank} of {about.world_size}" + (f", {clean(about.backend)}" if about.backend else "")
    if about.options:
        yield f"recorded with {', '.join(OPTION_NAMES[option] for option in about.options)}"


# Steps


def _steps(inspection: Inspection) -> Iterator[RenderableType]:
    several = len(inspection.steps[0].gpus) > 1
    columns = [
        Column("step", NUMBER),
        Column("starts at µs", NUMBER),
        Column("takes µs", NUMBER),
        *([Column("GPU", NUMBER)] if several else []),
        Column("GPU busy µs", NUMBER),
        Column("idle %", NUMBER),
        Column("launched"),
    ]
    shown = inspection.steps if len(inspection.steps) <= MOST_STEPS else inspection.steps[: MOST_STEPS - 2]
    yield from section("Steps")
    yield table(columns, [row for step in shown for row in _step(step, inspection, several)])
    if len(shown) < len(inspection.steps):
        yield Text(f"… and {len(inspection.steps) - len(shown):,} more steps; --json has them all")


def _step(step: StepSays, inspection: Inspection, several: bool) -> Iterator[list[str]]:
    first = [_number(step.number), shown_us(step.start_us), shown_us(step.us)]
    launched = _launched(inspection.kinds[step.kind])
    if not step.gpus:
        yield [*first, "", "", launched]
    for gpu in step.gpus[:MOST_GPUS]:
        which = [str(gpu.device)] if several else []
        yield [*first, *which, shown_us(gpu.busy_us), f"{gpu.idle_percent:.1f}", launched]
        first, launched = ["", "", ""], ""


def _launched(kind: StepKind) -> str:
    counts = {
        what: sum(work.count for work in kind.work if work.kind == what) for what in ("kernel", "memset", "memcpy")
    }
    launches = sum(launches.count for launches in kind.launches)
    said = ", ".join(plural(count, what) for what, count in counts.items() if count)
    return f"{said} by {plural(launches, 'launch', 'launches')}" if said else "no GPU work"


def _kind(kind: StepKind, whole_file: bool) -> Iterator[RenderableType]:
    if not kind.work:
        return
    which, many = "the file" if whole_file else _which(kind.steps), len(kind.steps) > 1
    rows: Sequence[Work] = kind.work
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda work: -work.us.median)[:MOST_ROWS]
    order = "in the order they run" if len(rows) == len(kind.work) else f"the {len(rows)} that take the most time"
    time = f"{shown_us(kind.gpu_us.median)} µs{' a step' if many else ''}"
    columns = [
        Column("×", NUMBER),
        Column("µs", NUMBER),
        *([Column("from–to")] if many else []),
        Column("%", NUMBER),
        Column("work", folds=True),
        Column("family"),
        Column("grid · block"),
        Column("op", folds=True),
    ]
    yield from section(f"GPU work of {which}: {time}, {order}")
    yield table(columns, [_work(work, many) for work in rows])
    if len(rows) < len(kind.work):
        percent = max(0.0, 100 - sum(work.percent for work in rows))
        yield Text(f"… and {len(kind.work) - len(rows):,} more rows, {percent:.1f} % of the time; --json has them all")
    columns = [Column("×", NUMBER), Column("starts", NUMBER), Column("CPU µs", NUMBER), Column("call")]
    yield from section(f"Launches of {which}")
    yield table(columns, [_launches(launches) for launches in kind.launches[:MOST_ROWS]])


def _work(work: Work, many: bool) -> list[str]:
    return [
        str(work.count),
        shown_us(work.us.median),
        *([f"{shown_us(work.us.low)}–{shown_us(work.us.high)}"] if many else []),
        f"{work.percent:.1f}",
        clean(work.short),
        work.family,
        " · ".join(" × ".join(map(str, dims[:3])) for dims in (work.grid, work.block) if dims),
        clean(work.op),
    ]


def _launches(launches: Launches) -> list[str]:
    return [str(launches.count), str(launches.started), shown_us(launches.us.median), clean(launches.call)]


# Idle time


def _idle(inspection: Inspection) -> Iterator[RenderableType]:
    if not inspection.idle:
        return
    whole = sum(gpu.idle_us + gpu.busy_us for step in inspection.steps for gpu in step.gpus)
    idle = sum(gpu.idle_us for step in inspection.steps for gpu in step.gpus)
    columns = [
        Column("µs", NUMBER),
        Column("%", NUMBER),
        Column("gaps", NUMBER),
        Column("before work of", folds=True),
        Column("why"),
    ]
    percent = 100 * idle / whole if whole else 0.0
    yield from section(f"The GPU idles {percent:.1f} % of the steps' time, {shown_us(idle)} µs, and behind which op")
    yield table(columns, [_idle_row(row) for row in inspection.idle[:MOST_OTHERS]])
    if len(inspection.idle) > MOST_OTHERS:
        yield Text(f"… and {len(inspection.idle) - MOST_OTHERS:,} more rows; --json has them all")
    columns = [
        Column("step", NUMBER),
        Column("at µs", NUMBER),
        Column("µs", NUMBER),
        Column("after", folds=True),
        Column("before", folds=True),
        Column("of op", folds=True),
        Column("why"),
    ]
    yield from section("The biggest gaps")
    yield table(columns, [_gap(gap) for gap in inspection.gaps[:MOST_OTHERS]])
    yield Text(LEGEND)


def _idle_row(row: Idle) -> list[str]:
    return [shown_us(row.us), f"{row.percent:.1f}", str(row.gaps), _op_of(row), WHY[row.why]]


def _op_of(row: Idle | Gap) -> str:
    return clean(row.op) or (f"{clean(row.call)}, in no op" if row.call else "")


def _gap(gap: Gap) -> list[str]:
    times = [_number(gap.step), shown_us(gap.start_us), shown_us(gap.us)]
    return [*times, clean(short_name(gap.before), 60), clean(short_name(gap.after), 60), _op_of(gap), WHY[gap.why]]


# The rest


def _ops(inspection: Inspection) -> Iterator[RenderableType]:
    if not inspection.silent_ops:
        return
    columns = [Column("×", NUMBER), Column("own µs", NUMBER), Column("op", folds=True), Column("")]
    rows = [
        [str(row.count), shown_us(row.us), clean(row.name), "" if row.count == row.of else f"of {row.of} of that name"]
        for row in inspection.silent_ops[:MOST_OTHERS]
    ]
    yield from section("Ops that launch nothing, in all steps, by the time they take themselves")
    yield table(columns, rows)
    if len(rows) < len(inspection.silent_ops):
        yield Text(f"… and {len(inspection.silent_ops) - len(rows):,} more names; --json has them all")


def _memcpys(inspection: Inspection) -> Iterator[RenderableType]:
    if not inspection.blocking_memcpys:
        return
    columns = [
        Column("×", NUMBER),
        Column("CPU waits µs", NUMBER),
        Column("MB", NUMBER),
        Column("memcpy", folds=True),
        Column("op", folds=True),
        Column("waits in"),
    ]
    rows = [
        [
            str(row.count),
            shown_us(row.us),
            f"{row.bytes / 1e6:.3f}" if row.bytes else "",
            clean(row.name),
            clean(row.op),
            clean(row.waits_in),
        ]
        for row in inspection.blocking_memcpys[:MOST_ROWS]
    ]
    yield from section("Memcpys that block the CPU, in all steps")
    yield table(columns, rows)


def _launchless(inspection: Inspection) -> Iterator[RenderableType]:
    if inspection.unlaunched:
        columns = [Column("×", NUMBER), Column("µs", NUMBER), Column("first at µs", NUMBER), Column("work", folds=True)]
        rows = [
            [str(row.count), shown_us(row.us), shown_us(row.first_us), clean(row.short)]
            for row in inspection.unlaunched[:MOST_ROWS]
        ]
        yield from section("GPU work whose launch is not in the file, such as what warm-up steps left")
        yield table(columns, rows)
    if inspection.outside:
        said = ", ".join(plural(count, what) for what, count in inspection.outside.items())
        yield from section(f"Launched in no step: {said}")


def _which(steps: Sequence[int | None]) -> str:
    """`step 3`, `steps 3–5`, `steps 3, 5, 7, 9, 11 and 12 more`."""
    numbers = [step for step in steps if step is not None]
    if len(numbers) == 1:
        return f"step {numbers[0]}"
    if numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
        return f"steps {numbers[0]}–{numbers[-1]}"
    shown = ", ".join(map(str, numbers[:5]))
    return f"steps {shown}" + (f" and {len(numbers) - 5:,} more" if len(numbers) > 5 else "")


def _number(step: int | None) -> str:
    return "all" if step is None else str(step)
