"""Sweeps in the ladder, as facts and in an export, on the small recording that small_sweeps.py explains."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import small_sweeps

from build_traces import claims, export, imported
from build_traces.errors import EntryError, FactError, LadderError, RecordingError
from build_traces.ladder import load
from build_traces.recording import open_recording
from build_traces.sweep_export import SweepRows
from build_traces.sweep_vocabulary import CALL_FIELDS, SWEEP_FACTS


@pytest.fixture
def swept(repository):
    small_sweeps.add(repository)
    return repository


# In the ladder

STAGE = '[[stage]]\nname = "one"\n'
SWEEP = '[[sweep]]\nname = "two"\nsnippet = "shapes"\nsetup = "ways.fast"\n'


def write(folder: Path, toml: str) -> Path:
    (folder / "ladder.toml").write_text(toml, encoding="utf-8")
    for name in ("one", "shapes", "ways"):
        (folder / f"{name}.py").write_text("", encoding="utf-8")
    return folder


def test_a_sweep_is_read_beside_the_stages(tmp_path: Path) -> None:
    more = 'title = "Fast"\ncaches = "warm"\nlog = true\nchapter = 11\nseconds = 5\n'
    loaded = load(write(tmp_path, STAGE + SWEEP + more))
    (sweep,) = loaded.sweeps
    assert loaded.names == ("one",) and loaded.sweep_names == ("two",)
    assert [one.name for one in loaded.recorded] == ["one", "two"]
    assert [one.name for one in loaded.select([])] == ["one", "two"]
    assert [one.name for one in loaded.select(["two"])] == ["two"]
    assert sweep.snippets == (tmp_path / "shapes.py", tmp_path / "ways.py")
    assert (sweep.title, sweep.caches, sweep.log, sweep.chapter, sweep.seconds) == ("Fast", "warm", True, 11, 5)
    plain = load(write(tmp_path, STAGE + SWEEP)).sweep("two")
    assert (plain.title, plain.caches, plain.log, plain.chapter) == ("two", "empty", False, 0)


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        (SWEEP.replace('"two"', '"no good"'), "no name of a fact's path"),
        (SWEEP.replace('"two"', '"one"'), "listed twice"),
        (SWEEP + SWEEP, "listed twice"),
        (SWEEP + 'colour = "red"\n', "unknown keys ['colour']"),
        ('[[sweep]]\nname = "two"\n', "has no snippet and no setup"),
        (SWEEP + "title = 3\n", "has title = 3, which is no str"),
        (SWEEP + "log = 1\n", "has log = 1, which is no bool"),
        (SWEEP + "chapter = true\n", "has chapter = True, which is no int"),
        (SWEEP + 'caches = "hot"\n', "has caches = 'hot'"),
        (SWEEP.replace("ways.fast", "fast"), "has the set-up 'fast'"),
        (SWEEP.replace("ways.fast", "gone.fast"), "has no gone.py"),
        (SWEEP.replace('"shapes"', '"gone"'), "has no gone.py"),
    ],
)
def test_a_wrong_sweep_says_what_is_wrong_and_where(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(LadderError) as caught:
        load(write(tmp_path, STAGE + toml))
    assert says in str(caught.value) and "ladder.toml" in str(caught.value)


def test_an_unknown_name_lists_stages_and_sweeps(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, STAGE + SWEEP))
    with pytest.raises(LadderError, match="the stages are one; the sweeps are two"):
        loaded.select(["three"])
    with pytest.raises(LadderError, match="the sweeps are two"):
        loaded.sweep("one")


def test_every_sweep_of_the_guide_says_how_long_it_takes_and_who_measures_it() -> None:
    loaded = load(Path("snippets"))
    assert loaded.sweeps and {sweep.chapter for sweep in loaded.sweeps} == {11}
    assert all(sweep.seconds > 1 for sweep in loaded.sweeps)


# Facts

VALUES = [
    ("grow_compiled.call.64.first_ms", 2100.0),
    ("grow_compiled.call.64.first_ms.low", 2000.0),
    ("grow_compiled.call.64.first_ms.high", 2200.0),
    ("grow_compiled.call.64.second_ms", 1050.0),
    ("grow_compiled.call.32.tenth_ms", 51.0),
    ("grow_compiled.call.32.gpu_us", 51.0),
    ("grow_compiled.call.64.graphs", 1),
    ("grow_compiled.call.32.graphs", 2),
    ("grow_compiled.call.1.graphs", 2),
    ("grow_compiled.call.32.new_graphs", 1),
    ("grow_compiled.call.1.new_graphs", 0),
    ("grow_compiled.call.1.refused", 1),
    ("grow_compiled.call.64.refused", 0),
    ("grow_compiled.call.64.reason", ""),
    ("grow_compiled.call.32.reason", small_sweeps.REASON),
    ("grow_compiled.call.1.reason", "0/1: 2 <= x.size()[0]"),
    ("grow_compiled.call.32.guards", 57),
    ("grow_compiled.call.32.dynamo_ms", 100.0),
    ("grow_compiled.call.32.backend_ms", 300.0),
    ("grow_plain.call.32.backend_ms", 0.0),
    ("grow_compiled.call.64.cache_hits", 0),
    ("grow_compiled.call.1.kernel_count", 3),
    ("grow_compiled.call.1.kernels", "gemm_64, gelu, mul"),
    ("grow_compiled.graphs", 2),
    ("grow_plain.graphs", 0),
    ("grow_compiled.calls", 3),
    ("grow_compiled.first_calls_ms", 2616.0),  # 2100 + 510 + 6
    ("grow_compiled.processes", 3),
    ("grow_compiled.setup", "ways.compiled"),
]


@pytest.mark.parametrize(("path", "value"), VALUES)
def test_a_fact_of_a_sweep(swept, path: str, value: object) -> None:
    found = swept.facts().get(path)
    assert found.value == pytest.approx(value) if isinstance(value, float) else found.value == value
    assert "2026-12-01" in found.stamp


def test_every_fact_of_a_sweep_is_among_these() -> None:
    paths = [path.split(".") for path, _ in VALUES]
    assert {path[3] for path in paths if path[1] == "call"} == set(CALL_FIELDS)
    assert {path[1] for path in paths} == set(SWEEP_FACTS)


def test_a_fact_of_a_sweep_has_its_unit(swept) -> None:
    units = {name: swept.facts().get(f"grow_compiled.call.32.{name}").unit for name in ("first_ms", "gpu_us", "graphs")}
    assert units == {"first_ms": "ms", "gpu_us": "µs", "graphs": ""}
    assert swept.facts().get("grow_compiled.first_calls_ms").unit == "ms"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("grow_compile.graphs", "grow_compiled"),
        ("grow_compiled.graph", "graphs"),
        ("grow_compiled.call.64", "names no field"),
        ("grow_compiled.call", "needs a call and a field"),
        ("grow_compiled.call.65.first_ms", "grow_compiled.call.64"),
        ("grow_compiled.call.64.first", "first_ms"),
        ("grow_compiled.graphs.64", "takes no key"),
        ("grow_compiled.graphs.low", "no spread"),
        ("grow_plain.call.64.guards", "compiled nothing"),
        ("grow_compiled.call.1.guards", "compiled nothing"),
        ("grow_compiled.step1.graphs", "no fact"),
    ],
)
def test_a_wrong_path_says_what_is_wrong(swept, path: str, says: str) -> None:
    with pytest.raises(FactError) as caught:
        swept.facts().get(path)
    assert says in str(caught.value)


def test_a_sweep_is_no_stage(swept) -> None:
    with pytest.raises(FactError, match="grow_plain is a sweep and no stage"):
        swept.facts().view("grow_plain")
    with pytest.raises(FactError, match="no sweep 'mlp_eager'"):
        swept.facts().sweep("mlp_eager")


def test_what_differs_by_process_is_no_fact_and_times_are(swept) -> None:
    made = small_sweeps.record(swept, "grow_compiled")
    last = made.processes[2]
    other = msgspec.structs.replace(last.calls[1], graphs=(), kernels=("gemm_128",))
    calls = (last.calls[0], other, last.calls[2])
    processes = (*made.processes[:2], msgspec.structs.replace(last, calls=calls))
    small_sweeps.write(swept, msgspec.structs.replace(made, processes=processes))
    facts = swept.facts()
    for fact, values in (("graphs", "2; 1"), ("new_graphs", "1; 0"), ("kernels", "gemm_256, triton_0; gemm_128")):
        with pytest.raises(FactError, match=f"call.32.{fact} of sweep grow_compiled differs by process: {values}"):
            facts.get(f"grow_compiled.call.32.{fact}")
    assert facts.get("grow_compiled.call.32.first_ms").value == 510.0
    assert facts.get("grow_compiled.call.64.graphs").value == 1


def test_a_claim_stands_on_facts_of_sweeps(swept) -> None:
    folder = swept.root / "docs" / "claims"
    folder.mkdir(exist_ok=True)
    entry = '[[claim]]\nid = "x"\nsays = "It compiles twice."\ncheck = "{grow_compiled.call.1.%s} == 2"\n'

    def judged(fact: str) -> claims.Judgement:
        (folder / "x.toml").write_text(entry % fact, encoding="utf-8")
        (claim,) = claims.load(folder, swept.root / "docs").all
        return claims.judge(claim, swept.facts(), strict=True)

    assert judged("graphs").verdict is claims.Verdict.HOLDS
    assert judged("refused").verdict is claims.Verdict.FAILS
    with pytest.raises(EntryError, match="no field of a call 'graph'"):
        judged("graph")


# In an export


@pytest.fixture
def packed(swept) -> bytes:
    return export.encode(export.export(open_recording(swept.recording), load(swept.root / "snippets")))


def test_an_export_holds_a_sweep_whole(swept, packed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "export.json.gz"
    path.write_bytes(gzip.compress(packed))
    back, ladder = imported.read(path)
    assert ladder.sweep_names == ("grow_compiled", "grow_plain")
    for name in ladder.sweep_names:
        assert back.sweep(name) == small_sweeps.record(swept, name)
        ours = load(swept.root / "snippets").sweep(name)
        assert (ladder.sweep(name).title, ladder.sweep(name).setup) == (ours.title, ours.setup)
    from build_traces.facts import Facts

    facts = Facts(back, ladder)
    assert [facts.get(path).value for path, _ in VALUES] == [swept.facts().get(path).value for path, _ in VALUES]


def test_an_export_without_sweeps_is_as_it_was(repository) -> None:
    made = export.encode(export.export(open_recording(repository.recording), load(repository.root / "snippets")))
    assert b'"sweeps"' not in made


def test_a_sweep_that_is_not_fresh_is_left_out_and_says_why(swept) -> None:
    (swept.root / "snippets" / "grow.py").write_text("SHAPES = 4\n", encoding="utf-8")
    small_sweeps.write(swept, small_sweeps.record(swept, "grow_plain"))
    made = export.export(open_recording(swept.recording), load(swept.root / "snippets"))
    assert [sweep.name for sweep in made.sweeps or ()] == ["grow_plain"]
    assert made.left_out["grow_compiled"].startswith("stale")
    back, _ = imported.parse(export.encode(made))
    with pytest.raises(RecordingError, match=r"not in the export of .*: stale"):
        back.sweep("grow_compiled")


Damage = Callable[[SweepRows], SweepRows]


def broken(rows: SweepRows, **changes: object) -> SweepRows:
    return msgspec.structs.replace(rows, **changes)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda rows: broken(rows, protocol=2), "protocol 2"),
        (lambda rows: broken(rows, name="mlp_eager"), "twice"),
        (lambda rows: broken(rows, name="no name"), "no name of a Python module"),
        (lambda rows: broken(rows, processes=()), "holds no call"),
        (
            lambda rows: broken(
                rows,
                processes=tuple(
                    broken(p, calls=tuple(broken(c, kernels=(99_999,)) for c in p.calls)) for p in rows.processes
                ),
            ),
            "not in the list of names",
        ),
        (
            lambda rows: broken(
                rows,
                processes=tuple(broken(p, calls=tuple(broken(c, gpu_us=()) for c in p.calls)) for p in rows.processes),
            ),
            "no time samples",
        ),
        (
            lambda rows: broken(
                rows,
                processes=tuple(
                    broken(p, calls=tuple(broken(c, call_ms=(0.0, 1.0)) for c in p.calls)) for p in rows.processes
                ),
            ),
            "took no time",
        ),
    ],
)
def test_a_damaged_export_of_a_sweep_is_refused(swept, damage: Damage, says: str) -> None:
    made = export.export(open_recording(swept.recording), load(swept.root / "snippets"))
    rows = made.sweeps[0]
    damaged = msgspec.structs.replace(made, sweeps=(damage(rows), *made.sweeps[1:]))
    with pytest.raises(imported.DamageError, match=says):
        imported.parse(export.encode(damaged))
