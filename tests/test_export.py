"""build_traces.export and build_traces.imported: an export answers every fact as the recording itself does."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from build_traces import export, imported
from build_traces.errors import BuildTracesError, FactError, NotRecordedError, RecordingError
from build_traces.facts import KERNEL_FIELDS, RECORDING_FACTS, STAGE_FACTS, Facts
from build_traces.imported import DamageError, ImportedRecording
from build_traces.ladder import Ladder, load
from build_traces.recording import Recording, open_recording
from build_traces.stage_view import StageView

ROOT = Path(__file__).parents[1]
LADDER = load(ROOT / "snippets")
FOLDERS = sorted(path.parent for path in (ROOT / "docs" / "recordings").glob("*/environment.json"))
H200 = ROOT / "docs" / "recordings" / "nvidia-h200_torch-2.11.0"

Json = dict[str, Any]


def there_and_back(found: Recording, ladder: Ladder) -> tuple[ImportedRecording, Ladder]:
    return imported.parse(export.encode(export.export(found, ladder)))


def paths(view: StageView) -> Iterator[str]:
    """Every fact that can be asked of a stage: each name, each step, each key that its trace gives."""
    stage, steps = view.stage.name, len(view.trace.steps)
    keys = {
        "[text]": ["", "nvjet", "e", *{kernel.name[:20] for kernel in view.trace.kernels()}],
        "text": ["nvjet", "triton", *{kernel.name[:20] for kernel in view.trace.kernels()}],
        "[call]": ["", *{call.name for call in view.trace.calls}],
        "call": sorted({call.name for call in view.trace.calls}),
        "[op]": ["", *{op.name for op in view.trace.ops}],
        "op": sorted({op.name for op in view.trace.ops}),
        "[row]": ["", "aten::mm", "aten::linear"],
        "n.field": [f"{n}.{field}" for n in range(1, 7) for field in KERNEL_FIELDS],
        "": [""],
    }
    for name, definition in STAGE_FACTS.items():
        for step in range(steps + 1 if definition.by_step else 1):
            for key in keys[definition.key]:
                yield ".".join(filter(None, (stage, f"step{step}" if step else "", name, key)))


def answer(facts: Facts, path: str) -> object:
    try:
        fact = facts.get(path)
    except BuildTracesError as error:
        return error.message
    return fact.value, fact.spread, fact.unit, fact.stamp


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_fact_of_an_export_is_that_of_its_recording(folder: Path) -> None:
    found = open_recording(folder)
    ours = Facts(found, LADDER)
    back, ladder = there_and_back(found, LADDER)
    theirs = Facts(back, LADDER)
    asked = [f"recording.{name}" for name in RECORDING_FACTS]
    for stage in ladder.names:
        asked += paths(ours.view(stage))
    differ = [path for path in asked if answer(ours, path) != answer(theirs, path)]
    assert differ == []
    assert len(asked) > 500 * len(ladder.names)
    answered = [path for path in asked if isinstance(answer(ours, path), tuple)]
    assert len(answered) > len(asked) / 3


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_imported_is_what_was_recorded(folder: Path) -> None:
    found = open_recording(folder)
    back, ladder = there_and_back(found, LADDER)
    assert back.environment == found.environment
    assert back.name == found.name
    for stage in ladder.stages:
        assert back.stage(stage.name) == found.stage(stage.name)
        assert LADDER.stage(stage.name).against == stage.against
        ours, theirs = StageView(found, stage, LADDER), StageView(back, stage, LADDER)
        assert ours.work_rows(("kernel", "memset", "memcpy")) == theirs.work_rows(("kernel", "memset", "memcpy"))
        assert_same_events(found, back, stage.name)


def assert_same_events(ours: Recording, theirs: Recording, stage: str) -> None:
    """Equal but for what the format says it leaves out: correlation ids and shapes."""
    a, b = ours.trace(stage), theirs.trace(stage)
    left_out = {"correlation": -1}
    assert a.steps == b.steps
    assert [msgspec.structs.replace(call, **left_out) for call in a.calls] == list(b.calls)
    assert [msgspec.structs.replace(one, **left_out) for one in a.activities] == list(b.activities)
    fields = ("index", "parent", "depth", "kind", "name", "thread", "step", "start_us", "dur_us")
    for mine, other in zip(a.ops, b.ops, strict=True):
        assert [getattr(mine, field) for field in fields] == [getattr(other, field) for field in fields]


def test_the_export_of_the_h200_recording_is_small() -> None:
    raw = export.encode(export.export(open_recording(H200), LADDER))
    assert len(gzip.compress(raw)) < 200_000
    assert raw.startswith(b'{"format":"build-traces recording","schema":1,"protocol":')


def test_an_export_says_what_it_leaves_out_and_why(repository) -> None:
    snippet = repository.root / "snippets" / "mlp_compiled.py"
    snippet.write_text(snippet.read_text() + "# changed\n")
    (repository.recording / "mlp_cudagraph" / "stage.json").unlink()
    made = export.export(open_recording(repository.recording), load(repository.root / "snippets"))
    assert [stage.rung.name for stage in made.stages] == ["linear_cold", "mlp_eager"]
    assert made.left_out["mlp_compiled"].startswith("stale: ")
    assert made.left_out["mlp_cudagraph"] == "missing: not recorded yet"
    back, _ = imported.parse(export.encode(made))
    with pytest.raises(NotRecordedError, match=r"not in the export.*not recorded yet"):
        back.stage("mlp_cudagraph")


def test_a_recording_with_no_fresh_stage_cannot_be_exported(repository) -> None:
    shared = repository.root / "snippets" / "shared.py"
    shared.write_text("SIZE = 4096\n")
    with pytest.raises(RecordingError, match=r"no stage of .* is fresh"):
        export.export(open_recording(repository.recording), load(repository.root / "snippets"))


def test_a_process_that_drew_other_kernels_comes_back_as_it_was(repository) -> None:
    record = repository.record("mlp_eager")
    other = record.processes[0]
    work = (msgspec.structs.replace(other.work[0], grid=(7, 7, 7), us=(1.0, None, 2.0)), *other.work[1:])
    drawn = msgspec.structs.replace(other, work=work)
    repository.write_stage(msgspec.structs.replace(record, processes=(drawn, *record.processes[1:])))
    found = open_recording(repository.recording)
    back, _ = there_and_back(found, load(repository.root / "snippets"))
    assert back.stage("mlp_eager") == found.stage("mlp_eager")


def test_a_table_without_gpu_times_is_refused_as_in_the_recording(repository) -> None:
    (repository.recording / "mlp_eager" / "profile.txt").write_text("nothing\n")
    found = open_recording(repository.recording)
    ladder = load(repository.root / "snippets")
    back, _ = there_and_back(found, ladder)
    for one in (found, back):
        with pytest.raises(FactError, match="no GPU times"):
            Facts(one, ladder).get("mlp_eager.table_self_cuda_us")


def test_the_table_as_text_is_not_in_an_export(repository) -> None:
    back, _ = there_and_back(open_recording(repository.recording), load(repository.root / "snippets"))
    with pytest.raises(RecordingError, match="and not its text"):
        back.profile("mlp_eager")


# --- files --------------------------------------------------------------------------------------------------------


@pytest.fixture
def exported(repository) -> Json:
    """An export of the small repository, as JSON."""
    made = export.export(open_recording(repository.recording), load(repository.root / "snippets"))
    return json.loads(export.encode(made))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_file_is_read_plain_or_packed(exported: Json, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "export.json"
    path.write_bytes(pack(json.dumps(exported).encode()))
    assert imported.is_export(path)
    back, ladder = imported.read(path)
    assert ladder.names == ("linear_cold", "mlp_eager", "mlp_compiled", "mlp_cudagraph")
    assert Facts(back, ladder).get("mlp_eager.kernel_count").value == 5


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"traceEvents": []}', b"\x1f\x8b", b"x" * 1000, b'{"x": "format"}'])
def test_other_files_are_no_exports(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(raw)
    assert not imported.is_export(path)
    with pytest.raises(RecordingError, match="is no export of a recording"):
        imported.read(path)


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    assert not imported.is_export(tmp_path / "none.json")
    with pytest.raises(RecordingError, match=r"none\.json cannot be read: No such file"):
        imported.read(tmp_path / "none.json")


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (imported.MAX_BYTES + 1)))
    with pytest.raises(RecordingError, match="more than 20 MB"):
        imported.read(path)


def stage(made: Json) -> Json:
    return made["stages"][1]


def change(*place: str | int, to: object) -> Callable[[Json], None]:
    """Set what stands at this place of the export."""

    def apply(made: Json) -> None:
        value: Any = made
        for key in place[:-1]:
            value = value[key]
        value[place[-1]] = to

    return apply


DAMAGE = {
    "another schema": (change("schema", to=2), "schema 2 and protocol 1; this reader knows schema 1"),
    "another protocol": (change("protocol", to=9), "schema 1 and protocol 9"),
    "another format": (change("format", to="something"), "calls itself 'something'"),
    "a format to print": (change("format", to="\x1b[2J"), r"calls itself '\\x1b\[2J'"),
    "no environment": (lambda made: made.pop("environment"), "environment"),
    "no stages": (change("stages", to=[]), "no stage in it"),
    "a stage twice": (lambda made: made["stages"].append(made["stages"][0]), "a stage is in it twice"),
    "a stage's name": (change("stages", 0, "rung", "name", to="../x"), "no name of a Python module"),
    "a name out of the list": (change("stages", 1, "trace", "ops", 0, 1, to=10**6), "a name is not in the list"),
    "a negative name": (change("stages", 1, "work", 0, 1, to=-5), "a name is not in the list"),
    "a stream out of the list": (change("stages", 1, "work", 0, 5, to=10**6), "a stream is not in the list"),
    "an op inside itself": (change("stages", 1, "trace", "ops", 3, 2, to=3), "inside one that is not before it"),
    "an op inside a later one": (change("stages", 1, "trace", "ops", 0, 2, to=5), "inside one that is not before it"),
    "a call in no op": (change("stages", 1, "trace", "calls", 0, 2, to=10**6), "a call points to no op"),
    "an activity of no call": (change("stages", 1, "trace", "activities", 0, 1, to=99_999), "points to no call"),
    "an activity of no work": (change("stages", 1, "trace", "activities", 0, 0, to=99_999), "points to no work"),
    "work of no process": (change("stages", 1, "processes", 0, "work", 0, 0, to=-1), "ran work that is not listed"),
    "events out of order": (change("stages", 1, "trace", "ops", 0, 5, to=10**12), "not in the order of their start"),
    "a negative duration": (change("stages", 1, "trace", "ops", 0, 6, to=-1), "ends before it begins"),
    "a time that is none": (change("stages", 1, "processes", 0, "time_us", 0, to=0), "a step took no time"),
    "no times": (change("stages", 1, "processes", 0, "time_us", to=[]), "no time samples"),
    "other steps": (change("stages", 1, "processes", 0, "cpu_us", to=[1.0]), "times of other steps than the trace"),
    "no processes": (change("stages", 1, "processes", to=[]), "process 2 is published, there are 0"),
    "another process": (change("stages", 1, "published_process", to=9), "process 9 is published"),
    "other kernels' bytes": (lambda made: stage(made)["hbm"].pop(), "HBM bytes of 4 kernels"),
    "a kind of work": (change("stages", 1, "work", 0, 0, to="thought"), "Invalid enum value"),
    "a number too large": (change("stages", 1, "flops", to=10**22), "too large|out of range|int"),
    "a float too large": (change("environment", "l2_bytes", to=1e300), "too large|Expected `int`"),
    "a time too large": (change("stages", 1, "processes", 0, "error", to=1e300), "too large for anything"),
    "text for a number": (change("stages", 1, "flops", to="many"), "flops"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_an_export_in_which_something_does_not_fit_is_refused_and_says_what(exported: Json, case: str) -> None:
    damage, said = DAMAGE[case]
    damage(exported)
    with pytest.raises(DamageError, match=said):
        imported.parse(json.dumps(exported).encode())


def test_an_export_cut_anywhere_is_refused(exported: Json) -> None:
    raw = json.dumps(exported).encode()
    for at in range(0, len(raw), len(raw) // 97):
        with pytest.raises(DamageError):
            imported.parse(raw[:at])
