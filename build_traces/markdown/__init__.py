"""The Markdown extension that renders a recording into pages, for any builder that runs Python-Markdown.

    markdown_extensions:
      - build_traces.markdown:
          recording: nvidia-h200_torch-2.11.0

To add a block, write its file and name it in BLOCKS.
"""

import os
from pathlib import Path

from markdown import Markdown
from pymdownx.blocks import BlocksExtension, BlocksProcessor

from build_traces.markdown.block import TraceBlock
from build_traces.markdown.claim import ClaimFigure
from build_traces.markdown.claims import Audit
from build_traces.markdown.compare import Compare
from build_traces.markdown.conversion import Conversion, Options
from build_traces.markdown.distribution import Distribution
from build_traces.markdown.exercise_book import ExerciseBook, HoldExercises
from build_traces.markdown.facts import FactTables
from build_traces.markdown.finish import Finish
from build_traces.markdown.generated import Generated
from build_traces.markdown.inline import FactPattern
from build_traces.markdown.judging import ClaimBook, HoldClaims
from build_traces.markdown.kernel_names import KernelNames
from build_traces.markdown.kernels import Kernels
from build_traces.markdown.lab import LabFigure
from build_traces.markdown.ladder import LadderTable
from build_traces.markdown.leave_out import LeaveOut
from build_traces.markdown.lessons import Lessons
from build_traces.markdown.measures import Measures
from build_traces.markdown.ops import Ops
from build_traces.markdown.predict import Predict
from build_traces.markdown.predictions import Predictions
from build_traces.markdown.preflight import Preflight
from build_traces.markdown.profile import Profile
from build_traces.markdown.reproduce import Reproduce
from build_traces.markdown.roofline import Roofline
from build_traces.markdown.stagefacts import StageFacts
from build_traces.markdown.sweep import Sweep
from build_traces.markdown.timeline import Timeline

RECORDING_VARIABLE = "RECORDING"
"""The environment variable that chooses a recording over the extension's option."""

BLOCKS: dict[str, type[TraceBlock]] = {
    "claim": ClaimFigure,
    "claims": Audit,
    "compare": Compare,
    "distribution": Distribution,
    "facts": FactTables,
    "generated": Generated,
    "kernel-names": KernelNames,
    "kernels": Kernels,
    "lab": LabFigure,
    "ladder": LadderTable,
    "lessons": Lessons,
    "measures": Measures,
    "ops": Ops,
    "predict": Predict,
    "predictions": Predictions,
    "profile": Profile,
    "reproduce": Reproduce,
    "roofline": Roofline,
    "stagefacts": StageFacts,
    "sweep": Sweep,
    "timeline": Timeline,
}

BEFORE_SNIPPETS = 35
"""Above normalize_whitespace (30), pymdownx.snippets (32) and superfences (25): the source as it was written."""
AFTER_BACKTICK_AND_ESCAPE = 175
BEFORE_FINISH = 16
AFTER_INLINE = 15
AFTER_FINISH = 14


class TracesExtension(BlocksExtension):
    """Registers the facts, the blocks, the preflight, the claims, the exercises and the stamp."""

    def __init__(self, **kwargs: object) -> None:
        self.config = {
            "recording": ["", "Folder under recordings that is shown; the environment variable RECORDING wins."],
            "recordings": ["docs/recordings", "Where the recordings are."],
            "snippets": ["snippets", "Where ladder.toml and the snippets are."],
            "docs": ["docs", "Where the pages are."],
            "claims": ["docs/claims", "Where the claims are."],
            "exercises": ["docs/exercises", "Where the exercises are."],
            "version": ["", "The version that is published, named at the foot of each page."],
            "left_out": [[], "Pages under docs that the version is published without; no link leads to them."],
        }
        super().__init__(**kwargs)

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: BlocksProcessor) -> None:
        """State lives in a Conversion made here: one extension object may serve several Markdown instances."""
        md.registerExtension(self)
        options = self._options()
        conversion = Conversion(md, options)
        book = ClaimBook(options, Path(self.getConfig("claims")), options.first)
        exercises = ExerciseBook(options, Path(self.getConfig("exercises")), options.first)
        known = {"conversion": conversion, "book": book, "exercises": exercises, "blocks": BLOCKS}
        for name, block in BLOCKS.items():
            assert name == block.NAME
            block_mgr.register(block, known)
        md.preprocessors.register(Preflight(md, conversion, BLOCKS), "build_traces_preflight", BEFORE_SNIPPETS)
        md.inlinePatterns.register(FactPattern(md, conversion), "build_traces_fact", AFTER_BACKTICK_AND_ESCAPE)
        md.treeprocessors.register(HoldClaims(md, conversion, book), "build_traces_claims", BEFORE_FINISH)
        md.treeprocessors.register(HoldExercises(md, conversion, exercises), "build_traces_exercises", BEFORE_FINISH)
        md.treeprocessors.register(Finish(md, conversion), "build_traces_finish", AFTER_INLINE)
        md.treeprocessors.register(LeaveOut(md, conversion), "build_traces_leave_out", AFTER_FINISH)

    def reset(self) -> None:
        """Nothing is kept on the extension; the preflight begins each conversion anew."""

    def _options(self) -> Options:
        recording = os.environ.get(RECORDING_VARIABLE) or self.getConfig("recording")
        return Options(
            recording=str(recording),
            first=str(self.getConfig("recording") or recording),
            recordings=Path(self.getConfig("recordings")),
            snippets=Path(self.getConfig("snippets")),
            docs=Path(self.getConfig("docs")),
            version=str(self.getConfig("version")),
            left_out=frozenset(self.getConfig("left_out")),
        )


def makeExtension(**kwargs: object) -> TracesExtension:
    """What Python-Markdown calls."""
    return TracesExtension(**kwargs)
