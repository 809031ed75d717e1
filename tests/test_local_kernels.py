"""A local kernel folder stands alone, is Liger's own source, and is never half there.

The tests need liger-kernel, kernels, triton and torch as pinned, and fail without them. What
loads the folder runs in a process of its own, with no network, no cache and no liger_kernel.
"""

import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from build_traces.local_kernels import (
    LIGER_VERSION,
    REPO,
    KernelOrigin,
    LocalKernelError,
    build,
    local_kernels_value,
    origin,
)

VARIANT = "build/torch-universal"
NEEDED = (
    "liger_kernel/ops/geglu.py",
    "liger_kernel/ops/utils.py",
    "liger_kernel/transformers/geglu.py",
    "liger_kernel/utils.py",
    f"liger_kernel-{LIGER_VERSION}.dist-info/licenses/LICENSE",
    f"liger_kernel-{LIGER_VERSION}.dist-info/licenses/NOTICE",
)
COPIED = {
    "geglu.py": "liger_kernel/ops/geglu.py",
    "layers.py": "liger_kernel/transformers/geglu.py",
    "utils.py": "liger_kernel/ops/utils.py",
}

# What a recording does, on the CPU: Triton's interpreter has no libdevice, so tanh is replaced.
LOAD = """
import json, sys
sys.modules["liger_kernel"] = None  # from here on, importing it raises
import torch, triton, triton.language as tl
from kernels import get_kernel, get_loaded_kernels

def load():
    return get_kernel("kernels-community/liger-kernels", version=1)

kernel = load()

@triton.jit
def tanh(x):
    return 1 - 2 / (tl.exp(2 * x) + 1)

kernel.geglu.tanh = tanh

def difference(hidden, intermediate, rows):
    class Config:
        hidden_size = hidden
        intermediate_size = intermediate
        hidden_act = "gelu_pytorch_tanh"

    torch.manual_seed(0)
    mlp = kernel.layers.LigerGEGLUMLP(Config())
    x = torch.randn(*rows, hidden)
    with torch.no_grad():
        gelu = torch.nn.functional.gelu(mlp.gate_proj(x), approximate="tanh")
        expected = mlp.down_proj(gelu * mlp.up_proj(x))
        got = mlp(x)
    assert got.shape == expected.shape and expected.abs().max() > 0.01
    return (got - expected).abs().max().item()

one = kernel.geglu.geglu_forward(torch.tensor([[1.0]]), torch.tensor([[2.0]]))[2].item()
differences = [difference(16, 64, (4,)), difference(24, 40, (2, 3)), difference(8, 129, (5,))]

torch.version.cuda, torch.__version__ = "13.0", "2.11.0+cu130"  # all that kernels asks of a CUDA build
on_cuda = load() is kernel

print(json.dumps({
    "gelu_tanh(1) * 2": one,
    "differences": differences,
    "public": kernel.__all__,
    "ops": [hasattr(kernel.geglu, name) for name in
            ("_geglu_tanh_forward_kernel", "geglu_forward", "LigerGELUMulFunction")],
    "same function": kernel.layers.LigerGELUMulFunction is kernel.geglu.LigerGELUMulFunction,
    "on cuda": on_cuda,
    "liger": [name for name, module in sys.modules.items() if name.startswith("liger_kernel.") or
              name == "liger_kernel" and module],
    "from hub": [loaded.repo_info is not None for loaded in get_loaded_kernels()],
    "license": get_loaded_kernels()[0].metadata.license,
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("kernels") / "liger-kernels")


@pytest.fixture(scope="module")
def loaded(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("home")
    script = home / "load.py"
    script.write_text(LOAD)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "KERNELS_", "XDG_"))}
    environ = kept | {
        "HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "",  # as on most machines: importing the kernel writes into its folder
        "PYTHONPYCACHEPREFIX": "",
        "LOCAL_KERNELS": f"someone/else={home}:{local_kernels_value(folder)}",
        "TRITON_INTERPRET": "1",
    }
    done = subprocess.run([sys.executable, script], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def installed(path: str) -> str:
    return Path(str(metadata.distribution("liger-kernel").locate_file(path))).read_text()


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def definitions(text: str) -> dict[str, str]:
    """Functions and classes at the top of a module, decorators and comments included."""
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


Package = Callable[..., None]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Put another liger-kernel before the installed one: another version, or files changed or gone."""

    def make(version: str = LIGER_VERSION, *, without: str = "", edit: tuple[str, str, str] = ("", "", "")) -> None:
        site = tmp_path / "site"
        for path in NEEDED:
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            if path != without:
                text = installed(path)
                (site / path).write_text(text.replace(edit[1], edit[2]) if path == edit[0] else text)
        described = site / f"liger_kernel-{LIGER_VERSION}.dist-info" / "METADATA"
        described.write_text(f"Metadata-Version: 2.1\nName: liger_kernel\nVersion: {version}\n")
        monkeypatch.syspath_prepend(str(site))

    return make


