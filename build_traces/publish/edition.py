"""What a version is: its name, and what versions.json remembers of it."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from build_traces.publish import PublishError

LATEST = "latest"
"""The alias that readers are sent to; a copy of the version that has it."""
MAIN = "main"
"""The version that is being written: made anew at every deploy, and never the latest."""
NUMBERS = re.compile(r"\d+(\.\d+){0,2}")


def check_name(version: str, *, latest: bool = False) -> None:
    """Raises PublishError for a name that is no version's."""
    if version != MAIN and not NUMBERS.fullmatch(version):
        without_v = version.removeprefix("v")
        hint = f"write {without_v}" if NUMBERS.fullmatch(without_v) else "write one to three numbers, such as 1.2"
        raise PublishError(f"{version!r} is no name of a version", hint=f"{hint}, or {MAIN}")
    if version == MAIN and latest:
        message = f"{MAIN} is the version that is being written, and cannot be the latest"
        raise PublishError(message, hint="give it a number to publish it")


class ShownRecording(msgspec.Struct, frozen=True):
    """The recording that a version's numbers come from, in words."""

    gpu: str
    torch: str
    date: str
    commit: str

    def __str__(self) -> str:
        return f"Measured on {self.gpu}, torch {self.torch}, {self.date}, from commit {self.commit[:10]}."


class Properties(msgspec.Struct, frozen=True):
    """What versions.json says of a version beside mike's own keys; the version selector and the feed read it."""

    commit: str
    published: str
    """The day and time of that commit, as in RFC 3339."""
    recording: ShownRecording
    pages: tuple[str, ...]
    """Their addresses inside the version: a reader who changes versions stays on the page, if it is there."""
    shared: tuple[str, ...]
    """The folders of recordings that its pages link to."""
    left_out: tuple[str, ...] = ()
    """The drafts that it was published without."""
    site_url: str = ""
    """Where the branch was served when this was published; "" where that was not known."""

    @classmethod
    def of(cls, raw: object, version: str) -> "Properties":
        """What versions.json holds. Raises PublishError."""
        try:
            return msgspec.convert(raw, cls)
        except msgspec.ValidationError as error:
            hint = "was it deployed by mike alone? Remove it, and deploy it with nox -s deploy"
            raise PublishError(str(error), where=f"versions.json, version {version}", hint=hint) from error

    def as_json(self) -> dict[str, Any]:
        """For versions.json."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made


@dataclass(frozen=True)
class Edition:
    """A version that is about to be published."""

    version: str
    latest: bool
    commit: str
    site_url: str
    """Where the branch is served, with a slash at the end, or ""."""
    canonical: str
    """The folder that search engines are sent to: `latest`, or the version where there is no latest."""

    @property
    def url(self) -> str:
        """The canonical address of this version's pages, "" where the site's is not known."""
        return f"{self.site_url}{self.canonical}/" if self.site_url else ""
