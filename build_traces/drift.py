"""A way in which something no longer does what was recorded, and how far a time may be off before it is one."""

import difflib
from dataclasses import dataclass

from build_traces.recording import Spread

BAND = 0.15
"""Two H200s, or one on a warmer day, differ by a few percent; a lost fusion or another kernel by more."""
BAND_US = 3.0
"""Below this, the resolution of CUDA events and launch jitter decide."""


@dataclass(frozen=True)
class Drift:
    """One way in which a stage no longer does what was recorded."""

    what: str
    recorded: str
    now: str

    def __str__(self) -> str:
        old, new = self.recorded.splitlines(), self.now.splitlines()
        if len(old) <= 1 and len(new) <= 1:
            return f"{self.what}: recorded {self.recorded or 'none'}, now {self.now or 'none'}"
        lines = difflib.unified_diff(old, new, "recorded", "now", lineterm="", n=1)
        return f"{self.what}:\n    " + "\n    ".join(lines)


def band(what: str, recorded: Spread, now: Spread) -> list[Drift]:
    """A drift if the times now lie outside a band around the recorded ones."""
    slack = max(BAND * recorded.median, BAND_US)
    if now.high >= recorded.low - slack and now.low <= recorded.high + slack:
        return []
    return [Drift(what, f"{recorded.low:.1f}–{recorded.high:.1f} µs", f"{now.low:.1f}–{now.high:.1f} µs")]
