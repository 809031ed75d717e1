"""The branch that is served: read its versions, and change them, each change being one commit or none.

mike keeps the versions in versions.json and writes commits without touching the working tree; its own commands work on
this branch too, but they know nothing of the recordings beside the versions, nor of the files at the root.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mike.commands import list_versions, make_nojekyll, versions_to_file_info
from mike.git_utils import (
    Commit,
    FileInfo,
    GitEmptyCommit,
    GitError,
    read_file,
    update_from_upstream,
    walk_files,
    walk_real_files,
)
from mike.versions import Versions

from build_traces.plain import INDEX as LLMS
from build_traces.publish import PublishError, root, shared
from build_traces.publish.edition import LATEST, MAIN, Edition, Properties
from build_traces.publish.repository import git, refuse_nameless

BRANCH = "gh-pages"
REMOTE = "origin"
VERSIONS = "nox -s versions -- list"


@dataclass(frozen=True)
class Branch:
    """A branch by its name; it need not be there yet."""

    name: str = BRANCH

    def update(self) -> None:
        """Take over what the remote has more. Raises PublishError if both have what the other lacks."""
        try:
            update_from_upstream(REMOTE, self.name)
        except GitError as error:
            hint = f"look at both; git branch -f {self.name} {REMOTE}/{self.name} takes the remote's"
            raise PublishError(str(error), hint=hint) from error

    def published(self) -> list[root.Published]:
        """The versions, the one that is being written first, then from the newest to the oldest."""
        return _published(self._versions())

    def has(self, identifier: str) -> bool:
        """Whether there is a version or an alias of this name."""
        return self._versions().find(identifier) is not None

    def add(self, edition: Edition, whole: Path, properties: Properties) -> None:
        """Put a version there, and beside it the recordings that are not; both lie in `whole` as they will there."""
        site = whole / edition.version
        versions = self._versions()
        aliases = [LATEST] if edition.latest else []
        info = versions.add(edition.version, aliases=aliases, update_aliases=True)
        info.properties = properties.as_json()
        with self._commit(f"Publish {edition.version} from {edition.commit[:10]}", versions) as commit:
            for folder in (edition.version, *aliases):
                commit.delete_files([folder])
                for file in walk_real_files(str(site)):
                    commit.add_file(file.copy(folder, str(site)))
            there = self._shared()
            for name in properties.shared:
                for file in walk_real_files(str(whole / shared.FOLDER / name)) if name not in there else ():
                    commit.add_file(file.copy("", str(whole)))
            self._write_root(commit, versions, (site / LLMS).read_text(encoding="utf-8"))

    def remove(self, version: str) -> None:
        """Take a version away, the recordings that no other links to, and the alias if it was the latest."""
        versions = self._known(version)
        info = versions[version]
        versions.remove(version)
        with self._commit(f"Remove {version}", versions) as commit:
            commit.delete_files([version, *info.aliases])
            self._write_root(commit, versions)

    def retitle(self, version: str, title: str) -> None:
        """Call a version something else in the selector and the feed; its address stays."""
        versions = self._known(version)
        versions.update(version, title)
        with self._commit(f"Call {version} {title}", versions) as commit:
            self._write_root(commit, versions)

    def make_latest(self, version: str) -> None:
        """Send readers to this version."""
        versions = self._known(version)
        if version == MAIN:
            raise PublishError(f"{MAIN} is being written, and cannot be the latest", hint=VERSIONS)
        versions.update(version, aliases=[LATEST], update_aliases=True)
        with self._commit(f"Make {version} the latest", versions) as commit:
            commit.delete_files([LATEST])
            for file in walk_files(self.name, version):
                commit.add_file(file.copy(LATEST, version))
            self._write_root(commit, versions, self._read(f"{version}/{LLMS}"))

    # What the branch holds

    def _versions(self) -> Versions:
        return list_versions(self.name)

    def _known(self, version: str) -> Versions:
        versions = self._versions()
        there = [str(info.version) for info in versions]
        if version not in there:
            raise PublishError(f"there is no version {version!r} on {self.name}", hint=f"there are {', '.join(there)}")
        return versions

    def _read(self, path: str) -> str:
        try:
            return str(read_file(self.name, path, universal_newlines=True))
        except GitError:
            return ""

    def _shared(self) -> set[str]:
        """The folders of recordings that are there."""
        try:
            listed = git("ls-tree", "--name-only", self.name, f"{shared.FOLDER}/")
        except PublishError:  # there is no such branch yet
            return set()
        return {Path(line).name for line in listed.splitlines()}

    # What a change writes

    @contextmanager
    def _commit(self, message: str, versions: Versions) -> Iterator[Commit]:
        """One commit with versions.json and without recordings that nothing links to; none at all on an error."""
        refuse_nameless()
        try:
            with Commit(self.name, message) as commit:
                yield commit
                used = {name for version in _published(versions) for name in version.properties.shared}
                commit.delete_files([f"{shared.FOLDER}/{name}" for name in sorted(self._shared() - used)])
                commit.add_file(versions_to_file_info(versions))
                commit.add_file(make_nojekyll())
        except GitEmptyCommit:
            pass  # all is there already, and mike took the empty commit back
        except GitError as error:
            raise PublishError(str(error), where=self.name) from error

    def _write_root(self, commit: Commit, versions: Versions, llms: str | None = None) -> None:
        published = _published(versions)
        site_url = next((v.properties.site_url for v in published if v.properties.site_url), "")
        if llms is None and published:
            llms = self._read(f"{root.start_of(published)}/{LLMS}")
        made = root.files(published, site_url, llms or "")
        for name, content in made.items():
            commit.add_file(FileInfo(name, content))
        if not made:
            commit.delete_files(["index.html", "404.html", "robots.txt", root.FEED, LLMS])


def _published(versions: Versions) -> list[root.Published]:
    return [
        root.Published(
            str(info.version), info.title, LATEST in info.aliases, Properties.of(info.properties, str(info.version))
        )
        for info in versions
    ]
