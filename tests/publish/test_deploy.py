"""From a committed guide to a version on the branch: a small guide, built as the real one is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from build_traces import links
from build_traces.errors import BuildTracesError
from build_traces.publish import PublishError
from build_traces.publish.branch import Branch
from build_traces.publish.deploy import deploy
from publish.served import ROOT, Served, git

MKDOCS = {
    "site_name": "Reading PyTorch traces",
    "site_description": "A small guide",
    "site_url": "",
    "theme": {
        "name": "material",
        "custom_dir": str(ROOT / "overrides"),
        "font": False,
        "palette": [{"scheme": "default", "toggle": {"icon": "material/brightness-7", "name": "Dark"}}],
    },
    "nav": [{"Start": "index.md"}, {"Chapters": ["chapters/one.md", "chapters/traps.md"]}],
    "plugins": ["search"],
    "markdown_extensions": ["attr_list", {"build_traces.markdown": {"recording": "nvidia-h200_torch-2.11.0"}}],
    "validation": {"links": {"not_found": "warn", "anchors": "warn"}},
}
PAGES = {
    "index.md": "# Start\n\nIt ran {{ mlp_eager.kernel_count }} kernels. Read [one](chapters/one.md).\n",
    "chapters/one.md": "# One\n\nOne comes first.\n\n/// kernels | mlp_eager\n///\n\nThen [traps](traps.md#all).\n",
    "chapters/traps.md": "---\ndraft: true\n---\n# Traps\n\nA prediction of six.\n",
}


@pytest.fixture
def guide(repository, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A guide of three pages, one of them a draft, committed by somebody."""
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name in ("SITE_URL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    for name, page in PAGES.items():
        repository.write_page(name, page)
    (repository.root / "docs" / "assets").mkdir()
    for name in ("first.js", "versions.js", "versions.css"):
        (repository.root / "docs" / "assets" / name).write_bytes((ROOT / "docs" / "assets" / name).read_bytes())
    (repository.root / "mkdocs.yml").write_text(yaml.safe_dump(MKDOCS), encoding="utf-8")
    git("init", "-q", "-b", "main")
    git("config", "user.name", "A maintainer")
    git("config", "user.email", "maintainer@example.org")
    commit("Begin")
    return Served(repository.root)


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-qm", message)


def checked_out(guide: Served, folder: Path) -> Path:
    git("clone", "-q", "-b", guide.branch.name, str(guide.root), str(folder))
    return folder


# What is refused


def test_a_dirty_tree_is_refused_with_what_differs(guide: Served) -> None:
    (guide.root / "docs" / "index.md").write_text("# Changed\n", encoding="utf-8")
    (guide.root / "new.txt").touch()
    with pytest.raises(PublishError, match=r"differs from the commit.*docs/index.md, new.txt") as caught:
        deploy("1.0", Branch())
    assert "commit these changes" in caught.value.hint


@pytest.mark.parametrize("missing", ["name", "email"])
def test_nobody_to_commit_is_refused_with_the_command_that_says_who(guide: Served, missing: str) -> None:
    git("config", "--unset", f"user.{missing}")
    with pytest.raises(PublishError, match=f"git does not know your {missing}") as caught:
        deploy("1.0", Branch())
    assert "git config user.name" in caught.value.hint


def test_a_version_never_changes(guide: Served) -> None:
    deploy("1.0", Branch(), latest=True)
    before = git("rev-parse", "gh-pages")
    with pytest.raises(PublishError, match=r"version 1.0 exists, and a version never changes") as caught:
        deploy("1.0", Branch())
    assert "nox -s versions -- remove 1.0" in caught.value.hint
    assert git("rev-parse", "gh-pages") == before


def test_a_bad_name_is_refused_before_anything_else(guide: Served) -> None:
    (guide.root / "new.txt").touch()
    with pytest.raises(PublishError, match="is no name of a version"):
        deploy("v1.0", Branch())


def test_another_recording_than_the_committed_one_is_refused(guide: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECORDING", "my-gpu")
    with pytest.raises(PublishError, match="RECORDING is my-gpu"):
        deploy("1.0", Branch())


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("# One\n\n{{ mlp_eager.kernel_cuont }}\n", "docs/chapters/one.md:3: there is no fact"),
        ("# One\n\n[two](two.md)\n", "the site does not build: Aborted with 1 warnings in strict mode"),
        ("# One\n\n<a href='../nowhere/'>two</a>\n", "chapters/one/index.html"),
        ("# One\n\n<p>{{ mlp_eager.kernel_count }}</p>\n", "a fact was not rendered"),
    ],
    ids=["fact", "link", "raw-link", "unrendered"],
)
def test_a_site_with_a_fault_is_not_published(guide: Served, page: str, says: str) -> None:
    (guide.root / "docs" / "chapters" / "one.md").write_text(page, encoding="utf-8")
    commit("A fault")
    with pytest.raises(BuildTracesError) as caught:
        deploy("1.0", Branch())
    assert says in str(caught.value)
    assert Branch().published() == []


def test_outside_a_repository_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PublishError, match="not a git repository"):
        deploy("1.0", Branch())


# What is published


