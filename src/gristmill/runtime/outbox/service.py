"""The pump and the reconciler of a group, over a store of their own: there is one of each for a state folder."""

from __future__ import annotations

import asyncio

from gristmill.adapters.local_host import new_owner
from gristmill.domain.front.health import ServiceHealth
from gristmill.intake.outbox import OutboxMetrics, OutboxPump, Reconciler
from gristmill.ports.clock import Clock
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.runtime.background.metrics import last_success_gauge
from gristmill.runtime.composition.stores import open_apart
from gristmill.runtime.spec import GroupSpec

__all__ = ["OutboxFace"]

NAME = "outbox"
RECONCILER = "reconciler"
RECONCILE_MS = 10_000
"""How often publications are looked for that are due to be looked at; each of them is once a minute, or less often."""


class OutboxFace:
    """A background service; `start` and `stop` are safe to call twice. It never decides whether the group serves."""

    def __init__(self, spec: GroupSpec, clock: Clock) -> None:
        self._store = open_apart(spec, clock, new_owner())
        metrics = OutboxMetrics()
        outbox, outlet = self._store.outbox, self._store.outlet
        self._pump = OutboxPump(outbox, outlet, clock, metrics)
        reconciler = Reconciler(outbox, outlet, self._store.log, metrics)
        gauge = last_success_gauge()

        async def reconcile() -> None:
            await reconciler.run_once()

        self.reconciling = BackgroundService(
            RECONCILER,
            reconcile,
            rhythm=Rhythm(interval_ms=RECONCILE_MS, retry_interval_ms=RECONCILE_MS),
            clock=clock,
            on_success=lambda at_ms: gauge.labels(RECONCILER).set(at_ms / 1000),
        )
        self._main: asyncio.Task[None] | None = None

    @property
    def health(self) -> ServiceHealth:
        """Tells when rows wait for too long."""
        return ServiceHealth(f"background.{NAME}", (self._pump.alarm,) if self._pump.alarm else ())

    async def count_unsent(self) -> int:
        """Return how many rows are not in the log yet."""
        return (await self._store.outbox.standing()).pending

    async def start(self) -> None:
        """Begin to send."""
        if self._main is None:
            self._main = asyncio.create_task(self._pump.run(), name=NAME)
            await self.reconciling.start()

    async def join(self) -> None:
        """Return when it was stopped."""
        if self._main is not None:
            await asyncio.wait([self._main])

    async def stop(self) -> None:
        """Stop; what is under way is sent again one day, and known to the log by then."""
        main, self._main = self._main, None
        if main is not None:
            main.cancel()
            await asyncio.wait([main])
        await self.reconciling.stop()
        await self._store.close()
