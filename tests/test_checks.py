"""What `nox -s check`, CI and the hooks of a commit run is the same, in the same versions."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
LINT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["lint"]
PINS = {pin for pin in LINT if isinstance(pin, str)}
NOT_QUICK = {"mypy", "types-markdown", "types-pygments"}


def assigned(name: str) -> ast.expr:
    """What noxfile.py sets a name to."""
    tree = ast.parse(NOXFILE)
    (found,) = (n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name)
    return found.value


HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))


def hooks() -> list[dict[str, Any]]:
    return [hook for repo in HOOKS["repos"] for hook in repo["hooks"]]


def test_check_runs_what_the_pull_request_workflow_runs() -> None:
    workflow = (ROOT / ".github" / "workflows" / "pull-request.yml").read_text(encoding="utf-8")
    assert set(ast.literal_eval(assigned("CHECKS"))) == set(re.findall(r"nox -s (\w+)", workflow))


def test_ci_runs_the_tests_and_the_linters() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "nox -s tests" in script
    assert "nox -s lint" in script


def test_each_linter_is_pinned_or_a_module_of_ours() -> None:
    programs = {call.args[1].elts[0].value for call in assigned("LINTERS").elts}
    assert programs - {"python"} == {re.split(r"==|-kjanat", pin)[0] for pin in PINS} - NOT_QUICK | {"mypy"}


def test_a_hook_has_the_version_of_the_linter_and_fetches_nothing_else() -> None:
    for hook in hooks():
        (pin,) = hook["additional_dependencies"]
        assert hook["language"] == "python"
        assert pin in PINS, f"{hook['id']}: {pin} is not what pyproject.toml pins"


def test_every_quick_linter_has_a_hook() -> None:
    hooked = {pin for hook in hooks() for pin in hook["additional_dependencies"]}
    assert {pin for pin in PINS if pin.partition("==")[0] not in NOT_QUICK} == hooked


def test_every_check_says_what_mends_it() -> None:
    assert all(re.search(r"nox -s \w+", mend) for mend in ast.literal_eval(assigned("CHECKS")).values())


def test_no_hook_touches_a_recording() -> None:
    assert re.search(HOOKS["exclude"], "docs/recordings/nvidia-h200_torch-2.11.0/mlp_compiled/inductor_1.py")
    assert not re.search(HOOKS["exclude"], "docs/reference/recordings.md")
