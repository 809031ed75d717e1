"""A ladder of stages that a stand-in worker can run, and a recorder that runs it."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from build_traces import ladder, record
from build_traces.errors import RecordingError
from build_traces.processes import Limits
from build_traces.recording import Spread

WORKER = (sys.executable, str(Path(__file__).with_name("stand_in_worker.py")))
FOLDER = "stand-in-gpu_torch-2.11.0"


@dataclass
class Heard:
    """A reporter that remembers."""

    lines: list[str] = field(default_factory=list)

    def planned(self, recording: str, stages: int, processes: int) -> None:
        self.lines.append(f"planned {recording} {stages} {processes}")

    def running(self, what: str) -> None:
        self.lines.append(f"running {what}")

    def process_done(self) -> None:
        self.lines.append("process done")

    def stage_done(self, stage: str, time_us: Spread) -> None:
        self.lines.append(f"done {stage} {time_us.median:g} {time_us.low:g} {time_us.high:g}")

    def sweep_done(self, sweep: str, graphs: int, first_calls_ms: Spread) -> None:
        times = f"{first_calls_ms.median:g} {first_calls_ms.low:g} {first_calls_ms.high:g}"
        self.lines.append(f"swept {sweep} {graphs} {times}")

    def stage_failed(self, error: RecordingError) -> None:
        self.lines.append(f"failed {error.stage}")


@dataclass
class Bench:
    """Snippets in a temporary folder, and the recorder set up to run them."""

    root: Path
    ran: Path

    @property
    def out(self) -> Path:
        return self.root / "recordings"

    @property
    def folder(self) -> Path:
        return self.out / FOLDER

    def sweeps(self, *names: str, **more: str) -> ladder.Ladder:
        """A ladder of one stage and these sweeps; `more` is written into each entry."""
        self.ladder("good")
        snippets = self.root / "snippets"
        (snippets / "shapes.py").write_text("import shared\n", encoding="utf-8")
        (snippets / "ways.py").write_text("compiled = None\n", encoding="utf-8")
        keys = "".join(f"{key} = {value}\n" for key, value in more.items())
        with (snippets / "ladder.toml").open("a", encoding="utf-8") as file:
            for name in names:
                file.write(f'[[sweep]]\nname = "{name}"\nsnippet = "shapes"\nsetup = "ways.compiled"\n{keys}')
        return ladder.load(snippets)

    def sweep_request(self, *names: str, more: dict[str, str] | None = None, **changes: object) -> record.Request:
        """What records these sweeps and no stage."""
        request = self.request("good")
        loaded = self.sweeps(*names, **more or {})
        return replace(request, ladder=loaded, stages=loaded.sweeps, **changes)

    def ladder(self, *names: str) -> ladder.Ladder:
        """A ladder of these stages; a name that ends in _cold is cold."""
        snippets = self.root / "snippets"
        snippets.mkdir(exist_ok=True)
        (snippets / "shared.py").write_text("VALUE = 1\n", encoding="utf-8")
        entries = []
        for name in names:
            snippet = snippets / f"{name}.py"
            if not snippet.exists():
                snippet.write_text(f"import shared\nNAME = {name!r}\n", encoding="utf-8")
            cold = "cold = true\n" if name.endswith("_cold") else ""
            entries.append(f'[[stage]]\nname = "{name}"\nagainst = "{names[0]}"\n{cold}')
        (snippets / "ladder.toml").write_text("\n".join(entries), encoding="utf-8")
        return ladder.load(snippets)

    def request(self, *names: str, **changes: object) -> record.Request:
        loaded = self.ladder(*names)
        settings: dict[str, object] = {
            "ladder": loaded,
            "out": self.out,
            "stages": loaded.stages,
            "processes": 3,
            "limits": Limits(30),
            "ncu": None,
            "logs": self.root / "logs",
            "worker": WORKER,
        }
        return record.Request(**(settings | changes))

    def processes(self, role: str) -> list[str]:
        """The lines that processes of this role wrote when they ran: role, stage, process id, caches found."""
        lines = self.ran.read_text(encoding="utf-8").splitlines() if self.ran.exists() else []
        return [line for line in lines if line.split()[0] == role]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    ran = tmp_path / "ran.txt"
    monkeypatch.setenv("STAND_IN_RAN", str(ran))
    monkeypatch.setenv("SOURCE_COMMIT", "0123456789abcdef")
    monkeypatch.delenv("LOCAL_KERNELS", raising=False)
    return Bench(tmp_path, ran)


@pytest.fixture
def tree() -> Callable[[Path], dict[str, bytes]]:
    """Every file of a folder with its bytes."""

    def read(folder: Path) -> dict[str, bytes]:
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    return read


@pytest.fixture
def heard() -> Heard:
    return Heard()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
