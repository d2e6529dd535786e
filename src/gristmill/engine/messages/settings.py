"""Bounds of record routing, each with its unit and its reason."""

from __future__ import annotations

import msgspec

from gristmill.engine.core.cycle import Cycle
from gristmill.engine.messages.core.envelope import Tier
from gristmill.engine.runner import RunnerSettings

__all__ = ["DAY_MS", "MessageSettings"]

DAY_MS = 24 * 3_600_000


class MessageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How routed records are worked on.

    Attributes:
        urgent_workers, normal_workers, bulk_workers: records of one topic that one process works on at once. Bulk has
            few, since all tiers of a process share its loop.
        lease_ms: of a record; renewed every third of it.
        hold_ms: after which another process takes a topic over whose process has died, on a log without partitions.
        jump_timeout_ms: after which a plan that gives no answer counts as failed.
        copies_ms: how long the id of a record is remembered, from its first try.
        cycle: waits between the tries of one record.
        drain_ms: how long running calls may end after a stop.
    """

    urgent_workers: int = 16
    normal_workers: int = 8
    bulk_workers: int = 2
    lease_ms: int = 30_000
    hold_ms: int = 10_000
    jump_timeout_ms: int = 20_000
    copies_ms: int = DAY_MS
    cycle: Cycle = Cycle()
    drain_ms: int = 25_000

    def of_tier(self, tier: Tier, *, attempts: int) -> RunnerSettings:
        """Return how the group on a topic is driven."""
        workers = {"urgent": self.urgent_workers, "normal": self.normal_workers, "bulk": self.bulk_workers}[tier]
        return RunnerSettings(
            workers=workers,
            batch=workers,
            lease_ms=self.lease_ms,
            attempts=attempts,
            ordering="key",
            drain_ms=self.drain_ms,
        )
