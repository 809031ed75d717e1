"""What may be done to the versions, against real repositories: each is one commit, or none."""

import json
from xml.etree import ElementTree

import pytest
from mike.commands import set_properties

from build_traces.publish import PublishError
from build_traces.publish.root import ATOM
from publish.served import Served, git

ROOT_FILES = {".nojekyll", "404.html", "index.html", "llms.txt", "robots.txt", "versions.json", "versions.xml"}
PAGES = {"index.html", "llms.txt", "one/index.html"}


def inside(folder: str, names: set[str] = PAGES) -> set[str]:
    return {f"{folder}/{name}" for name in names}


def titles(served: Served) -> list[str]:
    feed = ElementTree.fromstring(served.read("versions.xml"))
    return [entry.findtext(f"{{{ATOM}}}title", "") for entry in feed.iter(f"{{{ATOM}}}entry")]


def test_the_first_version_makes_the_branch(served: Served) -> None:
    served.publish("1.0", latest=True)
    assert served.files() == ROOT_FILES | inside("1.0") | inside("latest") | {"recordings/gpu-aaa/trace.json.gz"}
    assert served.commits() == ["Publish 1.0 from c0ffeec0ff"]
    (version,) = json.loads(served.read("versions.json"))
    assert (version["version"], version["aliases"], version["properties"]["pages"]) == ("1.0", ["latest"], ["", "one/"])


def test_the_working_tree_and_its_branch_stay_as_they_are(served: Served) -> None:
    before = git("rev-parse", "HEAD")
    served.publish("1.0", latest=True)
    assert (git("rev-parse", "HEAD"), git("status", "--porcelain"), git("branch", "--show-current")) == (
        before, "", "main",
    )  # fmt: skip


def test_the_latest_is_a_copy_and_moves_to_the_new_version(served: Served) -> None:
    served.publish("1.0", latest=True)
    served.publish("1.1", latest=True)
    assert served.read("latest/one/index.html") == "1.1: text"
    assert served.read("1.0/one/index.html") == "1.0: text"
    assert [(v.version, v.latest) for v in served.branch.published()] == [("1.1", True), ("1.0", False)]


def test_a_version_that_is_not_the_latest_leaves_it(served: Served) -> None:
    served.publish("2.0", latest=True)
    served.publish("1.0.1")
    assert served.read("latest/one/index.html") == "2.0: text"


def test_readers_without_a_latest_are_sent_to_what_there_is(served: Served) -> None:
    served.publish("main")
    assert 'url=main/"' in served.read("index.html")
    served.publish("1.0", latest=True)
    assert 'url=latest/"' in served.read("index.html")


def test_versions_of_one_recording_share_it_and_one_of_another_has_its_own(served: Served) -> None:
    served.publish("1.0")
    served.publish("1.1")
    served.publish("2.0", recording="gpu-bbb")
    assert served.files("recordings") == {"recordings/gpu-aaa/trace.json.gz", "recordings/gpu-bbb/trace.json.gz"}


def test_publishing_main_again_replaces_its_pages_and_drops_a_recording_that_nothing_links_to(served: Served) -> None:
    served.publish("1.0", recording="gpu-aaa")
    served.publish("main", recording="gpu-bbb")
    served.publish("main", recording="gpu-ccc", text="new")
    assert served.files("recordings") == {"recordings/gpu-aaa/trace.json.gz", "recordings/gpu-ccc/trace.json.gz"}
    assert served.read("main/index.html") == "new"


def test_publishing_the_very_same_again_makes_no_commit(served: Served) -> None:
    served.publish("main")
    before = git("rev-parse", served.branch.name)
    served.publish("main")
    assert git("rev-parse", served.branch.name) == before


# Remove


def test_removing_a_version_takes_its_pages_and_what_only_it_linked_to(served: Served) -> None:
    served.publish("1.0", recording="gpu-aaa")
    served.publish("1.1", recording="gpu-bbb", latest=True)
    served.branch.remove("1.0")
    assert served.files() == ROOT_FILES | inside("1.1") | inside("latest") | {"recordings/gpu-bbb/trace.json.gz"}
    assert titles(served) == ["Reading PyTorch traces 1.1"]
    assert served.commits()[0] == "Remove 1.0"


