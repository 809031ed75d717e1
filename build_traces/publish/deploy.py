"""The order in which a version is made: every check that needs no build, the build, and one commit on the branch."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from build_traces import links
from build_traces.markdown import RECORDING_VARIABLE
from build_traces.publish import PublishError, shared, site
from build_traces.publish.branch import Branch
from build_traces.publish.edition import LATEST, MAIN, Edition, Properties, check_name
from build_traces.publish.repository import head, refuse_dirty, refuse_nameless


@dataclass(frozen=True)
class Deployed:
    """What was done, for the console."""

    version: str
    pages: int
    left_out: tuple[str, ...]
    shared: tuple[str, ...]


def deploy(version: str, branch: Branch, *, latest: bool = False, site_url: str = "") -> Deployed:
    """Build the guide as it is committed, and put it on the branch as a version. Raises PublishError, BuildTracesError.

    Drafts are left out, and links to them become text: what is recorded need not wait for what is not.
    """
    check_name(version, latest=latest)
    refuse_dirty()
    refuse_nameless()
    _refuse_another_recording()
    branch.update()
    if version != MAIN and branch.has(version):
        hint = f"give this one the next number, or take the old one away: nox -s versions -- remove {version}"
        raise PublishError(f"version {version} exists, and a version never changes", hint=hint)
    canonical = LATEST if latest or branch.has(LATEST) else version
    commit, committed = head()
    edition = Edition(version, latest, commit, _with_slash(site_url), canonical)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder)  # laid out as the branch
        built = site.build(edition, whole / version)
        names = shared.share(built.folder, whole)
        site.refuse(whole, links.broken(whole))
        properties = Properties(
            commit=commit,
            published=committed,
            recording=built.recording,
            pages=built.pages,
            shared=names,
            left_out=built.left_out,
            site_url=edition.site_url,
        )
        branch.add(edition, whole, properties)
    return Deployed(version, len(properties.pages), built.left_out, names)


def _with_slash(url: str) -> str:
    return url if not url or url.endswith("/") else f"{url}/"


def _refuse_another_recording() -> None:
    if name := os.environ.get(RECORDING_VARIABLE):
        message = f"{RECORDING_VARIABLE} is {name}, and a version shows the recording that mkdocs.yml names"
        raise PublishError(message, hint=f"unset {RECORDING_VARIABLE}, or name that recording in mkdocs.yml")
