"""What one Markdown instance knows while it converts a text: the page, its recording, what was rendered."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from markdown import Markdown

from build_traces.errors import BuildTracesError, FactError, NotRecordedError, PageError
from build_traces.facts import Fact
from build_traces.markdown.html import element, missing
from build_traces.markdown.page import Page, find_page
from build_traces.markdown.source import FreshFacts, folder_of, open_facts
from build_traces.markdown.value import fact_element


@dataclass(frozen=True)
class Options:
    """The extension's options. `first` is the recording that the pages were written on, `recording` the one shown."""

    recording: str
    first: str
    recordings: Path
    snippets: Path
    docs: Path
    version: str = ""
    left_out: frozenset[str] = frozenset()
    """Pages under `docs` that are not published, as `chapters/traps.md`."""


@dataclass(frozen=True)
class Header:
    """The first line of a block, as written at `lines[index]` of the page."""

    index: int
    name: str
    argument: str

    @property
    def key(self) -> tuple[str, str]:
        """What the rendered block is found by."""
        return (self.name, self.argument)


class Conversion:
    """The state of one `Markdown.convert` call; `begin` starts the next one."""

    def __init__(self, md: Markdown, options: Options) -> None:
        self.md = md
        self.options = options
        self.page = Page("", (), 1, None)
        self.headers: list[Header] = []
        self.prose: list[tuple[int, str]] = []
        self.rendered: Counter[tuple[str, str]] = Counter()
        self.unrecorded: set[str] = set()
        self.chapter = 0
        """Which chapter this page says that it is; 0 for any other page."""
        self._facts: FreshFacts | None = None
        self._ids = 0

    def begin(self, source: str) -> None:
        """A new text: find its page and forget the one before."""
        self.page = find_page(source, self.options.docs)
        self.headers, self.prose = [], []
        self.rendered = Counter()
        self.unrecorded = set()
        self.chapter = 0
        self._facts = None
        self._ids = 0

    @property
    def facts(self) -> FreshFacts:
        """The facts of the recording. Raises RecordingError and LadderError."""
        if self._facts is None:
            folder = folder_of(self.options.recording, self.options.recordings)
            self._facts = open_facts(folder, self.options.snippets)
        return self._facts

    # Places

    @contextmanager
    def at(self, index: int) -> Iterator[None]:
        """Errors inside are told with file and line of `lines[index]`."""
        try:
            yield
        except PageError:
            raise
        except BuildTracesError as error:
            place = f"{error.where}: " if error.where else ""
            raise self.page.refusal(index, place + error.message, error.hint) from error
        except Exception as error:
            # A fence around this text would swallow anything else.
            message = f"cannot be rendered: {type(error).__name__}: {error}"
            raise self.page.refusal(
                index, message, "the recording is damaged, or this is a bug in build_traces"
            ) from error

    def index_of(self, text: str) -> int:
        """The first line outside code that holds this text; 0 if it came from an included file."""
        return next((index for index, line in self.prose if text in line), 0)

    def index_of_block(self, key: tuple[str, str]) -> int:
        """The line of the block of this name and argument that is rendered next. 0 as above."""
        same = [header.index for header in self.headers if header.key == key]
        return same[min(self.rendered[key], len(same) - 1)] if same else 0

    # What blocks are made of

    def value(self, fact: Fact, spec: str = "") -> Element:
        """A fact as HTML, with its stamp on hover."""
        return fact_element(fact, spec, self._processes(fact))

    def fact(self, path: str, spec: str = "") -> Element:
        """The fact at this path as HTML, or what `in_text` puts in its place. Raises FactError."""
        return self.in_text(lambda: self.value(self.facts.get(path), spec))

    def in_text(self, build: Callable[[], Element]) -> Element:
        """A value in the text of a page: as built, or why it is not there.

        On a draft it may wait for its stage to be recorded. A page is written on the first recording, so what
        cannot be built there is a mistake, and raised; what another recording cannot give is a dash.
        """
        try:
            return build()
        except NotRecordedError as error:
            return self.not_recorded(error, "span")
        except FactError as error:
            if self.options.recording == self.options.first:
                raise
            return missing(error.message)

    def not_recorded(self, error: NotRecordedError, tag: str) -> Element:
        """What stands on a draft where a value will be. Raises the error again on any other page."""
        if not self.page.draft:
            raise error
        self.unrecorded.add(error.stage)
        return element(tag, "not recorded yet", class_="unrecorded", title=str(error))

    def _processes(self, fact: Fact) -> int | None:
        """Over how many processes a spread was taken; None where that is not known."""
        stage, _, rest = fact.path.partition(".")
        if fact.spread is None or stage == "recording" or ".kernel." in f".{rest}":
            return None
        return self.facts.processes(stage)

    def link(self, target: Path, *content: Element | str, **attributes: str) -> Element:
        """A link to a file under docs/; a `<span>` in a text that is no page, where nothing would rewrite it."""
        href = self.page.href(target)
        if href is None:
            return element("span", *content)
        return element("a", *content, href=href, **attributes)

    def new_id(self, prefix: str) -> str:
        """An id that no other block has, whether on this page or in a text inside one."""
        self._ids += 1
        text = "\n".join(self.page.lines)
        inside = "" if self.page.is_page else hashlib.sha256(text.encode()).hexdigest()[:8] + "-"
        return f"{prefix}-{inside}{self._ids}"
