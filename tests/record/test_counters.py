"""HBM bytes: the report of `ncu` read, matched with the trace, and every way in which there is none.

The report is written by hand after the raw CSV page that Nsight Compute documents
(https://docs.nvidia.com/nsight-compute/NsightComputeCli/): log lines, a header, a row of units, a row a kernel.
"""

import stat
from pathlib import Path

import pytest

from build_traces import counters
from build_traces.counters import Counted, CounterError, count, match, parse
from build_traces.jobs import Job, Role
from build_traces.processes import Limits
from build_traces.recording import KernelBytes

REPORT = """==PROF== Connected to process 420
==PROF== Disconnected from process 420
"ID","Process ID","Kernel Name","Block Size","Grid Size","dram__bytes_read.sum","dram__bytes_write.sum"
"","","","","","byte","byte"
"0","420","nvjet_sm90_tst_TNT","(384, 1, 1)","(2, 66, 1)","24,391,424","53332480"
"1","420","void at::elementwise_kernel<128, 4, at::f(int)>(int, T3)","(128, 1, 1)","(4, 1, 1)","48657792","54,000,000"
"""
NAMES = ["nvjet_sm90_tst_TNT", "void at::native::elementwise_kernel<128, 4, at::native::f(int)>(int, T3)"]
FAKE_NCU = """#!/bin/sh
for argument in "$@"; do case "$argument" in --log-file=*) report="${argument#--log-file=}";; esac; done
%s
"""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(role=Role.COUNT_BYTES, folder=str(tmp_path / "job"), stage="good")


def fake_ncu(tmp_path: Path, does: str) -> Path:
    path = tmp_path / "ncu"
    path.write_text(FAKE_NCU % does, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_bytes_are_read_by_kernel_whatever_separates_their_thousands() -> None:
    assert parse(REPORT) == [
        KernelBytes("nvjet_sm90_tst_TNT", 24_391_424, 53_332_480),
        KernelBytes("void at::elementwise_kernel<128, 4, at::f(int)>(int, T3)", 48_657_792, 54_000_000),
    ]


def test_counted_kernels_take_the_names_of_the_trace() -> None:
    """ncu leaves out a namespace that the profiler writes."""
    assert [k.name for k in match(parse(REPORT), NAMES)] == NAMES


def test_kernels_that_are_not_the_traces_are_said_in_a_line() -> None:
    names = ["gemm", *["fill"] * 300, "a", "b", "c", "d", "e"]
    with pytest.raises(CounterError) as error:
        match(parse(REPORT), names)
    assert error.value.message.endswith("than the trace (gemm, fill × 300, a, b and 3 more)")


@pytest.mark.parametrize("names", [NAMES[:1], [*NAMES, "k"], NAMES[::-1], ["nvjet_sm90_tst_NNT", NAMES[1]]])
def test_other_kernels_than_the_traces_are_refused(names: list[str]) -> None:
    with pytest.raises(CounterError, match="other kernels"):
        match(parse(REPORT), names)


@pytest.mark.parametrize(
    "report", ["", "==PROF== nothing", '"ID","Kernel Name"\n"0","k"\n', REPORT.replace("53332480", "n/a")]
)
def test_a_report_that_is_not_as_expected_is_refused(report: str) -> None:
    with pytest.raises(CounterError):
        parse(report)


def test_counts_of_a_run(tmp_path: Path, job: Job) -> None:
    (tmp_path / "report.csv").write_text(REPORT, encoding="utf-8")
    ncu = fake_ncu(tmp_path, f'cp "{tmp_path}/report.csv" "$report"')
    counted = count(job, NAMES, ncu, tmp_path, Limits(20))
    assert counted.missing is None and counted.kernels is not None
    assert [k.read_bytes for k in counted.kernels] == [24_391_424, 48_657_792]


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ('echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" > "$report"', "ERR_NVGPUCTRPERM"),
        ("echo gone wrong; exit 3", "exit code 3: gone wrong"),
        ("sleep 60", "did not end within 1 s"),
        ("true", "reported no kernel"),
    ],
)
def test_why_there_are_no_counters_is_kept(tmp_path: Path, job: Job, does: str, says: str) -> None:
    counted = count(job, NAMES, fake_ncu(tmp_path, does), tmp_path, Limits(1))
    assert counted.kernels is None
    assert says in (counted.missing or "")


def test_without_ncu_the_reason_is_that(tmp_path: Path, job: Job) -> None:
    assert count(job, NAMES, None, tmp_path, Limits(1)) == Counted(
        None, "Nsight Compute (ncu) is not installed on the recording machine"
    )
    assert counters.version(None) == "not installed"


def test_the_version_is_read_from_what_ncu_says(tmp_path: Path) -> None:
    assert counters.version(fake_ncu(tmp_path, 'echo "Version 2025.3.1.0 (build 36398880)"')) == "2025.3.1.0"
    assert counters.version(fake_ncu(tmp_path, "echo hello")) == "unknown"
