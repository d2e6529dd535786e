"""A log on which a record can go on as a changed one: its end and the new record are one step.

Whoever works on a record under a Runner says what follows, and returns; the end that the Runner then tells the log
takes it along. So the Runner's care for leases and for a log that cannot be reached holds for it too.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from gristmill.domain.log import Delivery, Lease, NewRecord
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["ForwardingLog"]

FOLLOWERS_MAX = 10_000
"""What follows on a record whose lease was lost is never asked for; beyond so many the oldest is forgotten."""


DUE_MAX = 1_000
"""Times at which what followed comes due that are remembered, to look just then; beyond it a look each second does."""

UNSURE_MS = 50
"""Pause before a topic is looked at again that may be somebody else's."""


class ForwardingLog:
    """The log behind, but for claiming, the end of records, and waiting; a `ports.log.Log`.

    Args:
        may_claim: whether records of a topic may be claimed just now.
    """

    def __init__(self, log: Log, clock: Clock, may_claim: Callable[[str], bool]) -> None:
        self._log = log
        self._clock = clock
        self._may_claim = may_claim
        self._followers: dict[Lease, tuple[str, NewRecord]] = {}
        self._due_at_ms: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def follow(self, lease: Lease, topic: str, record: NewRecord) -> None:
        """Have this record appended with the end of the leased one."""
        self._followers.pop(lease, None)
        self._followers[lease] = (topic, record)
        if len(self._followers) > FOLLOWERS_MAX:
            del self._followers[next(iter(self._followers))]

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease records, unless the topic may be somebody else's."""
        if not self._may_claim(topic):
            await self._clock.sleep_ms(UNSURE_MS)
            return []
        return await self._log.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        """End records for good; those that something follows on each with it."""
        if self._followers.keys().isdisjoint(leases):
            return await self._log.accept(leases, then=then)
        accepted: list[bool] = []
        for lease in leases:
            follower = self._followers.get(lease)
            accepted += await self._log.accept([lease], then=[*then, follower] if follower is not None else then)
            self._followers.pop(lease, None)
            if follower is not None and len(self._due_at_ms) < DUE_MAX:
                heapq.heappush(self._due_at_ms, follower[1].due_at_ms)
        return accepted

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return when one of the topics may have claimable records: also when something that followed comes due."""
        now_ms = self._clock.now_ms()
        while self._due_at_ms and self._due_at_ms[0] <= now_ms:
            heapq.heappop(self._due_at_ms)
        due_in_ms = self._due_at_ms[0] - now_ms if self._due_at_ms else timeout_ms
        await self._log.wait(topics, timeout_ms=min(timeout_ms, due_in_ms))
