"""A small repository to build pages from: a ladder of four stages, a recording with round numbers, a docs folder.

The traces are real (tests/traces/h200_probe), so counts and structure are a GPU's; the times are made
up so that every sum can be done in the head. They are written out in `MLP_US` and `process`.
"""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import markdown
import pytest

from build_traces.facts import Facts
from build_traces.ladder import digest, load
from build_traces.recording import (
    Ceilings,
    Environment,
    GpuWork,
    KernelBytes,
    KernelPackage,
    Process,
    StageRecord,
    encode,
    open_recording,
)

TRACES = Path(__file__).parent / "traces" / "h200_probe"
NAME = "nvidia-h200_torch-2.11.0"
PROCESSES = 5

PROFILE = """\
------  ------------  ------------
  Name     Self CUDA   Self CUDA %
------  ------------  ------------
  step     300.000us       120.00%
kernel     250.000us       100.00%
------  ------------  ------------
Self CUDA time total: 250.000us
"""

LADDER = """
[[stage]]
name = "linear_cold"
title = "Linear, first step"
against = "linear_cold"
cold = true

[[stage]]
name = "mlp_eager"
title = "MLP"
against = "mlp_eager"

[[stage]]
name = "mlp_compiled"
title = "MLP, compiled"
against = "mlp_eager"

[[stage]]
name = "mlp_cudagraph"
title = "MLP, CUDA graph"
against = "mlp_eager"
"""

TRACE_OF = {
    "linear_cold": "linear_eager",
    "mlp_eager": "mlp_eager",
    "mlp_compiled": "mlp_compiled",
    "mlp_cudagraph": "mlp_cudagraph",
}
"""Which trace stands for which stage."""

MLP_US = {
    "linear_cold": [1.0, 57.0],
    "mlp_eager": [1.0, 60.0, 30.0, 1.0, 60.0, 40.0, 50.0],
    "mlp_compiled": [1.0, 56.0, 1.0, 60.0, 40.0, 50.0],
    "mlp_cudagraph": [16.0, 1.0, 56.0, 1.0, 60.0, 40.0, 50.0],
}
"""A step's work in the order in which the trace runs it: memsets take 1 µs, the rest are kernels."""

TIME_US = {"linear_cold": 60.0, "mlp_eager": 110.0, "mlp_compiled": 80.0, "mlp_cudagraph": 55.0}


def work(stage: str, delta: float) -> tuple[GpuWork, ...]:
    """A step's work in one process: a kernel takes v-1, v, v+1 µs in the three steps, v = MLP_US + delta."""
    events = json.loads(gzip.decompress((TRACES / f"{TRACE_OF[stage]}.json.gz").read_bytes()))["traceEvents"]
    kinds = {"kernel": "kernel", "gpu_memset": "memset"}
    ran = sorted((e for e in events if e.get("cat") in kinds), key=lambda e: e["ts"])
    first_step = ran[: len(MLP_US[stage])]
    return tuple(
        GpuWork(
            kind=kinds[event["cat"]],
            name=event["name"],
            grid=tuple(event["args"].get("grid", ())),
            block=tuple(event["args"].get("block", ())),
            us=(us, us, us) if event["cat"] == "gpu_memset" else (us + delta - 1, us + delta, us + delta + 1),
        )
        for event, us in zip(first_step, MLP_US[stage], strict=True)
    )


def process(stage: str, number: int) -> Process:
    """Process 0 to 4. Time samples t+n, t+n-10, t+n+20 (median t+n, t = TIME_US); kernels differ by n-2 µs."""
    cold = stage == "linear_cold"
    t = TIME_US[stage] + number
    return Process(
        first_call_ms=100.0 + number,
        time_us=(1000.0 + number, t, t + 1, t + 2, t + 3) if cold else (t, t - 10, t + 20),
        back_to_back_us=None if cold else 200.0 + number,
        peak_bytes=150_000_000 + number * 1_000_000,
        error=0.004 + number / 1000,
        cpu_us=(300.0 + number, 310.0 + number, 330.0 + number),
        step_us=(500.0 + number, 400.0 + number, 450.0 + number),
        work=work(stage, float(number - 2)),
    )


ENVIRONMENT = Environment(
    gpu="NVIDIA H200",
    driver="580.95",
    cuda="13.0",
    torch="2.11.0+cu130",
    triton="3.6.0",
    kernels="0.17.2",
    liger_kernel="0.8.5",
    python="3.12.3",
    ncu="2025.3.1",
    date="2026-12-01",
    commit="0123456789abcdef0123456789abcdef01234567",
    l2_bytes=60_000_000,
    hbm_bytes=141_000_000_000,
    sm_count=132,
    ceilings=Ceilings(
        copy_bytes_per_s=(4.0e12, 4.2e12, 4.1e12),
        gemm_flops_per_s=(20e12, 19e12, 21e12),
        gemm_back_to_back_flops_per_s=(25e12, 24e12, 26e12),
    ),
    kernel_packages=(KernelPackage("kernels-community/liger-kernels", "local", "liger-kernel 0.8.5"),),
)

