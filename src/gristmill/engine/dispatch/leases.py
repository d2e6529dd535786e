"""Keeps the leases of everything under way alive, and notices what will never come back."""

from __future__ import annotations

import structlog

from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Diagnosis, Lease
from gristmill.engine.dispatch.desk import Desk
from gristmill.engine.dispatch.settle import Settlement

__all__ = ["LeaseKeeper", "Monitor"]

BEATS_PER_LEASE = 3
RETRY_MS = 1_000
"""Pause after a beat that could not reach the log."""

_log = structlog.get_logger()


class LeaseKeeper:
    """Renews all leases in one call every third of their length."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._suspects: frozenset[Lease] = frozenset()

    async def run(self) -> None:
        """Renew for ever."""
        beat_ms = max(1, self._desk.settings.lease_ms // BEATS_PER_LEASE)
        pause_ms = beat_ms
        while True:
            await self._desk.clock.sleep_ms(pause_ms)
            try:
                await self.run_once()
                pause_ms = beat_ms
            except Unavailable as error:
                pause_ms = min(beat_ms, RETRY_MS)
                _log.warning("leases cannot be renewed", error=str(error), retry_in_ms=pause_ms)

    async def run_once(self) -> None:
        """Renew every lease; forget those that were not ours at two beats in a row.

        Once is no proof: an engine accepts inside its own commit, and its report may still be on the way.
        """
        desk = self._desk
        leases = desk.in_flight.leases()
        if not leases:
            return
        renewed = await desk.log.renew(leases, lease_ms=desk.settings.lease_ms)
        refused = frozenset(lease for lease, is_ours in zip(leases, renewed, strict=True) if not is_ours)
        for lease in refused & self._suspects:
            if desk.in_flight.take(lease):
                desk.metrics.lease_lost.inc()
                desk.note_change()
                _log.warning("lease lost", topic=lease.topic, group=lease.group, offset=lease.offset)
        self._suspects = refused - self._suspects


class Monitor:
    """Looks now and then for records without a result and for dead owners, and reports how much is under way."""

    def __init__(self, desk: Desk, settlement: Settlement) -> None:
        self._desk = desk
        self._settlement = settlement

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self._desk.clock.sleep_ms(self._desk.settings.monitor_interval_ms)
            try:
                await self.run_once()
            except Unavailable as error:
                _log.warning("dead owners cannot be looked for", error=str(error))

    async def run_once(self) -> None:
        """Fail what is lost, free what dead owners hold, and set the gauge."""
        desk = self._desk
        for lease in desk.in_flight.lost_leases(now_ms=desk.now_ms()):
            if (sent := desk.in_flight.detach(lease)) is not None:
                desk.metrics.lost.inc()
                desk.metrics.failed.labels(sent.generator).inc()
                text = f"no result of engine {sent.engine} long after the time-out of a run"
                self._settlement.put_failure(sent, Diagnosis(error_class="lost", error_text=text))
        desk.metrics.in_flight.set(len(desk.in_flight))
        if await desk.log.reclaim(me=desk.owner):
            desk.room.set()
