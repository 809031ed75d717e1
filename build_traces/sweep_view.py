"""One recorded sweep seen whole: what facts and blocks ask of its processes.

Times are spreads over the processes. What was compiled and which kernels ran is the same in every process, or is
refused: one answer would be wrong for some process.
"""

import statistics
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import TypeVar

from build_traces.errors import FactError, unknown_name
from build_traces.recording import Recording, Spread, spread
from build_traces.sweep_record import CallRecord, Graph, SweepProcess, SweepRecord
from build_traces.sweeps import Sweep

T = TypeVar("T")


class SweepView:
    """Everything derived from one sweep of one recording; derived when asked."""

    def __init__(self, recording: Recording, sweep: Sweep) -> None:
        self.recording = recording
        self.sweep = sweep

    @cached_property
    def record(self) -> SweepRecord:
        return self.recording.sweep(self.sweep.name)

    @property
    def stamp(self) -> str:
        """What every number of this sweep carries."""
        return self.recording.environment.stamped(self.record.recorded, self.record.commit)

    @property
    def calls(self) -> tuple[str, ...]:
        """The names of its calls, in the order they are made."""
        return tuple(call.name for call in self.record.processes[0].calls)

    def position(self, call: str) -> int:
        """Where a call stands, from 0. Raises FactError, which names the nearest ones."""
        if call not in self.calls:
            unknown_name("call", call, list(self.calls), prefix=f"{self.sweep.name}.call.")
        return self.calls.index(call)

    def over_processes(self, call: str, value: Callable[[CallRecord], float]) -> Spread:
        """A time of one call."""
        at = self.position(call)
        return spread([value(process.calls[at]) for process in self.record.processes])

    def gpu_us(self, call: str) -> Spread:
        """What a call takes on the GPU in steady state: the median sample of each process."""
        return self.over_processes(call, lambda c: statistics.median(c.gpu_us))

    def together(self, value: Callable[[CallRecord], float]) -> Spread:
        """A time of all calls, summed in each process."""
        return spread([sum(map(value, process.calls)) for process in self.record.processes])

    def same(self, call: str, what: str, value: Callable[[CallRecord], T]) -> T:
        """What every process saw at a call. Raises FactError where they differ."""
        at = self.position(call)
        return self._same(f"call.{call}.{what}", lambda process: value(process.calls[at]))

    def graphs_after(self, call: str) -> int:
        """Graphs compiled by this call and those before it. Raises FactError where processes differ."""
        at = self.position(call)
        return self._same(
            f"call.{call}.graphs",
            lambda process: sum(len(one.compiled) for one in islice(process.calls, at + 1)),
        )

    def graph_of(self, call: str, what: str) -> Graph:
        """The last graph that a call compiled, in the first process. Raises FactError if there is none."""
        compiled = self.record.processes[0].calls[self.position(call)].compiled
        if not compiled:
            raise FactError(f"call {call} of sweep {self.sweep.name} compiled nothing: it has no {what}")
        return compiled[-1]

    def _same(self, what: str, of_process: Callable[[SweepProcess], T]) -> T:
        seen = [of_process(process) for process in self.record.processes]
        if any(other != seen[0] for other in seen):
            values = "; ".join(dict.fromkeys(str(value)[:60] for value in seen))
            raise FactError(
                f"{what} of sweep {self.sweep.name} differs by process: {values}",
                hint=f"show it with /// sweep | {self.sweep.name}",
            )
        return seen[0]
