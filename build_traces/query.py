"""What is asked of a recorded stage, and what is answered."""

from dataclasses import dataclass

from build_traces.recording import Spread
from build_traces.stage_view import StageView

Scalar = int | float | str
Raw = Scalar | Spread

MB = 1e6
"""Megabytes are decimal, as HBM bandwidth is."""


@dataclass(frozen=True)
class Query:
    """What is asked of one stage: all steps or one, and the key behind the fact's name."""

    view: StageView
    step: int | None
    key: str
