"""build_traces.difference: two traces, two recordings, and which of their work is gone, new or changed."""

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from small_traces import kernel, launch, memcpy, step, text

from build_traces import difference, export, ladder, recording
from build_traces.difference import Difference
from build_traces.difference_report import report
from build_traces.errors import RecordingError
from build_traces.terminal import ascii_json, console

Row = dict[str, Any]
SNIPPETS = Path("snippets")


def compared(tmp_path: Path, a: list[Row], b: list[Row]) -> Difference:
    """Two traces of these events."""
    sources = []
    for name, rows in (("a", a), ("b", b)):
        path = tmp_path / f"{name}.json"
        path.write_bytes(text(*rows))
        sources.append(difference.open_source(path, SNIPPETS))
    return difference.between(*sources, "a", "b")


def printed(found: Difference) -> str:
    screen = io.StringIO()
    for part in report(found):
        console(screen).print(part)
    return screen.getvalue()


BEFORE = [
    step(1, 0, 100),
    launch(1, 0, 1),
    launch(2, 2, 1),
    launch(3, 4, 1),
    launch(4, 6, 1),
    kernel("gemm", 1, 10, 20),
    kernel("gelu", 2, 30, 10),
    kernel("gemm", 3, 40, 20),
    kernel("mul", 4, 60, 10),
]
AFTER = [
    step(1, 0, 80),
    launch(1, 0, 1),
    launch(3, 4, 1),
    launch(5, 6, 1),
    kernel("gemm", 1, 10, 21),
    kernel("gemm", 3, 40, 21, grid=[4, 1, 1]),
    kernel("fused", 5, 65, 8),
]


def test_work_is_gone_new_or_changed_and_its_time_is_on_both_sides(tmp_path: Path) -> None:
    (only,) = compared(tmp_path, BEFORE, AFTER).steps
    found = {
        row.name: (row.change, row.a and (row.a.count, row.a.us), row.b and (row.b.count, row.b.us))
        for row in only.work
    }
    assert found == {
        "gemm": ("changed", (2, 40), (2, 42)),  # one of the two has another grid
        "gelu": ("gone", (1, 10), None),
        "mul": ("gone", (1, 10), None),
        "fused": ("new", None, (1, 8)),
    }
    assert [(time.what, time.a.median, time.b.median) for time in only.times] == [
        ("step", 100, 80),
        ("GPU work", 60, 50),
    ]
    assert [(row.call, row.a, row.b) for row in only.launches] == [("cudaLaunchKernel", 4, 3)]


def test_a_trace_does_not_differ_from_itself(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, BEFORE)
    assert {row.change for row in found.steps[0].work} == {"same"}
    assert found.fields == ()


def test_another_count_is_a_change(tmp_path: Path) -> None:
    rows = [step(1, 0, 100), launch(1, 0, 1), kernel("k", 1, 10, 5)]
    more = [*rows, launch(2, 2, 1), kernel("k", 2, 20, 5)]
    assert [row.change for row in compared(tmp_path, rows, more).steps[0].work] == ["changed"]


def test_a_kernel_and_a_memcpy_of_one_name_are_two_things(tmp_path: Path) -> None:
    a = [step(1, 0, 50), launch(1, 0, 1), kernel("x", 1, 10, 5)]
    b = [step(1, 0, 50), launch(1, 0, 1), memcpy("x", 1, 10, 5)]
    assert [(row.kind, row.change) for row in compared(tmp_path, a, b).steps[0].work] == [
        ("kernel", "gone"), ("memcpy", "new"),
    ]  # fmt: skip


def test_the_kind_of_step_that_runs_most_often_is_compared(tmp_path: Path) -> None:
    def steps(*names: str) -> list[Row]:
        return [
            row
            for n, name in enumerate(names)
            for row in (step(n, 100 * n, 100), launch(n, 100 * n, 1), kernel(name, n, 100 * n + 10, 5))
        ]

    (only,) = compared(tmp_path, steps("warm", "k", "k"), steps("k", "k", "k", "odd")).steps
    assert (only.a, only.b) == ("2 of 3 steps, from step 1", "3 of 4 steps, from step 0")
    assert [row.change for row in only.work] == ["same"]


def test_a_trace_without_steps_is_compared_as_a_whole(tmp_path: Path) -> None:
    rows = [launch(1, 0, 1), kernel("k", 1, 10, 5)]
    found = compared(tmp_path, rows, [step(1, 0, 20), *rows])
    assert found.steps[0].a == "the whole file"
    assert [(field.what, field.a, field.b) for field in found.fields] == [("steps", "none", "1")]


