"""Build the site of one version: without drafts, its name on every page, canonical links to the latest."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException
from pathspec.gitignore import GitIgnoreSpec

from build_traces import check, plain
from build_traces.publish import PublishError
from build_traces.publish.drafts import drafts, nav_without
from build_traces.publish.edition import MAIN, Edition, ShownRecording
from build_traces.recording import RECORDINGS, open_recording

CONFIG = "mkdocs.yml"
EXTENSION = "build_traces.markdown"


@dataclass(frozen=True)
class BuiltSite:
    """A version's pages in a folder."""

    folder: Path
    left_out: tuple[str, ...]
    recording: ShownRecording

    @property
    def pages(self) -> tuple[str, ...]:
        """The addresses of its pages; the start page is ""."""
        found = (page.parent.relative_to(self.folder).as_posix() for page in self.folder.rglob("index.html"))
        return tuple(sorted("" if address == "." else f"{address}/" for address in found))


def build(edition: Edition, folder: Path) -> BuiltSite:
    """Build into an empty folder. Raises PublishError if the site may not be published, BuildTracesError, PageError."""
    config = load_config(CONFIG, site_dir=str(folder), site_url=edition.url, strict=True)
    docs = Path(config.docs_dir)
    left_out = drafts(docs)
    config.nav = nav_without(config.nav or [], left_out)
    # A pattern with a slash inside is anchored, one at the top has its slash in front.
    config.exclude_docs = (config.exclude_docs or GitIgnoreSpec([])) + GitIgnoreSpec.from_lines(
        f"/{d}" for d in left_out
    )
    config.extra["edition"] = {"version": edition.version, "unreleased": edition.version == MAIN}
    options = config.mdx_configs.setdefault(EXTENSION, {})
    options |= {"version": edition.version, "left_out": list(left_out)}
    with _warnings_shown():
        try:
            mkdocs_build(config)
        except MkDocsException as error:
            message = f"the site does not build: {error}"
            raise PublishError(message, hint="nox -s docs shows the same; mend it there") from error
    refuse(folder, [*check.check_site(folder), *(f"{page}: a draft" for page in check.drafts(folder))])
    plain.write(folder)
    return BuiltSite(folder, left_out, _recording(config))


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """What MkDocs warns of goes to the console; in a strict build it is the reason for its end."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(levelname)s - %(message)s"))
    logger = logging.getLogger("mkdocs")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def refuse(folder: Path, problems: Iterable[object]) -> None:
    """Raises PublishError if a built site has problems; each begins with a file, told as in `folder`."""
    told = [str(problem).removeprefix(f"{folder}/") for problem in problems]
    if told:
        raise PublishError("the built site may not be published:\n  " + "\n  ".join(told))


def _recording(config: MkDocsConfig) -> ShownRecording:
    options = config.mdx_configs[EXTENSION]
    environment = open_recording(RECORDINGS / options["recording"]).environment
    return ShownRecording(environment.gpu, environment.torch, environment.date, environment.commit)
