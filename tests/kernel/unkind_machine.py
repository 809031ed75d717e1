"""A machine on which the fused kernel's own functions run without a GPU: Gluon has no interpreter.

It knows the few Gluon functions that the kernel uses, and is as unkind as the hardware may be: partitions run in
an order drawn by chance, a copy arrives any time after it was asked for and leaves NaN until then, a product reads
its operands at its start or as late as it may. What the hardware would not forgive is a FaultError. What it does not
know: layouts, registers, banks and time. It has one program at a time.
"""

import random
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[2] / "kernel/geglu-gemm/build/torch-universal/geglu_gemm.py"


class FaultError(Exception):
    """What would hang or be undefined on a GPU."""


class Constant(int):
    """A gl.constexpr of the module."""

    value = property(int)


class Value(np.ndarray):
    """A tensor in registers."""

    def permute(self, order: list[int]) -> "Value":
        return self.transpose(order)

    def split(self) -> tuple["Value", "Value"]:
        return self[..., 0], self[..., 1]

    def to(self, _: Any) -> "Value":
        return self


@dataclass
class Shared:
    """A view of shared memory. `unfenced` holds the partitions whose writes the copy engine may not see."""

    machine: "Machine"
    data: np.ndarray
    unfenced: set[int] = field(default_factory=set)
    parts: dict[int, set[int]] = field(default_factory=dict)

    def index(self, at: int) -> "Shared":
        return Shared(self.machine, self.data[at], self.parts.setdefault(at, set()))

    def slice(self, start: int, length: int) -> "Shared":
        return Shared(self.machine, self.data[start : start + length], self.unfenced)

    def permute(self, order: list[int]) -> "Shared":
        return Shared(self.machine, self.data.transpose(order), self.unfenced)

    def store(self, value: "Value") -> None:
        self.machine.write(self, value)


@dataclass
class Barrier:
    """An mbarrier: its phase is over when all have arrived and all bytes are there."""

    count: int = 0
    missing: int = 0
    bytes: int = 0
    phase: int = 0

    def change(self, arrivals: int, bytes_: int) -> None:
        self.missing -= arrivals
        self.bytes += bytes_
        if self.missing < 0:
            raise FaultError("more arrivals than a phase has")
        if not self.missing and not self.bytes:
            self.phase, self.missing = self.phase + 1, self.count

    def over(self, parity: int) -> bool:
        return self.phase % 2 != parity


@dataclass
class Descriptor:
    """A matrix in memory and the block that one copy moves."""

    data: np.ndarray
    block: tuple[int, int]
    dtype: str = "float32"
    layout: None = None

    @property
    def block_type(self) -> SimpleNamespace:
        return SimpleNamespace(nbytes=4 * self.block[0] * self.block[1])

    def inside(self, at: list[int]) -> tuple[slice, slice]:
        return tuple(slice(a, max(a, min(a + b, n))) for a, b, n in zip(at, self.block, self.data.shape, strict=True))


@dataclass
class Sums:
    """An accumulator with products that still run."""

    value: np.ndarray
    running: list[tuple[np.ndarray, np.ndarray, bool]]


