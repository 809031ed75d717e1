"""The recorder, with a stand-in worker: what it writes, what it leaves alone, and what it says."""

import errno
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from build_traces import freshness, local_kernels, machine, record, recording
from build_traces.errors import LadderError, RecordingError
from build_traces.freshness import State
from build_traces.processes import KNOWN_CAUSES, LOCAL_KERNELS_HINT, WORKER, Limits
from build_traces.recording import GpuWork, Process
from build_traces.trace import parse

from .conftest import FOLDER, Bench, Heard, is_running

Tree = Callable[[Path], dict[str, bytes]]


def test_a_stage_is_recorded_whole(bench: Bench, heard: Heard) -> None:
    outcome = record.record(bench.request("good"), heard)

    assert outcome.recorded == ("good",) and outcome.failed == ()
    assert outcome.folder == bench.folder
    files = {path.name for path in (bench.folder / "good").iterdir()}
    assert files == {"stage.json", "trace.json.gz", "profile.txt", "inductor_1.py"}
    made = recording.open_recording(bench.folder).stage("good")
    assert made.stage == "good" and made.protocol == recording.PROTOCOL
    assert made.commit == "0123456789abcdef"
    assert len(made.processes) == 3
    # The stand-in's processes 1, 2, 3 take 10, 30 and 20 µs a kernel: the third is nearest the median.
    assert made.published_process == 2
    assert [p.work[1].us for p in made.processes] == [(10.0,) * 3, (30.0,) * 3, (20.0,) * 3]
    assert [p.first_call_ms for p in made.processes] == [101.0, 102.0, 103.0]
    assert made.flops == 2_000_000
    assert (bench.folder / "good" / "profile.txt").read_text() == "the table of measure-3\n"
    assert made.hbm is None and "ncu" in (made.hbm_missing or "")
    assert heard.lines[0] == f"planned {FOLDER} 1 7"  # 3 ceilings, 3 processes, 1 count of bytes
    assert heard.lines.count("process done") == 7
    assert heard.lines[-1] == "done good 22 21 23"


def test_a_process_finds_its_compile_caches_empty(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("good"), heard)
    lines = bench.processes("measure")
    assert len(lines) == 3
    assert all(line.endswith(" 0") for line in lines)
    assert len({line.split()[2] for line in lines}) == 3, "three processes, three process ids"


def test_a_published_trace_says_nothing_of_the_machine_it_ran_on(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("good"), heard)
    packed = (bench.folder / "good" / "trace.json.gz").read_bytes()
    text = gzip.decompress(packed).decode()
    assert "traceName" not in text and "/tmp" not in text
    assert str(bench.root) not in (bench.folder / "good" / "inductor_1.py").read_text()
    assert packed[4:8] == b"\0\0\0\0", "gzip's time stamp is zero, so that equal traces are equal files"
    assert len(parse(gzip.decompress(packed), "published").kernels()) == 3


def test_generated_code_is_the_graph_and_not_its_kernels_files(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("good"), heard)
    text = (bench.folder / "good" / "inductor_1.py").read_text()
    assert text == "# kernel path: ab/kernel.py\nasync_compile = 1\ndef call(args): ...\n"


def test_a_cold_stage_is_timed_and_profiled_in_processes_of_its_own(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("first_cold"), heard)
    made = recording.open_recording(bench.folder).stage("first_cold")
    assert [p.time_us[0] for p in made.processes] == [500.0] * 3
    assert [p.back_to_back_us for p in made.processes] == [None] * 3
    assert len(bench.processes("time-cold")) == len(bench.processes("profile-cold")) == 3
    assert heard.lines[-1] == "done first_cold 500 500 500"


def test_only_what_is_stale_is_recorded_again(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("one", "two"), heard)
    bench.ran.unlink()
    assert record.record(bench.request("one", "two"), heard).recorded == ()
    assert bench.processes("measure") == bench.processes("ceilings") == []

    (bench.root / "snippets" / "two.py").write_text("import shared\nNAME = 'changed'\n")
    assert record.record(bench.request("one", "two"), heard).recorded == ("two",)
    assert record.record(bench.request("one", "two", everything=True), heard).recorded == ("one", "two")


def test_a_changed_sibling_makes_every_stage_that_imports_it_stale(bench: Bench, heard: Heard) -> None:
    request = bench.request("one", "two")
    (bench.root / "snippets" / "two.py").write_text("NAME = 'alone'\n")
    record.record(request, heard)
    (bench.root / "snippets" / "shared.py").write_text("VALUE = 2\n")
    machine = recording.open_recording(bench.folder).environment.machine
    states = [s.state for s in freshness.statuses(request.ladder, bench.folder, machine)]
    assert states == [State.STALE, State.FRESH]


