"""The recordings in docs/recordings, checked by a second route: plain JSON and loops, no trace reader.

What the facts say of a stage must be what its published trace holds, and nothing of the machine
that recorded it may be in any file.
"""

import gzip
import json
import re
import statistics
from collections import Counter
from pathlib import Path

import pytest

from build_traces import ladder, recording
from build_traces.facts import Facts

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "docs" / "recordings"
LADDER = ladder.load(ROOT / "snippets")
STAGES = [(path.parent.parent.name, path.parent.name) for path in sorted(RECORDINGS.glob("*/*/stage.json"))]
STARTS = "compile_starts.jsonl.gz"
GPU = {"kernel": "kernel", "gpu_memset": "memset", "gpu_memcpy": "memcpy"}
PRIVATE = re.compile(r"/(?:tmp|root|home|work|usr|opt)/|torchinductor_|host_name|traceName|[\w.]+@[\w.]+\.\w+")


def steps_of(folder: Path) -> list[dict[str, list]]:
    """By profiled step: its GPU events and launches, tied by correlation id and the launch's time."""
    events = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    gpu = sorted((e for e in events if e.get("cat") in GPU), key=lambda e: e["ts"])
    found = []
    for step in (e for e in events if re.fullmatch(r"ProfilerStep#\d+", e.get("name", "")) and e["cat"][:3] == "use"):
        mine = [
            e
            for e in gpu
            if (call := calls.get(e["args"]["correlation"])) and 0 <= call["ts"] - step["ts"] <= step["dur"]
        ]
        launched = {e["args"]["correlation"] for e in mine}
        found.append({"ts": step["ts"], "gpu": mine, "launches": [calls[c]["name"] for c in launched]})
    return sorted(found, key=lambda step: step["ts"])


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_rows_of_a_step_are_its_kernels_in_the_published_trace(name: str, stage: str) -> None:
    view = Facts(recording.open_recording(RECORDINGS / name), LADDER).view(stage)
    for number, step in enumerate(steps_of(RECORDINGS / name / stage), start=1):
        held = Counter(
            (e["name"], tuple(e["args"]["grid"]), tuple(e["args"]["block"]))
            for e in step["gpu"]
            if e["cat"] == "kernel"
        )
        assert {(r.name, r.grid, r.block): r.count for r in view.work_rows(("kernel",), number)} == held


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_facts_are_what_the_published_trace_holds(name: str, stage: str) -> None:
    facts = Facts(recording.open_recording(RECORDINGS / name), LADDER)
    record = json.loads((RECORDINGS / name / stage / "stage.json").read_text(encoding="utf-8"))
    steps = steps_of(RECORDINGS / name / stage)
    assert len(steps) == facts.get(f"{stage}.profiled_steps").value
    for number, step in enumerate(steps, start=1):
        at = f"{stage}.step{number}"
        for kind in ("kernel", "memset", "memcpy"):
            count = sum(GPU[e["cat"]] == kind for e in step["gpu"])
            assert facts.get(f"{at}.{kind}_count").value == count
        assert facts.get(f"{at}.launch_count").value == len(step["launches"])
        for call, count in Counter(step["launches"]).items():
            assert facts.get(f"{at}.launch_count.{call}").value == count
        kernels = [e for e in step["gpu"] if e["cat"] == "kernel"]
        for position, kernel in enumerate(kernels, start=1):
            assert facts.get(f"{at}.kernel.{position}.name").value == kernel["name"]
            assert facts.get(f"{at}.kernel.{position}.launched_by").value in step["launches"]
    # The published process's times in stage.json are those of its trace.
    published = record["processes"][record["published_process"]]
    for number, step in enumerate(steps):
        in_trace = sum(e["dur"] for e in step["gpu"])
        assert sum(work["us"][number] or 0 for work in published["work"]) == pytest.approx(in_trace)


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_the_published_process_is_the_one_nearest_the_median(name: str, stage: str) -> None:
    record = json.loads((RECORDINGS / name / stage / "stage.json").read_text(encoding="utf-8"))
    times = [
        process["step_us"][0] if LADDER.stage(stage).cold else sum(statistics.fmean(w["us"]) for w in process["work"])
        for process in record["processes"]
    ]
    distances = [abs(us - statistics.median(times)) for us in times]
    assert distances[record["published_process"]] == min(distances)
    assert len(times) >= 5


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_hbm_bytes_are_at_least_the_weights_and_at_most_a_few_times_what_the_ops_touch(name: str, stage: str) -> None:
    """A band that a misread unit or a misplaced kernel would leave; the bytes are counted by hand."""
    record = json.loads((RECORDINGS / name / stage / "stage.json").read_text(encoding="utf-8"))
    if record["hbm"] is None:
        assert record["hbm_missing"]
        return
    read = sum(kernel["read_bytes"] for kernel in record["hbm"])
    # bf16: small Linear 1024·32 + 32·64 values; Linear and the MLP's first layers 8192·768 + 3072·768 each
    small, layer = 2 * (1024 * 32 + 32 * 64), 2 * (8192 * 768 + 3072 * 768)
    least = small if stage.startswith("linear_small") else layer
    assert least <= read <= 20 * least