def test_a_draft_and_every_link_to_it_are_left_out(guide: Served, tmp_path: Path) -> None:
    done = deploy("1.0", Branch(), latest=True)
    assert done.left_out == ("chapters/traps.md",)
    whole = checked_out(guide, tmp_path / "served")
    assert not list(whole.rglob("traps*"))
    for path in (p for p in whole.rglob("*") if p.suffix in {".html", ".md", ".json", ".txt", ".xml"}):
        assert "A prediction of six" not in path.read_text(encoding="utf-8"), path
    one = (whole / "1.0" / "chapters" / "one" / "index.html").read_text(encoding="utf-8")
    assert '<span class="left-out">traps<small> (to come)</small></span>' in one
    assert links.broken(whole) == []


def test_a_page_names_version_gpu_torch_and_commit(guide: Served) -> None:
    deploy("1.0", Branch(), latest=True)
    page = guide.read("1.0/chapters/one/index.html")
    assert "Version 1.0. Measured on NVIDIA H200, torch 2.11.0+cu130, 2026-12-01, from commit 0123456789." in page
    (listed,) = json.loads(guide.read("versions.json"))
    assert listed["properties"]["commit"] == git("rev-parse", "HEAD")
    assert listed["properties"]["recording"]["gpu"] == "NVIDIA H200"
    assert listed["properties"]["pages"] == ["", "chapters/one/"]


def test_text_and_recording_of_a_version_stay_when_both_change_later(guide: Served) -> None:
    deploy("1.0", Branch(), latest=True)
    before = git("rev-parse", "gh-pages:1.0")
    environment = guide.root / "docs" / "recordings" / "nvidia-h200_torch-2.11.0" / "environment.json"
    environment.write_text(
        environment.read_text(encoding="utf-8").replace("2026-12-01", "2026-12-24"), encoding="utf-8"
    )
    (guide.root / "docs" / "index.md").write_text("# Start\n\nAnew.\n", encoding="utf-8")
    commit("Record anew")
    deploy("1.1", Branch(), latest=True)
    assert git("rev-parse", "gh-pages:1.0") == before
    recordings = {path.split("/")[1] for path in guide.files("recordings")}
    assert len(recordings) == 2
    dates = {name: json.loads(guide.read(f"recordings/{name}/environment.json"))["date"] for name in recordings}
    for version, day in (("1.0", "2026-12-01"), ("1.1", "2026-12-24"), ("latest", "2026-12-24")):
        (linked,) = (name for name in recordings if f"../recordings/{name}/" in guide.read(f"{version}/index.html"))
        assert dates[linked] == day


def test_canonical_links_lead_to_the_latest_if_the_address_is_known(guide: Served) -> None:
    deploy("main", Branch(), site_url="https://guide.example/traces")
    before_any_latest = 'rel="canonical" href="https://guide.example/traces/main/chapters/one/"'
    assert before_any_latest in guide.read("main/chapters/one/index.html")
    deploy("1.0", Branch(), latest=True, site_url="https://guide.example/traces/")
    canonical = '<link rel="canonical" href="https://guide.example/traces/latest/chapters/one/">'
    assert canonical in guide.read("1.0/chapters/one/index.html")
    assert "<loc>https://guide.example/traces/latest/chapters/one/</loc>" in guide.read("latest/sitemap.xml")
    assert "Sitemap: https://guide.example/traces/latest/sitemap.xml" in guide.read("robots.txt")
    picture = 'property="og:image" content="https://guide.example/traces/latest/assets/social-card.png"'
    assert picture in guide.read("1.0/index.html")


def test_without_an_address_no_page_names_one(guide: Served) -> None:
    deploy("1.0", Branch(), latest=True)
    for path in (path for path in guide.files() if path.endswith((".html", ".xml", ".txt"))):
        page = guide.read(path)
        assert 'rel="canonical"' not in page and "og:url" not in page and "og:image" not in page, path


def test_a_removed_latest_is_remembered_by_its_address(guide: Served) -> None:
    deploy("1.0", Branch(), latest=True, site_url="https://guide.example/")
    deploy("1.1", Branch(), latest=True, site_url="https://guide.example/")
    Branch().remove("1.1")
    assert 'href="https://guide.example/1.0/"' in guide.read("versions.xml")


def test_the_commands_say_what_was_done_and_what_comes_next(guide: Served) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "build_traces", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    done = run("deploy", "1.0", "latest")
    assert done.returncode == 0, done.stderr
    assert "1.0: 2 pages on gh-pages" in done.stdout
    assert "left out: chapters/traps.md, a draft" in done.stdout
    assert "next: git push origin gh-pages" in done.stdout
    again = run("deploy", "1.0")
    assert again.returncode == 1 and again.stderr.startswith("error: version 1.0 exists")
    assert run("deploy", "1.1", "newest").returncode == 2
    assert "1.0 is called First" in run("versions", "retitle", "1.0", "First").stdout
    listed = run("versions", "list").stdout
    assert "1.0 “First” (latest)" in listed and "Measured on NVIDIA H200" in listed
    assert "1.0 is removed" in run("versions", "remove", "1.0").stdout
    assert "there is no version yet" in run("versions", "list").stdout