def test_a_new_protocol_makes_every_stage_stale(bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    record.record(bench.request("one"), heard)
    monkeypatch.setattr(recording, "PROTOCOL", recording.PROTOCOL + 1)
    machine = recording.open_recording(bench.folder).environment.machine
    (status,) = freshness.statuses(bench.ladder("one"), bench.folder, machine)
    assert status.state is State.STALE and "protocol" in status.why


def test_another_driver_makes_every_stage_stale_and_the_ceilings_too(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.record(bench.request("one"), heard)
    monkeypatch.setenv("STAND_IN_DRIVER", "2.0")
    bench.ran.unlink()
    assert record.record(bench.request("one"), heard).recorded == ("one",)
    assert len(bench.processes("ceilings")) == 3
    assert recording.open_recording(bench.folder).environment.driver == "2.0"


@pytest.mark.parametrize(
    ("stage", "says", "hint"),
    [
        ("raises", "process 1 of 3 ended with exit code 1: ValueError: the snippet is wrong", "read the log"),
        ("hangs", "process 1 of 3 did not end within 2 s", "--time-limit"),
        ("killed", "process 2 of 3 was killed by SIGKILL", "memory"),
        ("hub", "httpx2.ConnectError", "LOCAL_KERNELS"),
        ("silent", "process 1 of 3 ended without a whole answer", "again"),
        ("no_kernel", "its trace holds no kernel", "profiler"),
    ],
)
def test_a_failed_stage_leaves_its_old_recording_as_it_was(
    bench: Bench, heard: Heard, tree: Tree, stage: str, says: str, hint: str
) -> None:
    record.record(bench.request("good"), heard)
    (bench.folder / "good").rename(bench.folder / stage)
    before = tree(bench.folder / stage)

    outcome = record.record(bench.request(stage, "good", limits=Limits(2)), heard)

    assert outcome.recorded == ("good",), "the other stages are recorded all the same"
    (error,) = outcome.failed
    assert error.stage == stage
    assert says in str(error) and hint in str(error)
    assert tree(bench.folder / stage) == before
    assert not [p for p in bench.folder.iterdir() if p.name.startswith(".")], "nothing half-made is left"
    assert f"failed {stage}" in heard.lines


def test_the_log_of_a_failed_process_is_kept_where_the_error_says(bench: Bench, heard: Heard) -> None:
    (error,) = record.record(bench.request("raises"), heard).failed
    assert error.log == bench.root / "logs" / "raises" / "log.txt"
    assert str(error.log) in str(error)
    assert "ValueError: the snippet is wrong" in error.log.read_text()


def test_a_process_that_hangs_is_ended(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("hangs", limits=Limits(1)), heard)
    (line,) = bench.processes("measure")
    assert not is_running(int(line.split()[2]))


@pytest.mark.parametrize("file", ["stage.json", "trace.json.gz"])
def test_a_full_disk_leaves_the_old_recording_as_it_was(
    bench: Bench, heard: Heard, tree: Tree, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    record.record(bench.request("good"), heard)
    before = tree(bench.folder)
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.name == file:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    (error,) = record.record(bench.request("good", everything=True), heard).failed
    assert "No space left on device" in str(error) and "free disk space" in str(error)
    after = tree(bench.folder)
    assert {name: after[name] for name in before if name != "environment.json"} == {
        name: data for name, data in before.items() if name != "environment.json"
    }
    assert set(after) == set(before)


@pytest.mark.parametrize(("folder", "stage"), [("environment", ""), ("measure-2", "good")])
def test_a_full_temporary_disk_is_one_clear_error(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch, folder: str, stage: str
) -> None:
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.name == "job.json" and self.parent.name == folder:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    try:
        (error,) = record.record(bench.request("good"), heard).failed
    except RecordingError as raised:
        error = raised
    assert error.stage == stage
    assert "No space left on device" in str(error) and "free disk space" in str(error)
    assert not bench.out.exists()


def test_a_failure_on_a_changed_machine_leaves_the_old_recording_usable(
    bench: Bench, heard: Heard, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.record(bench.request("good"), heard)
    (bench.folder / "good").rename(bench.folder / "raises")
    before = tree(bench.folder)
    monkeypatch.setenv("STAND_IN_DRIVER", "2.0")
    assert len(record.record(bench.request("raises"), heard).failed) == 1
    assert tree(bench.folder) == before


def test_an_edit_after_the_process_has_imported_is_noticed(bench: Bench) -> None:
    """The second stage's processes import while the first one's bytes are counted; then its snippet is edited."""

    class Editor(Heard):
        def running(self, what: str) -> None:
            if what == "two · starting":
                (bench.root / "snippets" / "two.py").write_text("NAME = 'edited'\n")

    outcome = record.record(bench.request("one", "two"), Editor())
    assert outcome.recorded == ("one",)
    assert "changed while it was recorded" in str(outcome.failed[0])


def test_an_edit_while_a_stage_is_recorded_is_not_published_as_its_recording(bench: Bench) -> None:
    class Editor(Heard):
        def running(self, what: str) -> None:
            if "HBM" in what:
                (bench.root / "snippets" / "good.py").write_text("NAME = 'edited'\n")

    (error,) = record.record(bench.request("good"), Editor()).failed
    assert "changed while it was recorded" in str(error)
    assert not (bench.folder / "good").exists()


def test_torch_missing_is_one_clear_error(bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    with pytest.raises(RecordingError, match="torch is not installed") as caught:
        record.record(bench.request("good"), heard)
    assert "pip install --group record" in str(caught.value)
    assert not bench.out.exists()


def test_no_gpu_is_one_clear_error(bench: Bench, heard: Heard) -> None:
    """With the real worker and the real torch, on a machine whose CPU is all it has."""
    with pytest.raises(RecordingError, match="torch sees no GPU") as caught:
        record.record(bench.request("good", worker=WORKER), heard)
    assert "nox -s docs builds from the committed recording" in str(caught.value)
    assert not bench.out.exists()


def test_a_hub_out_of_reach_is_recognised(tmp_path: Path) -> None:
    """What the kernels library really says offline must be one of the causes the recorder explains."""
    code = "from kernels import get_kernel; get_kernel('kernels-community/liger-kernels', version=1)"
    environment = {k: v for k, v in os.environ.items() if k != "LOCAL_KERNELS"}
    environment |= {"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path), "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    hints = [hint for cause, hint in KNOWN_CAUSES.items() if re.search(cause, done.stderr)]
    assert hints[:1] == [LOCAL_KERNELS_HINT], done.stderr[-800:]


def test_an_unknown_stage_is_refused_with_the_stages_there_are(bench: Bench) -> None:
    with pytest.raises(LadderError, match=r"no stage 'mpl'.*\n.*one, two"):
        bench.ladder("one", "two").select(["mpl"])


def test_a_broken_local_kernels_is_one_clear_error(bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_KERNELS", f"kernels-community/liger-kernels={bench.root / 'nowhere'}")
    with pytest.raises(RecordingError, match="names a folder that does not exist") as caught:
        record.record(bench.request("good"), heard)
    assert "python -m build_traces local-kernels" in str(caught.value)
    assert not bench.out.exists()


def test_the_recording_says_which_kernel_package_it_used(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = local_kernels.build(bench.root / "liger")
    monkeypatch.setenv("LOCAL_KERNELS", local_kernels.local_kernels_value(folder))
    record.record(bench.request("good"), heard)
    (package,) = recording.open_recording(bench.folder).environment.kernel_packages
    assert (package.repo, package.kind) == ("kernels-community/liger-kernels", "local")
    assert package.detail.startswith("built from liger-kernel 0.8.5, sha256 ")


def test_a_recording_has_one_origin_of_its_kernel_packages(
    bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = local_kernels.build(bench.root / "liger")
    monkeypatch.setenv("LOCAL_KERNELS", local_kernels.local_kernels_value(folder))
    record.record(bench.request("one", "two"), heard)
    before = (bench.folder / "environment.json").read_bytes()
    (bench.root / "snippets" / "two.py").write_text("import shared\nNAME = 'changed'\n")
    monkeypatch.delenv("LOCAL_KERNELS")
    bench.ran.unlink()

    with pytest.raises(RecordingError) as caught:
        record.record(bench.request("one", "two"), heard)

    assert f"1 stages of {FOLDER} ran with kernels-community/liger-kernels (local: " in caught.value.message
    assert "this run would with kernels-community/liger-kernels (hub: version 1)" in caught.value.message
    assert 'export LOCAL_KERNELS="$(python -m build_traces local-kernels)"' in str(caught.value)
    assert (bench.folder / "environment.json").read_bytes() == before
    assert bench.processes("measure") == bench.processes("ceilings") == []
    # Nothing of the old origin stays where everything is recorded anew.
    assert record.record(bench.request("one", "two", everything=True), heard).recorded == ("one", "two")
    (package,) = recording.open_recording(bench.folder).environment.kernel_packages
    assert package.kind == "hub"


def test_back_to_the_hub_is_one_variable_less(bench: Bench, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    record.record(bench.request("one", "two"), heard)
    (bench.root / "snippets" / "two.py").write_text("import shared\nNAME = 'changed'\n")
    folder = local_kernels.build(bench.root / "liger")
    monkeypatch.setenv("LOCAL_KERNELS", local_kernels.local_kernels_value(folder))
    with pytest.raises(RecordingError, match="unset LOCAL_KERNELS"):
        record.record(bench.request("one", "two"), heard)


def test_no_processes_measure_nothing(bench: Bench, heard: Heard) -> None:
    with pytest.raises(RecordingError, match="0 processes measure nothing"):
        record.record(bench.request("good", processes=0), heard)


# The commit


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_is_the_checkouts_and_dirty_when_what_is_recorded_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_COMMIT", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "one.py").write_text("1\n")
    (tmp_path / "notes.md").write_text("1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "notes.md").write_text("2\n")
    assert machine.source_commit() == head, "a page being written does not change what is recorded"
    (tmp_path / "snippets" / "one.py").write_text("2\n")
    assert machine.source_commit() == f"{head}-dirty"


def test_a_named_commit_that_is_at_hand_must_hold_the_files_that_are_recorded_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "one.py").write_text("1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    head = git(tmp_path, "rev-parse", "HEAD")
    monkeypatch.setenv("SOURCE_COMMIT", head)
    assert machine.source_commit() == head
    (tmp_path / "snippets" / "two.py").write_text("2\n")
    with pytest.raises(RecordingError, match=rf"SOURCE_COMMIT is {head}, where snippets/two\.py is another file"):
        machine.source_commit()
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "two")
    with pytest.raises(RecordingError, match=r"snippets/two\.py"):
        machine.source_commit()
    # A commit that this checkout does not know cannot be compared with.
    monkeypatch.setenv("SOURCE_COMMIT", "0" * 40)
    assert machine.source_commit() == "0" * 40


def test_without_git_the_commit_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_COMMIT", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordingError, match="SOURCE_COMMIT"):
        machine.source_commit()


# Small values


def process(*kernel_us: float, step_us: float = 0.0) -> Process:
    work = tuple(GpuWork("kernel", f"k{n}", (1,), (1,), (us, us)) for n, us in enumerate(kernel_us))
    return Process(0.0, (1.0,), 1.0, 1, 0.0, (1.0,), (step_us,), work)


def test_the_published_process_is_nearest_the_median_of_gpu_time() -> None:
    # summed kernel times 12, 30, 11, 14: the median is 13, nearest are 12 and 14, the first of them wins
    processes = (process(10, 2), process(30), process(11), process(7, 7))
    assert record.nearest_median(processes, cold=False) == 0


def test_the_published_process_of_a_cold_stage_is_nearest_the_median_first_step() -> None:
    processes = (process(1, step_us=900), process(1, step_us=500), process(1, step_us=600))
    assert record.nearest_median(processes, cold=True) == 2


def test_gpu_work_lines_up_the_steps_and_leaves_holes_where_a_step_has_none() -> None:
    # Step 1 launches k twice and m once, step 2 launches k once.
    def event(cat: str, name: str, ts: float, dur: float, **args: object) -> dict[str, object]:
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}

    events = [event("user_annotation", f"ProfilerStep#{n}", 100.0 * n, 90.0) for n in (1, 2)]
    for at, (step, name, dur) in enumerate([(1, "k", 5.0), (1, "m", 7.0), (1, "k", 6.0), (2, "k", 4.0)]):
        start = 100.0 * step + 10 * at
        events.append(event("cuda_runtime", "cudaLaunchKernel", start, 1.0, correlation=at))
        events.append(event("kernel", name, start + 2, dur, correlation=at, grid=[1, 1, 1], block=[32, 1, 1]))
    seen = parse(msgspec.json.encode({"traceEvents": events}), "two steps")
    assert [(w.name, w.us) for w in record.gpu_work(seen)] == [
        ("k", (5.0, 4.0)),
        ("m", (7.0, None)),
        ("k", (6.0, None)),
    ]


def test_bytes_are_not_counted_where_the_steps_run_different_kernels() -> None:
    alike = process(1.0, 2.0)
    other = GpuWork("kernel", "trial", (1,), (1,), (None, 3.0))
    copied = GpuWork("memcpy", "Memcpy DtoD", (), (), (None, 3.0))
    assert record.countable_kernels(alike) == ["k0", "k1"]
    assert record.countable_kernels(msgspec.structs.replace(alike, work=(*alike.work, copied))) == ["k0", "k1"]
    assert record.countable_kernels(msgspec.structs.replace(alike, work=(*alike.work, other))) is None


def test_stage_json_is_readable_in_a_diff(bench: Bench, heard: Heard) -> None:
    record.record(bench.request("good"), heard)
    text = (bench.folder / "good" / "stage.json").read_text()
    assert '"time_us": [21.0, 21.0, 21.0]' in text
    assert json.loads(text)["stage"] == "good"