SWEEPS = [(path.parent.parent.name, path.parent.name) for path in sorted(RECORDINGS.glob("*/*/sweep.json"))]


@pytest.mark.parametrize(("name", "sweep"), SWEEPS)
def test_facts_of_a_sweep_are_what_its_processes_saw(name: str, sweep: str) -> None:
    """Graphs by their compile ids: torch numbers the graphs of a frame, so an id twice would be one counted twice."""
    facts = Facts(recording.open_recording(RECORDINGS / name), LADDER)
    processes = json.loads((RECORDINGS / name / sweep / "sweep.json").read_text(encoding="utf-8"))["processes"]
    assert len(processes) >= 3
    for process in processes:
        seen: list[str] = []
        for call in process["calls"]:
            seen += [graph["compile_id"] for graph in call["graphs"] if not graph["failed"]]
            assert len(set(seen)) == len(seen) == facts.get(f"{sweep}.call.{call['name']}.graphs").value
            assert len(call["kernels"]) == facts.get(f"{sweep}.call.{call['name']}.kernel_count").value
        assert facts.get(f"{sweep}.graphs").value == len(seen)
    for number, call in enumerate(processes[0]["calls"]):
        first = statistics.median(process["calls"][number]["call_ms"][0] for process in processes)
        assert facts.get(f"{sweep}.call.{call['name']}.first_ms").value == first


@pytest.mark.parametrize(
    ("name", "sweep"), [(name, sweep) for name, sweep in SWEEPS if (RECORDINGS / name / sweep / STARTS).is_file()]
)
def test_torchs_own_log_begins_as_many_compiles_as_are_counted(name: str, sweep: str) -> None:
    """The log is of a process that counted nothing; the counts are of processes that logged nothing."""
    lines = gzip.decompress((RECORDINGS / name / sweep / STARTS).read_bytes()).decode("utf-8").splitlines()
    starts = {(start["frame_id"], start["frame_compile_id"]) for start in map(json.loads, lines)}
    facts = Facts(recording.open_recording(RECORDINGS / name), LADDER)
    assert len(starts) == facts.get(f"{sweep}.graphs").value
    assert all("dynamo_start" in line for line in lines)


def test_every_sweep_is_recorded_or_a_draft_waits_for_it() -> None:
    for name in {name for name, _ in STAGES}:
        recorded = {sweep for folder, sweep in SWEEPS if folder == name}
        assert recorded <= set(LADDER.sweep_names)
        if set(LADDER.sweep_names) - recorded:
            assert "draft: true" in Path("docs/chapters/when-shapes-change.md").read_text(encoding="utf-8")


def test_nothing_of_the_recording_machine_is_published() -> None:
    for path in (p for p in RECORDINGS.rglob("*") if p.is_file()):
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
        assert not (found := PRIVATE.search(text)), f"{path}: {found}"


def test_every_rung_is_recorded_and_a_stage_that_is_not_has_a_draft_for_its_page() -> None:
    for name in {name for name, _ in STAGES}:
        recorded = {stage for folder, stage in STAGES if folder == name}
        assert {stage.name for stage in LADDER.rungs} <= recorded <= set(LADDER.names)
        for missing in set(LADDER.names) - recorded:
            assert "draft: true" in Path(f"docs/stages/{missing}.md").read_text(encoding="utf-8")
