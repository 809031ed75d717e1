"""What the workflow files may do: read them as GitHub does, and hold them to the rules."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
NAMES = [path.name for path in FILES]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
VERSION_BESIDE = re.compile(r"uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
WRITES = {"deploy.yml": {"deploy": {"contents"}}, "record.yml": {"propose": {"contents", "pull-requests"}}}
"""The jobs that may write, and what."""


class _Loader(yaml.SafeLoader):
    """YAML 1.2 in the one point that matters: `on` is a word."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def load(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)


def steps(workflow: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((name, step) for name, job in workflow["jobs"].items() for step in job.get("steps", []))


def runs_on(job: dict[str, Any]) -> list[str]:
    return [job["runs-on"]] if isinstance(job["runs-on"], str) else job["runs-on"]


def test_there_are_workflows_for_pull_requests_for_deploying_and_for_recording() -> None:
    assert NAMES == ["deploy.yml", "pull-request.yml", "record.yml"]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_action_is_pinned_by_commit_with_its_version_beside_it(path: Path) -> None:
    for name, step in steps(load(path)):
        assert "uses" not in step or PINNED.fullmatch(step["uses"]), (name, step["uses"])
    for line in path.read_text(encoding="utf-8").splitlines():
        assert "uses:" not in line or VERSION_BESIDE.search(line), line


def test_an_action_has_one_commit_everywhere() -> None:
    used = {step["uses"] for path in FILES for _, step in steps(load(path)) if "uses" in step}
    assert len(used) == len({action.partition("@")[0] for action in used})


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_permissions_are_stated_and_each_job_that_may_write_is_known(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        granted = job.get("permissions", workflow["permissions"])
        assert granted, f"{name}: no permissions are stated"
        writes = {what for what, access in granted.items() if access == "write"}
        assert writes == WRITES.get(path.name, {}).get(name, set()), name


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_nothing_runs_for_a_fork_with_rights_of_ours(path: Path) -> None:
    triggers = load(path)["on"]
    assert not {"pull_request_target", "workflow_run", "issue_comment", "pull_request_review"} & set(triggers)
    if "pull_request" in triggers:
        text = path.read_text(encoding="utf-8")
        assert "secrets." not in text and "github.token" not in text and "GITHUB_TOKEN" not in text
        assert set(triggers) == {"pull_request"}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_machine_of_ours_is_started_by_hand_only_and_gets_no_token_that_writes(path: Path) -> None:
    workflow = load(path)
    own = {name: job for name, job in workflow["jobs"].items() if "self-hosted" in runs_on(job)}
    assert bool(own) == (path.name == "record.yml")
    if own:
        assert set(workflow["on"]) == {"workflow_dispatch"}
    for job in own.values():
        assert job["permissions"] == {"contents": "read"}
        assert not any("GH_TOKEN" in step.get("env", {}) for step in job["steps"])
    hosted = [label for name, job in workflow["jobs"].items() if name not in own for label in runs_on(job)]
    assert set(hosted) <= {"ubuntu-24.04"}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_checkout_leaves_its_token_behind(path: Path) -> None:
    checkouts = [step for _, step in steps(load(path)) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_what_others_may_write_reaches_a_script_as_a_variable_only(path: Path) -> None:
    for name, step in steps(load(path)):
        assert "${{" not in step.get("run", ""), (name, step["run"])


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_job_ends_and_runs_that_would_meet_wait(path: Path) -> None:
    workflow = load(path)
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    assert "concurrency" in workflow or any("concurrency" in job for job in workflow["jobs"].values())


def test_the_gpu_matrix_is_the_list_of_labels_that_was_given() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "record.yml")["jobs"]
    for name in ("record", "propose"):
        assert jobs[name]["strategy"]["matrix"] == {"label": "${{ fromJSON(inputs.labels) }}"}
    assert jobs["record"]["runs-on"] == ["self-hosted", "${{ matrix.label }}"]
    assert jobs["record"]["concurrency"]["group"] == "gpu-${{ matrix.label }}"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_step_has_both_a_token_and_code_of_the_project(path: Path) -> None:
    for name, step in steps(load(path)):
        runs_ours = ".venv/bin/" in step.get("run", "")
        assert not (runs_ours and "GH_TOKEN" in step.get("env", {})), (name, step["name"])


def test_only_recordings_and_labs_are_taken_from_a_gpu_machine() -> None:
    taken = [step["run"] for _, step in steps(load(ROOT / ".github" / "workflows" / "record.yml")) if "run" in step]
    (applies,) = (line for run in taken for line in run.splitlines() if "git apply" in line)
    assert re.findall(r"--include='([^']+)'", applies) == ["docs/recordings/*", "docs/labs/*"]


def test_a_pull_request_keeps_the_site_that_it_built() -> None:
    job = load(ROOT / ".github" / "workflows" / "pull-request.yml")["jobs"]["site"]
    (kept,) = (step for step in job["steps"] if step.get("uses", "").startswith("actions/upload-artifact@"))
    assert kept["with"]["path"] == "site/"
    assert any("nox -s docs" in step.get("run", "") for step in job["steps"])


def test_nox_is_the_one_that_the_readme_names() -> None:
    (named,) = set(re.findall(r"nox==[\d.]+", (ROOT / "README.md").read_text(encoding="utf-8")))
    for path in FILES:
        assert set(re.findall(r"nox==[\d.]+", path.read_text(encoding="utf-8"))) == {named}
