"""Knows how the group is, so that a probe is answered at once whatever its processes are busy with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from gristmill.domain.front.health import HealthReport, Phase, ServiceHealth
from gristmill.ports.clock import Clock

__all__ = ["HealthBoard", "Told"]

LOOK_MS = 250
"""How late the death of a process is told at most."""

OnReport = Callable[[HealthReport], Awaitable[None]]


class Told(Protocol):
    """A service that is told of beside those of the group."""

    @property
    def health(self) -> ServiceHealth: ...


class HealthBoard:
    """Asks the group again and again and keeps its last answer.

    Args:
        ask: returns the health of each service, the whole group first.
        is_stopping: whether the group was asked to stop.
    """

    def __init__(
        self, ask: Callable[[], Awaitable[list[ServiceHealth]]], clock: Clock, *, is_stopping: Callable[[], bool]
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._is_stopping = is_stopping
        self._services: tuple[ServiceHealth, ...] = ()
        self._asked_at_us = clock.monotonic_us()
        self._has_started = False
        self.background: list[Told] = []
        """Told of beside the services of the group."""
        self.listeners: list[OnReport] = []
        """Told after every look."""

    def report(self) -> HealthReport:
        """Return what is known."""
        age_ms = (self._clock.monotonic_us() - self._asked_at_us) // 1_000
        return HealthReport(self._phase(), self._services, age_ms)

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await self._clock.sleep_ms(LOOK_MS)

    async def look(self) -> None:
        """Ask once."""
        self._services = (*await self._ask(), *(service.health for service in self.background))
        self._asked_at_us = self._clock.monotonic_us()
        self._has_started = self._has_started or any(one.is_serving for one in self._services if not one.name)
        await asyncio.gather(*(listen(self.report()) for listen in self.listeners))

    def _phase(self) -> Phase:
        if self._is_stopping():
            return "stopping"
        return "serving" if self._has_started else "starting"