def test_removing_the_latest_sends_readers_to_the_newest_that_is_left(served: Served) -> None:
    served.publish("1.0")
    served.publish("1.1", latest=True)
    served.branch.remove("1.1")
    assert served.files("latest") == set()
    assert 'url=1.0/"' in served.read("index.html")
    assert "(1.0/one/index.html.md)" in served.read("llms.txt")


def test_an_older_version_can_be_made_the_latest_again(served: Served) -> None:
    served.publish("1.0")
    served.publish("1.1", latest=True)
    served.branch.make_latest("1.0")
    assert served.read("latest/one/index.html") == "1.0: text"
    assert [(v.version, v.latest) for v in served.branch.published()] == [("1.1", False), ("1.0", True)]


def test_removing_the_only_version_leaves_nothing_to_read(served: Served) -> None:
    served.publish("1.0", latest=True)
    served.branch.remove("1.0")
    assert served.files() == {".nojekyll", "versions.json"}
    assert served.branch.published() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda branch: branch.remove("3.0"),
        lambda branch: branch.retitle("3.0", "Three"),
        lambda branch: branch.make_latest("3.0"),
    ],
    ids=["remove", "retitle", "latest"],
)
def test_a_version_that_is_not_there_is_refused_and_the_others_named(served: Served, change) -> None:
    served.publish("1.0")
    before = git("rev-parse", served.branch.name)
    with pytest.raises(PublishError, match=r"no version '3.0' on gh-pages\n  next: there are 1.0"):
        change(served.branch)
    assert git("rev-parse", served.branch.name) == before


def test_main_cannot_be_made_the_latest(served: Served) -> None:
    served.publish("main")
    with pytest.raises(PublishError, match="being written"):
        served.branch.make_latest("main")


# Retitle


def test_a_new_title_stands_in_the_list_and_the_feed_and_the_address_stays(served: Served) -> None:
    served.publish("1.0", latest=True)
    served.branch.retitle("1.0", "1.0, first edition")
    (version,) = json.loads(served.read("versions.json"))
    assert (version["version"], version["title"]) == ("1.0", "1.0, first edition")
    assert titles(served) == ["Reading PyTorch traces 1.0, first edition"]
    assert served.read("1.0/one/index.html") == "1.0: text"


# Half-made, elsewhere, by others


def test_a_failure_while_a_version_is_written_leaves_the_branch_as_it_was(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.publish("1.0")
    before = git("rev-parse", served.branch.name)
    monkeypatch.setattr("build_traces.publish.branch.root.files", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        served.publish("1.1")
    assert git("rev-parse", served.branch.name) == before


def test_what_the_remote_has_more_is_taken_over(served: Served, tmp_path) -> None:
    served.publish("1.0")
    git("clone", "-q", "--bare", str(served.root), str(tmp_path / "remote.git"))
    served.publish("1.1")
    git("push", "-q", str(tmp_path / "remote.git"), "gh-pages")
    git("branch", "-f", "gh-pages", "gh-pages^")
    git("remote", "add", "origin", str(tmp_path / "remote.git"))
    git("fetch", "-q", "origin")
    served.branch.update()
    assert [version.version for version in served.branch.published()] == ["1.1", "1.0"]


def test_a_branch_that_went_another_way_than_the_remote_is_refused(served: Served, tmp_path) -> None:
    served.publish("1.0")
    git("clone", "-q", "--bare", str(served.root), str(tmp_path / "remote.git"))
    served.publish("1.1")
    git("push", "-q", str(tmp_path / "remote.git"), "gh-pages")
    git("branch", "-f", "gh-pages", "gh-pages^")
    served.publish("1.2")
    git("remote", "add", "origin", str(tmp_path / "remote.git"))
    git("fetch", "-q", "origin")
    with pytest.raises(PublishError, match="diverged") as caught:
        served.branch.update()
    assert "git branch -f gh-pages origin/gh-pages" in caught.value.hint


def test_a_version_that_mike_made_alone_is_refused_with_the_way_out(served: Served) -> None:
    served.publish("1.0")
    set_properties("1.0", [("", {})])
    with pytest.raises(PublishError, match=r"versions.json, version 1.0.*\n.*nox -s deploy"):
        served.branch.published()
