"""`/// profile | stage`: the profiler's own table, verbatim."""

from xml.etree.ElementTree import Element

from build_traces.errors import RecordingError
from build_traces.markdown.block import TraceBlock, figure_of
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import element, scrolling
from build_traces.recording import record_command
from build_traces.stage_view import StageView


class Profile(TraceBlock):
    """profile.txt of one stage."""

    NAME = "profile"
    SEARCHED = False

    def render(self, conversion: Conversion, stages: tuple[StageView, ...]) -> Element:
        """The file in a `<pre>`."""
        (view,) = stages
        name = view.stage.name
        try:
            text = view.recording.profile(name)
        except (OSError, UnicodeDecodeError) as error:
            hint = f"restore it with git checkout, or on a GPU machine: {record_command(name)}"
            raise RecordingError(name, f"its profile cannot be read: {error}", hint=hint) from error
        content = scrolling(f"Profiler table of {name}", element("pre", text, class_="profile"))
        return figure_of(self.NAME, view, content)
