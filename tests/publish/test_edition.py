"""Names of versions, and what versions.json remembers."""

import pytest

from build_traces.publish import PublishError
from build_traces.publish.edition import Edition, check_name


@pytest.mark.parametrize("version", ["1", "1.2", "1.2.3", "2026.12.1", "main"])
def test_a_version_is_one_to_three_numbers_or_main(version: str) -> None:
    check_name(version)


@pytest.mark.parametrize("version", ["", "latest", "v1.2", "1.2.3.4", "1.x", "../1", "1/2", "1.2 ", "-1", "recordings"])
def test_any_other_name_is_refused(version: str) -> None:
    with pytest.raises(PublishError, match="is no name of a version") as caught:
        check_name(version)
    assert "main" in caught.value.hint


def test_a_tags_name_is_refused_with_the_name_to_write() -> None:
    with pytest.raises(PublishError, match=r"'v1\.2'") as caught:
        check_name("v1.2", latest=True)
    assert caught.value.hint.startswith("write 1.2")


def test_what_is_being_written_is_not_the_latest() -> None:
    with pytest.raises(PublishError, match="cannot be the latest"):
        check_name("main", latest=True)


def test_the_canonical_address_needs_the_sites() -> None:
    assert Edition("1.2", True, "c0ffee", "https://guide.example/", "latest").url == "https://guide.example/latest/"
    assert Edition("1.2", True, "c0ffee", "", "latest").url == ""