class Machine:
    """Runs the partitions of one program, one at a time, and lets the copies arrive."""

    def __init__(self, seed: int, programs: int) -> None:
        self.chance = random.Random(seed)
        self.haste = self.chance.choice((0.5, 0.02))
        """How likely a copy arrives when something else could happen."""
        self.program, self.programs = 0, programs
        self.copies: list[Callable[[], None]] = []
        self.stores: dict[int, int] = {}
        self.written: list[Shared] = []

    # What runs when

    def warp_specialize(self, partitions: list, warps: list[int], registers: list[int]) -> None:
        assert len(warps) == len(registers) == len(partitions) - 1
        self.turn, self.done, self.failed = threading.Condition(), set(), []
        self.current, self.needs = -1, {n: (lambda: True) for n in range(len(partitions))}
        threads = [
            threading.Thread(target=self._partition, args=(n, *partition), daemon=True)
            for n, partition in enumerate(partitions)
        ]
        for thread in threads:
            thread.start()
        with self.turn:
            while len(self.done) < len(partitions) and not self.failed:
                self._choose()
                self.turn.notify_all()
                self.turn.wait_for(lambda: self.current == -1)
        if self.failed:
            raise self.failed[0]
        while self.copies:
            self.copies.pop()()

    def _choose(self) -> None:
        """Let a copy arrive, or give the turn to a partition that can use it."""
        while True:
            ready = [n for n, need in self.needs.items() if n not in self.done and need()]
            if not ready and not self.copies:
                self.failed.append(FaultError("all wait for each other"))
                return
            if self.copies and (not ready or self.chance.random() < self.haste):
                self.copies.pop(self.chance.randrange(len(self.copies)))()
                continue
            self.current = self.chance.choice(ready)
            return

    def _partition(self, number: int, function: Callable, arguments: tuple) -> None:
        with self.turn:
            self.turn.wait_for(lambda: self.current == number or self.failed)
            try:
                if not self.failed:
                    function(*arguments)
                    if self.stores.get(number):
                        raise FaultError("it ended with results that are not sent")
            except Exception as error:
                self.failed.append(error)
            self.done.add(number)
            self.current = -1
            self.turn.notify_all()

    def pause(self, until: Callable[[], bool] = lambda: True) -> int:
        """Give the turn away until it comes back, and say who is running."""
        number = self.current
        self.needs[number] = until
        self.current = -1
        self.turn.notify_all()
        self.turn.wait_for(lambda: self.current == number or self.failed)
        if self.failed:
            raise FaultError("another partition failed")
        return number

    # What the kernel calls

    def allocate(self, dtype: str, shape: list[int], _: Any) -> Any:
        if dtype == "barrier":
            barriers = [Barrier() for _ in range(shape[0])]
            return SimpleNamespace(index=lambda at: barriers[at], shape=shape)
        return Shared(self, np.full(shape, np.nan))

    def init(self, barrier: Barrier, count: int) -> None:
        barrier.count = barrier.missing = count

    def wait(self, barrier: Barrier, parity: int, pred: bool = True) -> None:
        self.pause(lambda: not pred or barrier.over(parity))

    def arrive(self, barrier: Barrier, pred: bool = True) -> None:
        self.pause()
        if pred:
            barrier.change(1, 0)

    def expect(self, barrier: Barrier, bytes_: int) -> None:
        self.pause()
        barrier.change(0, bytes_)
        barrier.change(1, 0)

    def load(self, source: Descriptor, at: list[int], barrier: Barrier, to: Shared) -> None:
        self.pause()
        to.data[...] = np.nan  # from now on anything may be in there

        def arrive() -> None:
            to.data[...] = 0
            part = source.data[source.inside(at)]
            to.data[: part.shape[0], : part.shape[1]] = part
            barrier.change(0, -source.block_type.nbytes)

        self.copies.append(arrive)

    def store(self, target: Descriptor, at: list[int], source: Shared) -> None:
        number = self.pause()
        if source.unfenced:
            raise FaultError("the copy engine may not see what was written: no fence")
        self.stores[number] = self.stores.get(number, 0) + 1

        def leave() -> None:
            rows, columns = target.inside(at)
            target.data[rows, columns] = source.data[: rows.stop - rows.start, : columns.stop - columns.start]
            self.stores[number] -= 1

        self.copies.append(leave)

    def store_wait(self, pending: int) -> None:
        number = self.current
        self.pause(lambda: self.stores.get(number, 0) <= pending)

    def write(self, shared: Shared, value: Value) -> None:
        shared.unfenced.add(self.pause())
        self.written.append(shared)
        shared.data[...] = value

    def fence(self) -> None:
        number = self.pause()
        for shared in self.written:
            shared.unfenced.discard(number)

    def multiply(self, x: Shared, w: Shared, sums: Any, use_acc: bool, is_async: bool) -> Sums:
        assert is_async
        self.pause()
        if not isinstance(sums, Sums):
            sums = Sums(np.asarray(sums).copy(), [])
        early = self.chance.random() < 0.5
        operands = (x.data.copy(), w.data.copy()) if early else (x.data, w.data)
        return Sums(sums.value, [*sums.running, (*operands, bool(use_acc))])

    def multiply_wait(self, running: int, deps: list[Any]) -> Any:
        self.pause()
        (sums,) = deps
        value, left = sums.value, list(sums.running)
        while len(left) > running:
            x, w, add = left.pop(0)
            value = x @ w + (value if add else 0)
        return Sums(value, left) if running else value.view(Value)


def load(machine: Machine, change: Callable[[str], str] = str, **constants: int) -> ModuleType:
    """The kernel's module on this machine, its source changed first and its sizes made small."""

    def jit(function: Callable | None = None, **_: Any) -> Callable:
        return function if function is not None else jit

    language = SimpleNamespace(
        constexpr=Constant,
        NVMMASharedLayout=lambda **_: None,
        NVMMADistributedLayout=lambda *_, **__: None,
        inline_asm_elementwise=lambda asm, _, arguments, **__: {"tanh": np.tanh}[asm[:4]](arguments[0]),
        program_id=lambda _: machine.program,
        num_programs=lambda _: machine.programs,
        static_range=range,
        allocate_shared_memory=machine.allocate,
        int64="barrier",
        float32="float32",
        zeros=lambda shape, *_: np.zeros(shape).view(Value),
        warp_specialize=machine.warp_specialize,
    )
    hopper = SimpleNamespace(
        mbarrier=SimpleNamespace(
            init=machine.init,
            wait=machine.wait,
            arrive=machine.arrive,
            expect=machine.expect,
            MBarrierLayout=lambda: None,
        ),
        tma=SimpleNamespace(
            async_copy_global_to_shared=machine.load,
            async_copy_shared_to_global=machine.store,
            store_wait=machine.store_wait,
        ),
        fence_async_shared=machine.fence,
        warpgroup_mma=machine.multiply,
        warpgroup_mma_wait=machine.multiply_wait,
    )
    stand_ins = {
        "triton.experimental": SimpleNamespace(gluon=SimpleNamespace(jit=jit, language=language)),
        "triton.experimental.gluon": SimpleNamespace(jit=jit, language=language),
        "triton.experimental.gluon.language.nvidia.hopper": hopper,
        "triton.experimental.gluon.nvidia.hopper": SimpleNamespace(TensorDescriptor=None),
    }
    before = {name: sys.modules.get(name) for name in stand_ins}
    module = ModuleType("geglu_gemm_on_a_machine")
    try:
        sys.modules.update(stand_ins)
        exec(compile(change(SOURCE.read_text(encoding="utf-8")), str(SOURCE), "exec"), module.__dict__)
    finally:
        for name, found in before.items():
            sys.modules.pop(name) if found is None else sys.modules.update({name: found})
    vars(module).update({name: Constant(size) for name, size in constants.items()})
    return module
