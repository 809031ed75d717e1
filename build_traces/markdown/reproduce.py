"""`/// reproduce | stage`: how a stage was recorded, and the files to look at."""

from xml.etree.ElementTree import Element

from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, definitions, element
from build_traces.recording import PROFILE_FILE, STAGE_FILE, TRACE_FILE
from build_traces.stage_view import StageView

FILES = (TRACE_FILE, STAGE_FILE, PROFILE_FILE)
DIGEST_DIGITS = 12


class Reproduce(TraceBlock):
    """Command, machine, date, commit, hash and downloads of one stage."""

    NAME = "reproduce"

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """A `<dl>`."""
        (view,) = stages
        record = view.record
        entries: list[tuple[str, Element | str]] = [
            ("Run it", element("code", f"python {view.stage.snippet.as_posix()}")),
            ("Record it", element("code", record.command)),
            ("Machine", record.machine),
            ("Recorded", record.recorded),
            ("Commit", element("code", record.commit[:10])),
            ("Fresh processes", conversion.fact(f"{view.stage.name}.processes")),
            ("sha256 of the snippets", element("code", record.sha256[:DIGEST_DIGITS], title=record.sha256)),
            ("Files", _files(conversion, view)),
        ]
        return figure_of(self.NAME, view, definitions(entries, class_="reproduce"))


def _files(conversion: Conversion, view: StageView) -> Element:
    said = element("span")
    for position, name in enumerate(FILES):
        if position:
            append(said, " · ")
        path = view.recording.path(view.stage.name, name)
        append(said, conversion.link(path, element("code", name), download=f"{view.stage.name}.{name}"))
    return said