def test_what_the_files_say_of_the_machines_is_compared(tmp_path: Path) -> None:
    for name, gpu in (("a", "X"), ("b", "Y")):
        gpus = [{"id": 0, "name": gpu}]
        (tmp_path / f"{name}.json").write_bytes(text(step(1, 0, 9), kernel("k", 1, 1, 1), deviceProperties=gpus))
    sources = [difference.open_source(tmp_path / f"{name}.json", SNIPPETS) for name in "ab"]
    assert [(field.what, field.a, field.b) for field in difference.between(*sources, "a", "b").fields] == [
        ("GPUs", "X", "Y")
    ]


# --- recordings ---------------------------------------------------------------------------------------------------


@pytest.fixture
def exported(repository, tmp_path: Path) -> Path:
    """An export of the small repository."""
    made = export.export(recording.open_recording(repository.recording), ladder.load(SNIPPETS))
    path = tmp_path / "export.json"
    path.write_bytes(export.encode(made))
    return path


def test_a_recording_does_not_differ_from_its_export(repository, exported: Path) -> None:
    sources = [difference.open_source(path, SNIPPETS) for path in (repository.recording, exported)]
    found = difference.between(*sources, "a", "b")
    assert [step.stage for step in found.steps] == ["linear_cold", "mlp_eager", "mlp_compiled", "mlp_cudagraph"]
    assert {row.change for step in found.steps for row in step.work} == {"same"}
    assert all(time.a == time.b for step in found.steps for time in step.times)
    assert (found.fields, found.only_a, found.only_b) == ((), (), ())
    assert "Equal in A and B: linear_cold, mlp_eager, mlp_compiled, mlp_cudagraph" in printed(found)


def test_stages_times_and_machines_of_two_recordings_are_compared(repository, exported: Path) -> None:
    made = json.loads(exported.read_bytes())
    made["environment"]["gpu"] = "Another GPU"
    made["stages"] = made["stages"][:2]
    for process in made["stages"][1]["processes"]:
        process["time_us"] = [2 * us for us in process["time_us"]]
    exported.write_text(json.dumps(made).replace(": ", ":").replace(", ", ","), encoding="utf-8")
    sources = [difference.open_source(path, SNIPPETS) for path in (repository.recording, exported)]
    found = difference.between(*sources, "a", "b")
    assert [(field.what, field.a, field.b) for field in found.fields] == [("gpu", "NVIDIA H200", "Another GPU")]
    assert found.only_a == ("mlp_compiled", "mlp_cudagraph")
    (mlp,) = (step for step in found.steps if step.stage == "mlp_eager")
    # the median process has 110 + 2, conftest.py
    assert [(time.a.median, time.b.median) for time in mlp.times if time.what == "GPU time"] == [(112, 224)]
    shown = printed(found)
    assert "Another GPU" in shown
    assert "Only in A: mlp_compiled, mlp_cudagraph" in shown


def test_a_trace_and_a_recording_are_not_compared(repository) -> None:
    trace = repository.recording / "mlp_eager" / "trace.json.gz"
    sources = [difference.open_source(path, SNIPPETS) for path in (repository.recording, trace)]
    with pytest.raises(RecordingError, match="one of the two is a trace"):
        difference.between(*sources, "a", "b")


# --- for a person -------------------------------------------------------------------------------------------------


def test_the_table_shows_what_is_gone_and_new_and_the_ratio_of_times(tmp_path: Path) -> None:
    lines = [line.split() for line in printed(compared(tmp_path, BEFORE, AFTER)).splitlines()]
    assert ["step", "100.0", "80.0", "0.80"] in lines
    assert ["gone", "1", "10.0", "gelu", "2", "×", "1", "×", "1", "·", "128", "×", "1", "×", "1"] in lines
    assert ["new", "1", "8.0", "fused", "2", "×", "1", "×", "1", "·", "128", "×", "1", "×", "1"] in lines
    assert ["cudaLaunchKernel", "4", "3"] in lines


def test_a_long_list_shows_what_changed_most(tmp_path: Path) -> None:
    def steps(slow: int) -> list[Row]:
        names = [f"k{n}" for n in range(100)]
        rows = [row for n, name in enumerate(names) for row in (launch(n, n, 0.5),
                kernel(name, n, 200 + 20 * n, 15 if n == slow else 5))]  # fmt: skip
        return [step(1, 0, 5_000), *rows]

    shown = printed(compared(tmp_path, steps(-1), steps(77)))
    assert "k77" in shown
    assert "60 more rows whose time differs less" in shown


def test_the_json_is_ascii_and_holds_everything(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, [*AFTER, launch(9, 70, 1), kernel("\x1b[2Jü\x9b", 9, 75, 1)])
    text = ascii_json(found)
    assert text.isascii()
    assert "\x1b" not in text
    assert msgspec.json.decode(text, type=Difference) == found
