"""Clocks of simulated processes: one wall for all, which may be set, and what each process makes of it."""

from __future__ import annotations

from gristmill.testing.clock import START_MS
from gristmill.testing.simulate.machine.loop import PROCESS, Process, SimulationLoop

__all__ = ["CallerClock", "ProcessClock", "Wall"]


class Wall:
    """The clock on the wall of the host."""

    def __init__(self, loop: SimulationLoop) -> None:
        self._loop = loop
        self._set_ms = 0

    def now_ms(self) -> int:
        """Return what it shows, which may be less than before."""
        return START_MS + self._loop.now_us // 1_000 + self._set_ms

    def set(self, change_ms: int) -> None:
        """Put it forward or back."""
        self._set_ms += change_ms


class ProcessClock:
    """See `ports.clock.Clock`: follows the wall forward, and goes on by itself where the wall is set back."""

    def __init__(self, loop: SimulationLoop, wall: Wall) -> None:
        self._loop = loop
        self._wall = wall
        self._wall_ms = wall.now_ms()
        self._since_us = loop.now_us

    def now_ms(self) -> int:
        """Return UTC epoch milliseconds; never less than an earlier answer of this clock."""
        wall_ms = self._wall.now_ms()
        steady_ms = self._wall_ms + (self._loop.now_us - self._since_us) // 1_000
        if wall_ms <= steady_ms:
            return steady_ms
        self._wall_ms, self._since_us = wall_ms, self._loop.now_us
        return wall_ms

    def monotonic_us(self) -> int:
        """Return microseconds since the simulation began."""
        return self._loop.now_us

    def monotonic_ns(self) -> int:
        """Return the same in nanoseconds."""
        return self._loop.now_us * 1_000

    def thread_us(self) -> int:
        """Return the same: a process that runs has the processor for itself."""
        return self._loop.now_us

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait, whatever the wall does meanwhile."""
        await self._loop.pause_us(max(0, duration_ms) * 1_000)


class CallerClock(ProcessClock):
    """The clock of a store without a process of its own: each call goes by the clock of the process that makes it."""

    def __init__(self, loop: SimulationLoop, wall: Wall) -> None:
        super().__init__(loop, wall)
        self._clocks: dict[Process, ProcessClock] = {}

    def add(self, process: Process, clock: ProcessClock) -> None:
        """Have a process's calls go by its clock."""
        self._clocks[process] = clock

    def now_ms(self) -> int:
        """Return the caller's time, that of the wall for somebody outside."""
        clock = self._clocks.get(process) if (process := PROCESS.get()) is not None else None
        return super().now_ms() if clock is None else clock.now_ms()
