"""Facts: named values of a recording, addressed by a path.

A path is `<stage>.<fact>`, `<stage>.step<n>.<fact>` for one profiled step (from 1), `<sweep>.<fact>` and
`recording.<fact>` for the machine. A fact measured over processes is their median; `.low` and
`.high` behind it are the extremes. Some facts take a key: `mlp_eager.op_count.aten::t`.
"""

import re
from dataclasses import dataclass

from build_traces.errors import FactError, unknown_name
from build_traces.kernel_fields import KERNEL_FIELDS
from build_traces.ladder import Ladder
from build_traces.query import Query, Raw, Scalar
from build_traces.recording import Recording, Spread
from build_traces.stage_view import StageView
from build_traces.sweep_view import SweepView
from build_traces.sweep_vocabulary import CALL_FIELDS, SWEEP_FACTS, unit_of
from build_traces.vocabulary import RECORDING_FACTS, STAGE_FACTS

__all__ = ["CALL_FIELDS", "KERNEL_FIELDS", "RECORDING_FACTS", "STAGE_FACTS", "SWEEP_FACTS", "Fact", "Facts"]

SPREAD_PARTS = ("low", "high")
STEP = re.compile(r"step(\d+)")


@dataclass(frozen=True)
class Fact:
    """A derived value, with where it came from."""

    path: str
    value: Scalar
    unit: str
    spread: Spread | None
    stamp: str


class Facts:
    """All facts of one recording, by path; a stage or sweep is read from disk once."""

    def __init__(self, recording: Recording, ladder: Ladder) -> None:
        self.recording = recording
        self.ladder = ladder
        self._views: dict[str, StageView] = {}
        self._sweeps: dict[str, SweepView] = {}

    def view(self, stage: str) -> StageView:
        """Raises FactError, which names the nearest stages."""
        if stage in self.ladder.sweep_names:
            raise FactError(f"{stage} is a sweep and no stage", hint=f"write /// sweep | {stage}, or ask for its facts")
        if stage not in self.ladder.names:
            unknown_name("stage", stage, [*self.ladder.names, *self.ladder.sweep_names, "recording"])
        if stage not in self._views:
            self._views[stage] = StageView(self.recording, self.ladder.stage(stage), self.ladder)
        return self._views[stage]

    def sweep(self, name: str) -> SweepView:
        """Raises FactError, which names the nearest sweeps."""
        if name not in self.ladder.sweep_names:
            unknown_name("sweep", name, list(self.ladder.sweep_names) or ["none"])
        if name not in self._sweeps:
            self._sweeps[name] = SweepView(self.recording, self.ladder.sweep(name))
        return self._sweeps[name]

    def processes(self, name: str) -> int:
        """How many fresh processes ran a stage or sweep."""
        view = self.sweep(name) if name in self.ladder.sweep_names else self.view(name)
        return len(view.record.processes)

    def get(self, path: str) -> Fact:
        """The fact at this path. Raises FactError, which names the nearest paths there are."""
        first, _, rest = path.partition(".")
        if not rest:
            raise FactError(
                f"{path!r} is no path of a fact", hint="write <stage>.<fact>, such as mlp_eager.kernel_count"
            )
        if first == "recording":
            return self._recording_fact(path, rest)
        if first in self.ladder.sweep_names:
            return self._sweep_fact(path, first, rest)
        view = self.view(first)
        step = None
        if match := STEP.fullmatch(rest.partition(".")[0]):
            step, rest = int(match[1]), rest.partition(".")[2]
        name, _, key = rest.partition(".")
        if name not in STAGE_FACTS:
            unknown_name("fact", name, list(STAGE_FACTS), prefix=f"{first}.")
        definition = STAGE_FACTS[name]
        if step is not None and not definition.by_step:
            raise FactError(f"fact {name!r} is of the whole stage, not of a step", hint=f"write {first}.{name}")
        if rest.endswith("."):
            raise FactError(f"{path!r} ends in a dot", hint=f"write {path.rstrip('.')}")
        key, part = _split_part(key)
        if key and not definition.key:
            raise FactError(f"fact {name!r} takes no key, {key!r} was given", hint=f"write {first}.{name}")
        if definition.key and not definition.key.startswith("[") and not key:
            raise FactError(f"fact {name!r} needs a key", hint=f"write {first}.{name}.<{definition.key}>")
        raw = definition.derive(Query(view, step, key))
        unit = definition.unit
        if name == "kernel":
            unit = KERNEL_FIELDS[key.partition(".")[2]].unit
        return self._fact(path, raw, unit, part, view.stamp)

    def _sweep_fact(self, path: str, sweep: str, rest: str) -> Fact:
        view = self.sweep(sweep)
        name, _, key = rest.partition(".")
        if name not in SWEEP_FACTS:
            unknown_name("fact", name, list(SWEEP_FACTS), prefix=f"{sweep}.")
        definition = SWEEP_FACTS[name]
        key, part = _split_part(key)
        if bool(key) != bool(definition.key):
            form = f"{sweep}.{name}" + (".<call>.<field>" if definition.key else "")
            given = f"takes no key, {key!r} was given" if key else "needs a call and a field"
            raise FactError(f"fact {name!r} {given}", hint=f"write {form}")
        raw = definition.derive(view, key)
        return self._fact(path, raw, unit_of(name, key), part, view.stamp)

    def _recording_fact(self, path: str, rest: str) -> Fact:
        name, part = _split_part(rest)
        if name not in RECORDING_FACTS:
            unknown_name("fact", name, list(RECORDING_FACTS), prefix="recording.")
        definition = RECORDING_FACTS[name]
        return self._fact(
            path, definition.derive(self.recording), definition.unit, part, self.recording.environment.stamp
        )

    def _fact(self, path: str, raw: Raw, unit: str, part: str, stamp: str) -> Fact:
        if isinstance(raw, Spread):
            return Fact(path, getattr(raw, part or "median"), unit, raw, stamp)
        if part:
            raise FactError(f"{path.rpartition('.')[0]} has no spread: it is one value", hint="leave out ." + part)
        return Fact(path, raw, unit, None, stamp)


def _split_part(rest: str) -> tuple[str, str]:
    """`kernel.1.us.low` → (`kernel.1.us`, `low`)."""
    if rest in SPREAD_PARTS:
        return "", rest
    head, _, last = rest.rpartition(".")
    return (head, last) if last in SPREAD_PARTS else (rest, "")
