"""Runs a plan over one item at once, for somebody who waits for the answer. Nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.intake import MappedRecord
from gristmill.engine.driver import Driver
from gristmill.engine.run.scope import Ended, Scope
from gristmill.plans.names import advise_known
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import Need
from gristmill.ports.clock import Clock

__all__ = ["Scorer"]

NOT_STORED = ItemId(0)
"""Item id of what is only scored."""


class Scorer:
    """Drives runs outside any engine. What items share (duplicates, counters) is not looked at: that needs a commit.

    Args:
        plans: by plan key; made ready at once, so that the first caller waits no longer than others.
        resources: what fills each `Need` of those plans.

    Raises:
        ConfigError: a resource of a plan is missing.
    """

    def __init__(
        self,
        plans: Mapping[str, RegisteredPlan],
        *,
        resources: Mapping[Need, object],
        clock: Clock,
        environment: str = "dev",
    ) -> None:
        self._clock = clock
        self._drivers = {
            key: Driver(plan, resources=resources, clock=clock, environment=environment) for key, plan in plans.items()
        }

    async def score(self, plan: str, record: MappedRecord, *, timeout_ms: int) -> Ended:
        """Return how a run over this record ends.

        Raises:
            UsageError: the plan is not known here.
            TimeoutError: it did not end in time; what was under way is cancelled.
        """
        driver = self._drivers.get(plan)
        if driver is None:
            raise UsageError("plan key", value=plan, advice=advise_known(plan, self._drivers))
        item = record.make_item(NOT_STORED)
        scope = Scope(RunId(""), plan, arrived_at_ms=self._clock.now_ms())
        ended = driver.try_drive_nowait(item, scope)
        if ended is None:
            async with asyncio.timeout(timeout_ms / 1000):
                ended = await driver.drive(item, scope)
        for callback in ended.on_end:
            await callback(False)
        return ended

    def close(self) -> None:
        """Let go of threads and processes. Safe to call twice."""
        for driver in self._drivers.values():
            driver.close()