def test_get_kernel_loads_the_folder_without_network_cache_or_liger_kernel(loaded: dict[str, Any]) -> None:
    assert loaded["from hub"] == [False]
    assert loaded["liger"] == []
    assert loaded["license"] == "BSD-2-Clause"


def test_it_has_the_names_of_the_hubs_version_1(loaded: dict[str, Any]) -> None:
    assert loaded["public"] == ["layers"]
    assert loaded["ops"] == [True, True, True]
    assert loaded["same function"]


def test_the_same_folder_resolves_for_torch_2_11_on_cuda_13(loaded: dict[str, Any]) -> None:
    assert loaded["on cuda"]


def test_the_mlp_agrees_with_plain_pytorch_also_where_columns_are_no_power_of_two(
    loaded: dict[str, Any],
) -> None:
    # 64 columns fill a block; 40 and 129 leave lanes masked (blocks of 64 and 256).
    assert len(loaded["differences"]) == 3
    assert max(loaded["differences"]) < 1e-6


def test_the_kernel_computes_the_tanh_form_of_gelu(loaded: dict[str, Any]) -> None:
    # gelu(1) = 0.5 (1 + tanh(0.7978846 * 1.044715)) = 0.5 (1 + 0.6823840) = 0.8411920; times 2
    # (the exact form with erf would give 2 * 0.8413447 = 1.6826895)
    assert loaded["gelu_tanh(1) * 2"] == pytest.approx(1.682384, abs=2e-6)


@pytest.mark.parametrize("name", COPIED)
def test_every_function_in_the_folder_is_the_packages_own(folder: Path, name: str) -> None:
    ours = definitions((folder / VARIANT / name).read_text())
    theirs = definitions(installed(COPIED[name]))
    helpers = definitions(installed("liger_kernel/utils.py"))
    inlined = {"is_npu_available", "infer_device"} if name == "utils.py" else set()
    assert ours == theirs | {helper: helpers[helper] for helper in inlined}


@pytest.mark.parametrize("name", ["geglu.py", "layers.py"])
def test_apart_from_the_notice_only_imports_of_the_package_differ(folder: Path, name: str) -> None:
    ours = (folder / VARIANT / name).read_text().splitlines()
    assert [line[:2] for line in ours[:2]] == ["# ", "# "]
    assert LIGER_VERSION in ours[0]
    assert "Copyright 2024 LinkedIn Corporation" in ours[1]
    changes = [line for line in difflib.ndiff(installed(COPIED[name]).splitlines(), ours[3:]) if line[0] in "-+"]
    assert all(line.startswith(("- from liger_kernel", "+ from .")) for line in changes)
    assert sum(line[0] == "-" for line in changes) == sum(line[0] == "+" for line in changes) > 0


