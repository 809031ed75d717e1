"""A repository with a branch of versions as the tests see it, and versions small enough to be read."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from build_traces.publish.branch import Branch
from build_traces.publish.edition import Edition, Properties, ShownRecording

ROOT = Path(__file__).parents[2]

RECORDING = ShownRecording("NVIDIA H200", "2.11.0", "2026-12-01", "0123456789abcdef")


def git(*arguments: str, cwd: Path | None = None) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Served:
    """A repository that is the working directory, and the branch in it that is served."""

    root: Path
    branch: Branch = field(default_factory=Branch)

    def files(self, folder: str = "") -> set[str]:
        """The paths on the branch."""
        return set(git("ls-tree", "-r", "--name-only", self.branch.name, *([f"{folder}/"] if folder else [])).split())

    def read(self, path: str) -> str:
        return git("show", f"{self.branch.name}:{path}")

    def commits(self) -> list[str]:
        """The subjects of the branch's commits, the newest first."""
        return git("log", "--format=%s", self.branch.name).splitlines()

    def publish(
        self, version: str, *, latest: bool = False, recording: str = "gpu-aaa", site_url: str = "", text: str = "text"
    ) -> None:
        """A version of two pages and one recording."""
        whole = self.root.with_name(f"built-{version}-{len(list(self.root.parent.iterdir()))}")
        for path, content in {
            f"{version}/index.html": text,
            f"{version}/llms.txt": "# Guide\n\n- [One](one/index.html.md): a page\n",
            f"{version}/one/index.html": f"{version}: {text}",
            f"recordings/{recording}/trace.json.gz": "trace",
        }.items():
            (whole / path).parent.mkdir(parents=True, exist_ok=True)
            (whole / path).write_text(content, encoding="utf-8")
        properties = Properties("c0ffee" * 7, f"2026-12-0{len(version)}T00:00:00+00:00", RECORDING, ("", "one/"),
                                (recording,), (), site_url)  # fmt: skip
        self.branch.add(Edition(version, latest, "c0ffee" * 7, site_url, version), whole, properties)
