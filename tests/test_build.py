"""The whole build, by its own command: a fault in a page or a recording must end it, and nothing may vary."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from raw_recording import SHOWN

ROOT = Path(__file__).parents[1]
RECORDING = Path("docs/recordings") / SHOWN


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of everything that the site is made of."""
    for folder in ("docs", "kernel", "overrides", "snippets"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    return tmp_path


def build(root: Path, site: str = "site", **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "RECORDING"}
    environment |= {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "1700000000"}
    environment |= variables
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def write_page(text: str) -> Callable[[Path], None]:
    return lambda root: (root / "docs" / "index.md").write_text(text, encoding="utf-8") and None


CLAIM = """
[[claim]]
id = "planted"
says = "The MLP runs six kernels."
check = "{mlp_eager.kernel_count} == 6"
"""


def write_claim(claim: str, page: str) -> Callable[[Path], None]:
    def fault(root: Path) -> None:
        (root / "docs" / "claims" / "planted.toml").write_text(claim, encoding="utf-8")
        write_page(page)(root)

    return fault


def edit_snippet(root: Path) -> None:
    path = root / "snippets" / "mlp_eager.py"
    path.write_text(path.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")


def forget_stage(root: Path) -> None:
    shutil.rmtree(root / RECORDING / "mlp_eager")


def cut_trace_short(root: Path) -> None:
    path = root / RECORDING / "mlp_eager" / "trace.json.gz"
    path.write_bytes(path.read_bytes()[:-100])


def forget_recording(root: Path) -> None:
    shutil.rmtree(root / "docs" / "recordings")


RECORD = "next: on a GPU machine: python -m build_traces record"


@pytest.mark.parametrize(
    ("fault", "says", "then"),
    [
        (write_page("# A\n\n{{ mlp_eager.kernel_cuont }}\n"), "docs/index.md:3: there is no fact", "kernel_count"),
        (write_page("# A\n\n/// kernel | mlp_eager\n///\n"), "docs/index.md:3: there is no block 'kernel'", "kernels"),
        (
            write_page("# A\n\n/// ops | mlp_eager\n    deep: 1\n///\n"),
            "docs/index.md:4: block 'ops' has no option",
            "",
        ),
        (write_page("# A\n\n/// ops | mlp\n///\n"), "docs/index.md:3: there is no stage 'mlp'", "mlp_eager"),
        (
            write_page('# A\n\n```python\n--8<-- "snippets/mlp_eager.py:modle"\n```\n'),
            "docs/index.md:4: snippets/mlp_eager.py has no section 'modle'",
            "model",
        ),
        (
            write_claim(CLAIM, "# A\n\n/// claim | planted\n///\n"),
            f"docs/index.md:3: claim 'planted' (docs/claims/planted.toml:2) does not hold on {SHOWN}, "
            "and this page says that it holds: mlp_eager.kernel_count = 5",
            "expect: does not hold",
        ),
        (
            write_claim(CLAIM + 'page = "index.md"\n', "# A\n"),
            "docs/index.md:1: claim 'planted' (docs/claims/planted.toml:2) does not hold",
            "expect: does not hold",
        ),
        (
            write_claim(CLAIM.replace("_count", "_cuont"), "# A\n\n/// claim | planted\n///\n"),
            "docs/index.md:3: docs/claims/planted.toml:2: claim 'planted': there is no fact 'mlp_eager.kernel_cuont'",
            "kernel_count",
        ),
        (
            write_claim(CLAIM.replace("check", "chekc"), "# A\n"),
            "docs/claims/planted.toml:2: claim 'planted': Object contains unknown field `chekc`",
            "the keys are id, says",
        ),
        (
            write_page("# A\n\n{{ 2 * mlp_eager.gpu_us }}\n"),
            "docs/index.md:3: a path stands without braces, in '2 * mlp_eager.gpu_us'",
            "write {mlp_eager.gpu_us}, in braces",
        ),
        (edit_snippet, "stage mlp_eager: its recording is stale: snippets/mlp_eager.py", RECORD),
        (forget_stage, "stage mlp_eager: its recording is missing", RECORD),
        (cut_trace_short, "the gzip data is damaged or cut short", "export the trace again"),
        (forget_recording, f"there is no recording '{SHOWN}'", RECORD),
    ],
    ids=[
        "fact",
        "block",
        "option",
        "stage",
        "section",
        "claim",
        "page-claim",
        "claim-fact",
        "claim-key",
        "expression",
        "stale",
        "missing",
        "damaged",
        "no-recording",
    ],
)
def test_a_fault_ends_the_build_and_says_where_and_what_to_do(
    copy: Path, fault: Callable[[Path], None], says: str, then: str
) -> None:
    fault(copy)
    done = build(copy)
    assert done.returncode == 1
    assert says in done.stderr and then in done.stderr


def test_two_builds_are_byte_identical(copy: Path) -> None:
    hashes = []
    for site in ("first", "second"):
        assert build(copy, site).returncode == 0
        files = {p.relative_to(copy / site): p for p in sorted((copy / site).rglob("*")) if p.is_file()}
        hashes.append({str(name): hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()})
    assert len(hashes[0]) > 50
    assert hashes[0] == hashes[1]


def test_another_gpu_without_hardware_counters_builds_the_same_pages(copy: Path) -> None:
    """A reader's machine: another name on every page, a dash where Nsight Compute was not there."""
    other = copy / "docs" / "recordings" / "another-gpu_torch-2.11.0"
    shutil.copytree(copy / RECORDING, other)
    environment = json.loads((other / "environment.json").read_text(encoding="utf-8"))
    environment |= {"gpu": "Another GPU", "ncu": "not installed"}
    (other / "environment.json").write_text(json.dumps(environment), encoding="utf-8")
    for path in other.glob("*/stage.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        machine = record["machine"].replace("NVIDIA H200", "Another GPU")
        record |= {"hbm": None, "hbm_missing": "ncu is not there", "machine": machine}
        path.write_text(json.dumps(record), encoding="utf-8")
    for path in other.glob("*/sweep.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        record["machine"] = record["machine"].replace("NVIDIA H200", "Another GPU")
        path.write_text(json.dumps(record), encoding="utf-8")
    done = build(copy, RECORDING=other.name)
    assert done.returncode == 0, done.stderr
    for page in (copy / "site").rglob("index.html"):
        text = page.read_text(encoding="utf-8")
        if page.parent.parent.name == "labs":
            continue  # a lab names the one machine that ran it
        # A claim shows its verdict on each recording, whichever the build shows.
        rest = re.sub(r'<figure[^>]*trace-block--claims?".*?</figure>', "", text, flags=re.DOTALL)
        assert "Measured on Another GPU" in rest and "NVIDIA H200 ·" not in rest, page
    audit = (copy / "site" / "claims" / "index.html").read_text(encoding="utf-8")
    assert audit.count('class="on">on NVIDIA H200') == audit.count('class="on">on Another GPU') > 27
    ladder = (copy / "site" / "index.html").read_text(encoding="utf-8")
    assert ladder.count('title="HBM bytes of stage') == 16


def test_every_stage_of_the_ladder_has_its_page_with_every_section(copy: Path) -> None:
    """So that pages written one by one do not drift apart."""
    blocks = ("stagefacts", "kernels", "ops", "timeline", "profile", "reproduce")
    for stage in tomllib.loads((copy / "snippets" / "ladder.toml").read_text(encoding="utf-8"))["stage"]:
        name = stage["name"]
        page = (copy / "docs" / "stages" / f"{name}.md").read_text(encoding="utf-8")
        found = [row.split()[1] for row in page.splitlines() if row.startswith("/// ")]
        assert [block for block, _ in groupby(found) if block in blocks] == list(blocks), name
        snippet = (copy / "snippets" / f"{name}.py").read_text(encoding="utf-8")
        assert ("generated" in found) == ("torch.compile" in snippet), name
        assert f'--8<-- "snippets/{name}.py:model"' in page, name


def test_every_sweep_of_the_ladder_is_shown(copy: Path) -> None:
    chapter = (copy / "docs" / "chapters" / "when-shapes-change.md").read_text(encoding="utf-8")
    for sweep in tomllib.loads((copy / "snippets" / "ladder.toml").read_text(encoding="utf-8"))["sweep"]:
        in_a_block = rf"^/// sweep \|.*\b{sweep['name']}\b"
        in_the_text = rf"\{{\{{ {sweep['name']}\."
        assert re.search(f"{in_a_block}|{in_the_text}", chapter, re.MULTILINE), sweep["name"]