HBM_MB = [(60, 50), (50, 50), (60, 50), (100, 50), (55, 12)]
"""Of mlp_eager's five kernels, read and written; the other stages have none."""


@dataclass(frozen=True)
class Repository:
    """A temporary repository, which is the working directory."""

    root: Path

    @property
    def recording(self) -> Path:
        return self.root / "docs" / "recordings" / NAME

    def facts(self) -> Facts:
        return Facts(open_recording(self.recording), load(self.root / "snippets"))

    def record(self, stage: str) -> StageRecord:
        """stage.json of a stage as it stands."""
        rung = load(self.root / "snippets").stage(stage)
        return StageRecord(
            stage=stage,
            protocol=1,
            sha256=digest(rung),
            command=f"python -m build_traces record --stages {stage}",
            recorded="2026-12-01",
            commit=ENVIRONMENT.commit,
            machine=ENVIRONMENT.machine,
            flops=1_120_000_000,
            processes=tuple(process(stage, n) for n in range(PROCESSES)),
            published_process=2,
            hbm=tuple(
                KernelBytes(w.name, read * 1_000_000, write * 1_000_000)
                for w, (read, write) in zip([w for w in work(stage, 0.0) if w.kind == "kernel"], HBM_MB, strict=True)
            )
            if stage == "mlp_eager"
            else None,
            hbm_missing=None if stage == "mlp_eager" else "ncu is not there",
            artefacts=("generated.py",) if stage == "mlp_compiled" else (),
        )

    def write_stage(self, record: StageRecord) -> None:
        self.recording.joinpath(record.stage, "stage.json").write_bytes(encode(record))

    def write_page(self, name: str, text: str) -> Path:
        path = self.root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def convert(self, text: str, **options: str) -> str:
        """HTML of a text by a fresh Markdown instance, as a builder makes one for each page."""
        return self.markdown(**options).convert(text)

    def markdown(self, **options: str) -> markdown.Markdown:
        return markdown.Markdown(
            extensions=["build_traces.markdown", "attr_list", "tables", "toc", "abbr", "pymdownx.superfences",
                        "pymdownx.snippets", "pymdownx.highlight"],
            extension_configs={
                "build_traces.markdown": {"recording": NAME, **options},
                "pymdownx.snippets": {"base_path": ["."], "check_paths": True, "dedent_subsections": True},
            },
        )  # fmt: skip

    def page(self, text: str, name: str = "page.md", front_matter: str = "") -> str:
        """HTML of a page of docs/."""
        self.write_page(name, front_matter + text)
        return self.convert(text)


def _snippet(stage: str) -> str:
    return (
        f'"""What {stage} is."""\n\nfrom shared import SIZE\n\n\n'
        f"# --8<-- [start:model]\ndef stage():\n    return SIZE\n# --8<-- [end:model]\n"
    )


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template")
    (root / "snippets").mkdir()
    (root / "snippets" / "ladder.toml").write_text(LADDER)
    (root / "snippets" / "shared.py").write_text("SIZE = 3072\n")
    for stage in TRACE_OF:
        (root / "snippets" / f"{stage}.py").write_text(_snippet(stage))
    repository = Repository(root)
    for stage, trace in TRACE_OF.items():
        folder = repository.recording / stage
        folder.mkdir(parents=True)
        shutil.copy(TRACES / f"{trace}.json.gz", folder / "trace.json.gz")
        (folder / "profile.txt").write_text(PROFILE)
        repository.write_stage(repository.record(stage))
    (repository.recording / "environment.json").write_bytes(encode(ENVIRONMENT))
    (repository.recording / "mlp_compiled" / "generated.py").write_text('import triton\nNAME = "a < b & c"\n')
    return root


@pytest.fixture
def repository(_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A copy of the small repository, as the working directory."""
    root = tmp_path / "repository"
    shutil.copytree(_template, root)
    monkeypatch.chdir(root)
    monkeypatch.delenv("RECORDING", raising=False)
    return Repository(root)


@pytest.fixture
def edit_trace(repository: Repository) -> Callable[[str, Callable[[list[dict[str, object]]], None]], None]:
    """Change a stage's trace: give a function that edits its list of events."""

    def edit(stage: str, change: Callable[[list[dict[str, object]]], None]) -> None:
        path = repository.recording / stage / "trace.json.gz"
        data = json.loads(gzip.decompress(path.read_bytes()))
        change(data["traceEvents"])
        path.write_bytes(gzip.compress(json.dumps(data).encode()))
        os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))

    return edit
