"""Time and chance, passed in so that a test can own them."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Clock", "Random"]


class Clock(Protocol):
    """Wall time for what people see, monotonic time for durations, and the only way to wait."""

    def now_ms(self) -> int:
        """Return UTC epoch milliseconds; never less than an earlier answer of this clock."""
        ...

    def monotonic_us(self) -> int:
        """Return microseconds of a clock that only goes forward; the origin is arbitrary."""
        ...

    def monotonic_ns(self) -> int:
        """Return the same in nanoseconds, at the least cost: it is asked around every inline task."""
        ...

    def thread_us(self) -> int:
        """Return microseconds of CPU time of the calling thread; the origin is arbitrary."""
        ...

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait; a fake clock jumps instead when every task waits."""
        ...


class Random(Protocol):
    """A source of draws; seeded in tests."""

    def uniform(self) -> float:
        """Return a float in [0, 1)."""
        ...
