"""Read a page's source before anything else does, for what Markdown would leave as text without a word.

A block with a misspelt name, an option it does not have, no end or no argument; a `--8<--`
section that does not exist. Raises PageError with the line.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markdown import Markdown
from markdown.preprocessors import Preprocessor

from build_traces.markdown.block import TraceBlock
from build_traces.markdown.conversion import Conversion, Header

CONTAINER = r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ ]+)?"
FENCE = re.compile(CONTAINER + r"(?P<mark>`{3,}|~{3,})(?P<rest>.*)$")
HEADER = re.compile(CONTAINER + r"/{3,}[ ]*(?P<name>[\w-]+)[ ]*(?:\|[ ]*(?P<argument>.*?)[ ]*)?$")
END = re.compile(CONTAINER + r"/{3,}[ ]*$")
OPTION = re.compile(r"^[ \t>]*[ ]{4,}(?P<name>[\w-]+)[ ]*:")
COMMENT = re.compile(r"<!--.*?-->")
CODE_SPAN = re.compile(r"(?<!`)(?P<mark>`+)(?!`).*?(?<!`)(?P=mark)(?!`)")
EMBED = re.compile(r'^[ \t>]*-+8<-+[ \t]+(?P<quote>["\'])(?P<target>.+?)(?P=quote)[ \t]*$')
EMBED_LIST = re.compile(r"^[ \t>]*-+8<-+[ \t]*$")
LINES = re.compile(r"(?P<file>.*?)(?::-?\d*){1,2}(?:,-?\d*(?::-?\d*)?)*")
SECTION = re.compile(r"-+8<-+[ \t]+\[[ \t]*(?P<kind>start|end)[ \t]*:[ \t]*(?P<name>[\w-]+)[ \t]*\]")
COMMON_OPTIONS = {"attrs"}


class Preflight(Preprocessor):
    """Begins a conversion: finds the page, checks its source, notes where its blocks are."""

    def __init__(self, md: Markdown, conversion: Conversion, blocks: Mapping[str, type[TraceBlock]]) -> None:
        super().__init__(md)
        self.conversion = conversion
        self.blocks = blocks

    def run(self, lines: list[str]) -> list[str]:
        """Called by Python-Markdown with the source as it was written, which is returned unchanged."""
        self.conversion.begin("\n".join(lines))
        self._check_embeds(lines)
        prose = list(outside_code(lines))
        self.conversion.prose = prose
        self.conversion.headers = list(self._headers(prose))
        return lines

    # Blocks

    def _headers(self, prose: list[tuple[int, str]]) -> Iterator[Header]:
        for position, (index, line) in enumerate(prose):
            if match := HEADER.match(line):
                name = match["name"].lower()
                self._check_name(name, index)
                if name in self.blocks:
                    header = Header(index, name, match["argument"] or "")
                    self._check_argument(header)
                    self._check_closed(header, [text for _, text in prose[position + 1 :]])
                    yield header

    def _check_name(self, name: str, index: int) -> None:
        # Other extensions register blocks with the same manager.
        known = sorted(self.md.parser.blockprocessors["blocks"].blocks)  # type: ignore[attr-defined]  # pymdownx adds it
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else f"the blocks are {', '.join(known)}"
            raise self.conversion.page.refusal(index, f"there is no block {name!r}", hint)

    def _check_argument(self, header: Header) -> None:
        needed = self.blocks[header.name].ARGUMENT
        if needed and not header.argument:
            raise self.conversion.page.refusal(
                header.index, f"block {header.name!r} needs a stage", f"write /// {header.name} | mlp_eager"
            )
        if needed is False and header.argument:
            raise self.conversion.page.refusal(
                header.index, f"block {header.name!r} takes no argument", f"write /// {header.name}"
            )

    def _check_closed(self, header: Header, following: Sequence[str]) -> None:
        known = COMMON_OPTIONS | set(self.blocks[header.name].OPTIONS)
        for offset, line in enumerate(following, start=1):
            option = OPTION.match(line)
            if END.match(line):
                return
            if option and option["name"] not in known:
                raise self.conversion.page.refusal(
                    header.index + offset,
                    f"block {header.name!r} has no option {option['name']!r}",
                    f"its options are {', '.join(sorted(known))}",
                )
            if line.strip(" \t>") and not option:
                break
        raise self.conversion.page.refusal(
            header.index, f"block {header.name!r} is not closed", "write /// on the line behind it; it has no content"
        )

    # Embedded snippets

    def _check_embeds(self, lines: list[str]) -> None:
        listing = False
        for index, line in enumerate(lines):
            if EMBED_LIST.match(line):
                listing = not listing
            elif listing and line.strip() and not line.lstrip().startswith(";"):
                self._check_embed(line.strip(), index)
            elif match := EMBED.match(line):
                self._check_embed(match["target"].strip(), index)

    def _check_embed(self, target: str, index: int) -> None:
        if target.startswith(";"):
            return
        if "snippet" not in self.md.preprocessors:
            raise self.conversion.page.refusal(
                index, f"{target} is not embedded: pymdownx.snippets is not there", "add it to markdown_extensions"
            )
        lines = LINES.fullmatch(target)
        name, _, section = (lines["file"], "", "") if lines else target.partition(":")
        file = next((base / name for base in self._bases() if (base / name).is_file()), None)
        if file is None:
            raise self.conversion.page.refusal(index, f"there is no file {name} to embed", "write it, or name another")
        if section:
            self._check_section(file, name, section, index)

    def _bases(self) -> list[Path]:
        return [Path(base) for base in self.md.preprocessors["snippet"].base_path]  # type: ignore[attr-defined]  # pymdownx adds it

    def _check_section(self, file: Path, name: str, section: str, index: int) -> None:
        marks = [(m["kind"], m["name"]) for m in SECTION.finditer(file.read_text(encoding="utf-8"))]
        sections = [named for kind, named in marks if kind == "start"]
        if section not in sections:
            there = f"its sections are {', '.join(sections)}" if sections else "it has no sections"
            raise self.conversion.page.refusal(index, f"{name} has no section {section!r}", there)
        if ("end", section) not in marks:
            raise self.conversion.page.refusal(
                index, f"section {section!r} of {name} has no end", f"write # --8<-- [end:{section}] behind it"
            )


def outside_code(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines that are neither in a fence nor in an HTML comment, with their index and without code spans."""
    fence, comment = "", False
    for index, line in enumerate(lines):
        match = FENCE.match(line)
        if comment:
            comment = "-->" not in line
        elif fence:
            if match and match["mark"].startswith(fence) and not match["rest"].strip():
                fence = ""
        elif match and not (match["mark"][0] == "`" and "`" in match["rest"]):
            fence = match["mark"]
        else:
            prose, opened, _ = COMMENT.sub("", CODE_SPAN.sub("", line)).partition("<!--")
            comment = bool(opened)
            yield index, prose
