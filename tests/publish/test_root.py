"""What stands beside the versions: with and without an address of the site."""

from urllib.parse import urlsplit
from xml.etree import ElementTree

import msgspec
import yaml

from build_traces.publish.edition import Properties
from build_traces.publish.root import ATOM, FEED, NAME, Published, files
from publish.served import RECORDING, ROOT

LLMS = "# Guide\n\n[machine](../recordings/gpu-aaa/environment.json)\n\n- [One](one/index.html.md): a page\n- [Out](https://a.b/c)\n"
MADE = Properties("c0ffee" * 7, "2026-12-01T00:00:00+00:00", RECORDING, ("",), ("gpu-aaa",))


def published(version: str, day: int = 1, *, latest: bool = False, **changes: object) -> Published:
    made = msgspec.structs.replace(MADE, published=f"2026-12-{day:02}T00:00:00+00:00", **changes)
    return Published(version, version, latest, made)


def feed(*versions: Published, site_url: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(files(versions, site_url, LLMS)[FEED])


def text(element: ElementTree.Element, tag: str) -> str:
    return element.findtext(f"{{{ATOM}}}{tag}", "")


def test_the_name_is_the_sites() -> None:
    first = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()[0]
    assert yaml.safe_load(first) == {"site_name": NAME}


def test_the_feed_has_what_atom_asks_for_and_the_newest_first() -> None:
    made = feed(published("1.0", 1), published("1.1", 3, latest=True), published("1.0.1", 2))
    entries = made.findall(f"{{{ATOM}}}entry")
    assert [text(entry, "title") for entry in entries] == [f"{NAME} {v}" for v in ("1.1", "1.0.1", "1.0")]
    assert text(made, "updated") == "2026-12-03T00:00:00+00:00"
    assert made.findtext(f"{{{ATOM}}}author/{{{ATOM}}}name")
    for part in (made, *entries):
        assert text(part, "id").startswith("urn:uuid:") and text(part, "title") and text(part, "updated")


def test_an_entry_says_which_gpu_torch_and_commits_and_what_was_left_out() -> None:
    (entry,) = feed(published("1.0", left_out=("chapters/traps.md",))).findall(f"{{{ATOM}}}entry")
    summary = text(entry, "summary")
    for part in ("NVIDIA H200", "torch 2.11.0", "commit 0123456789", "commit c0ffeec0ff", "chapters/traps.md"):
        assert part in summary


def test_ids_stay_when_the_site_moves() -> None:
    ids = [[e.text for e in feed(published("1.0"), site_url=url).iter(f"{{{ATOM}}}id")] for url in ("", "https://a.b/")]
    assert ids[0] == ids[1] and len(set(ids[0])) == 2


def test_links_are_whole_where_the_address_is_known_and_relative_where_not() -> None:
    for url, host in (("", ""), ("https://a.b/c/", "a.b")):
        hrefs = [link.get("href", "") for link in feed(published("1.0"), site_url=url).iter(f"{{{ATOM}}}link")]
        assert {urlsplit(href).netloc for href in hrefs} == {host}
        assert any(href.endswith("1.0/") for href in hrefs)


def test_robots_may_read_all_and_are_told_of_the_latest_pages() -> None:
    versions = [published("1.1", latest=True), published("1.0")]
    with_address = files(versions, "https://a.b/c/", LLMS)["robots.txt"]
    assert "Allow: /\n" in with_address and "Sitemap: https://a.b/c/latest/sitemap.xml\n" in with_address
    assert "Sitemap" not in files(versions, "", LLMS)["robots.txt"]


def test_the_start_leads_to_the_latest_with_and_without_an_address() -> None:
    versions = [published("1.1", latest=True), published("1.0")]
    assert '<a href="latest/">' in files(versions, "", LLMS)["index.html"]
    assert "canonical" not in files(versions, "", LLMS)["index.html"]
    assert '<link rel="canonical" href="https://a.b/latest/">' in files(versions, "https://a.b/", LLMS)["index.html"]


def test_a_wrong_address_leads_on_only_where_the_right_one_is_known() -> None:
    assert "<a" not in files([published("1.0")], "", LLMS)["404.html"]
    assert '<a href="https://a.b/">' in files([published("1.0")], "https://a.b/", LLMS)["404.html"]


def test_the_list_for_machines_leads_into_the_latest_and_to_the_recordings_beside_it() -> None:
    made = files([published("1.0", latest=True)], "", LLMS)["llms.txt"]
    assert "(latest/one/index.html.md)" in made
    assert "(recordings/gpu-aaa/environment.json)" in made
    assert "(https://a.b/c)" in made


def test_without_versions_there_is_nothing() -> None:
    assert files([], "", "") == {}