def test_ligers_licence_and_notice_are_in_the_folder(folder: Path) -> None:
    for name in ("LICENSE", "NOTICE"):
        expected = installed(f"liger_kernel-{LIGER_VERSION}.dist-info/licenses/{name}")
        assert (folder / VARIANT / name).read_text() == expected
    assert (folder / VARIANT / "LICENSE").read_text().startswith("BSD 2-CLAUSE LICENSE\nCopyright 2024 LinkedIn")


def test_two_builds_give_identical_bytes(folder: Path, tmp_path: Path) -> None:
    assert contents(build(tmp_path / "again")) == contents(folder)
    assert len(contents(folder)) == 7


def test_a_rebuild_replaces_the_older_build_whole(folder: Path, tmp_path: Path) -> None:
    target = build(tmp_path / "liger-kernels")
    (target / VARIANT / "geglu.py").write_text("broken")
    (target / VARIANT / "left_over.py").write_text("")
    assert build(target) == target
    assert contents(target) == contents(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["liger-kernels"]


def test_another_version_of_liger_is_refused_with_what_to_install(package: Package, tmp_path: Path) -> None:
    package("0.8.4")
    with pytest.raises(LocalKernelError, match=r"0\.8\.4 is installed, 0\.8\.5 is expected") as error:
        build(tmp_path / "out" / "liger-kernels")
    assert "pip install liger-kernel==0.8.5" in error.value.hint
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", NEEDED)
def test_a_missing_file_is_named_and_the_older_build_stays(path: str, package: Package, tmp_path: Path) -> None:
    target = build(tmp_path / "out" / "liger-kernels")
    before = contents(target)
    package(without=path)
    with pytest.raises(LocalKernelError, match=r"liger-kernel 0\.8\.5") as error:
        build(target)
    assert error.value.where == path
    assert "pip install liger-kernel==0.8.5" in error.value.hint
    assert contents(target) == before
    assert [entry.name for entry in target.parent.iterdir()] == ["liger-kernels"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            ("liger_kernel/ops/geglu.py", "utils import device_context", "device import device_context"),
            "not there",
        ),
        (
            ("liger_kernel/ops/geglu.py", "import operator\n", "import operator\nimport liger_kernel.new\n"),
            "also has",
        ),
        (
            ("liger_kernel/utils.py", "def infer_device()", "def find_device()"),
            "no plain function infer_device",
        ),
    ],
)
def test_source_that_is_not_as_expected_is_named_and_nothing_is_written(
    edit: tuple[str, str, str], said: str, package: Package, tmp_path: Path
) -> None:
    package(edit=edit)
    with pytest.raises(LocalKernelError, match=said) as error:
        build(tmp_path / "out" / "liger-kernels")
    assert error.value.where == edit[0]
    assert LIGER_VERSION in str(error.value)
    assert not (tmp_path / "out").exists()


def test_an_error_while_the_new_build_takes_its_place_brings_the_older_one_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = shutil.copytree(folder, tmp_path / "liger-kernels")
    (target / VARIANT / "older").write_text("")
    before = contents(target)
    rename = Path.rename

    def fail(self: Path, to: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(LocalKernelError, match="No space left"):
        build(target)
    assert contents(target) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["liger-kernels"]


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(LocalKernelError, match="not a local kernel folder"):
        build(tmp_path)
    with pytest.raises(LocalKernelError, match="not a local kernel folder"):
        build(tmp_path / "thesis.tex")
    assert contents(tmp_path) == {"thesis.tex": b"years of work"}


def test_the_value_of_local_kernels_is_absolute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert local_kernels_value(Path("liger-kernels")) == f"kernels-community/liger-kernels={folder}"


def test_a_path_that_kernels_would_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalKernelError, match="colon"):
        local_kernels_value(tmp_path / "a:b")


