"""Several groups in one process: one owner, and one beat for the leases of all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from gristmill.domain.front.health import ServiceHealth
from gristmill.engine.runner.beat import Beat
from gristmill.engine.runner.metrics import RunnerMetrics, runner_metrics
from gristmill.engine.runner.runner import Runner
from gristmill.engine.runner.settings import RunnerSettings
from gristmill.ports.clock import Clock
from gristmill.ports.handling import Handler
from gristmill.ports.log import Log

__all__ = ["DrivenGroup", "RunnerService"]


class DrivenGroup(msgspec.Struct, frozen=True, eq=False):
    """A group of a topic, and what works on its records."""

    topic: str
    group: str
    handler: Handler
    settings: RunnerSettings = RunnerSettings()


class RunnerService:
    """Runners as one service of a process; `start` and `stop` are safe to call twice.

    Args:
        owner: unique for each start of a process.
        has_own_lag: look how far the groups are behind; off where the process looks anyway.

    Raises:
        ConfigError: the settings of a group cannot work.
    """

    def __init__(
        self,
        name: str,
        log: Log,
        groups: Sequence[DrivenGroup],
        *,
        clock: Clock,
        owner: str,
        metrics: RunnerMetrics | None = None,
        has_own_lag: bool = True,
    ) -> None:
        self.name = name
        metrics = runner_metrics() if metrics is None else metrics
        self._beat = Beat(log, clock, metrics)
        self._runners = [
            Runner(
                log,
                one.topic,
                one.group,
                one.handler,
                one.settings,
                clock=clock,
                owner=owner,
                metrics=metrics,
                beat=self._beat,
                has_own_lag=has_own_lag,
            )
            for one in groups
        ]
        self._stop = asyncio.Event()
        self._main: asyncio.Task[None] | None = None

    @property
    def health(self) -> ServiceHealth:
        """Which groups cannot be claimed from."""
        down = [f"group {one.group!r} of topic {one.topic!r} is down" for one in self._runners if not one.is_up]
        return ServiceHealth(self.name, tuple(down))

    async def start(self) -> None:
        """Begin to work."""
        if self._main is None:
            self._main = asyncio.create_task(self._run(), name=self.name)

    async def join(self) -> None:
        """Return when the service has stopped; raise what ended it otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            self._main.result()

    async def stop(self) -> None:
        """Let running work end within the drain of its group, and hand back what is left."""
        self._stop.set()
        if self._main is not None:
            await asyncio.wait([self._main])

    async def _run(self) -> None:
        beat = asyncio.create_task(self._beat.run(), name=f"{self.name}.beat")
        try:
            async with asyncio.TaskGroup() as group:
                for runner in self._runners:
                    group.create_task(runner.run(self._stop))
        finally:
            beat.cancel()
            await asyncio.wait([beat])