def test_a_local_kernel_says_the_liger_version_and_the_hash_of_its_files(
    folder: Path, loaded: dict[str, Any], tmp_path: Path
) -> None:
    # `loaded` has left bytecode in the folder, a fresh build has none: the hash is the same
    assert any(path.suffix == ".pyc" for path in folder.rglob("*"))
    said = origin({"LOCAL_KERNELS": f"a/b=nowhere:{local_kernels_value(folder)}"})
    assert (said.repo, said.kind) == (REPO, "local")
    assert said.detail.startswith("built from liger-kernel 0.8.5, sha256 ")
    assert len(said.detail.split()[-1]) == 64
    assert said == origin({"LOCAL_KERNELS": local_kernels_value(build(tmp_path / "fresh"))})


def test_a_folder_changed_after_it_was_built_is_not_taken_for_liger(tmp_path: Path) -> None:
    target = build(tmp_path / "liger-kernels")
    geglu = target / VARIANT / "geglu.py"
    geglu.write_text(geglu.read_text().replace("0.044715", "0.044716"))
    with pytest.raises(LocalKernelError, match="changed after it was built") as error:
        origin({"LOCAL_KERNELS": local_kernels_value(target)})
    assert error.value.hint == "run: python -m build_traces local-kernels"


def test_a_kernel_folder_of_someone_else_is_of_unknown_origin(tmp_path: Path) -> None:
    variant = tmp_path / "build" / "torch-cuda"
    variant.mkdir(parents=True)
    (variant / "metadata.json").write_text("{}")
    assert origin({"LOCAL_KERNELS": f"{REPO}={tmp_path}"}).detail.startswith("of unknown origin, sha256 ")


@pytest.mark.parametrize("value", ["", ":", REPO, f"{REPO}=", f"{REPO}=somewhere:", "=somewhere"])
def test_a_malformed_local_kernels_says_what_to_run(value: str) -> None:
    with pytest.raises(LocalKernelError, match="org/name=path") as error:
        origin({"LOCAL_KERNELS": value})
    assert "python -m build_traces local-kernels" in error.value.hint


def test_a_folder_that_does_not_exist_or_has_no_kernel_says_what_to_run(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "gone", "does not exist"), (tmp_path, "without a kernel")):
        with pytest.raises(LocalKernelError, match=said) as error:
            origin({"LOCAL_KERNELS": f"{REPO}={path}"})
        assert error.value.where == str(path)
        assert error.value.hint == "run: python -m build_traces local-kernels"


@pytest.mark.parametrize("value", [None, "someone/else=somewhere"])
def test_without_a_local_folder_for_it_the_kernel_is_the_hubs_version_1(value: str | None, tmp_path: Path) -> None:
    environ = {"HF_HOME": str(tmp_path)} | ({} if value is None else {"LOCAL_KERNELS": value})
    assert origin(environ) == KernelOrigin("kernels-community/liger-kernels", "hub", "version 1")


@pytest.mark.parametrize(
    ("variable", "inside"),
    [("KERNELS_CACHE", ""), ("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_the_hubs_revision_is_read_from_the_cache_while_it_is_the_only_one(
    variable: str, inside: str, tmp_path: Path
) -> None:
    snapshots = tmp_path / inside / "kernels--kernels-community--liger-kernels" / "snapshots"

    def download(commit: str, version: int) -> None:
        variant = snapshots / commit / "build" / "torch-cuda"
        variant.mkdir(parents=True)
        (variant / "metadata.json").write_text(json.dumps({"name": "liger-kernels", "version": version}))

    download("a" * 40, 1)
    download("b" * 40, 2)
    assert origin({variable: str(tmp_path)}).detail == "revision " + "a" * 40
    download("c" * 40, 1)
    assert origin({variable: str(tmp_path)}).detail == "version 1"


def test_a_revision_loaded_in_this_process_counts_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    infos = [
        None,
        SimpleNamespace(repo_id="a/b", revision="e" * 40),
        SimpleNamespace(repo_id=REPO, revision="d" * 40),
    ]
    kernels = SimpleNamespace(get_loaded_kernels=lambda: [SimpleNamespace(repo_info=info) for info in infos])
    monkeypatch.setitem(sys.modules, "kernels", kernels)
    assert origin({"HF_HOME": str(tmp_path)}).detail == "revision " + "d" * 40
