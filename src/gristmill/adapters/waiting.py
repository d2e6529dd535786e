"""In-process waiting for records of a topic, without polling and without missing a ring.

A ring between a claim and the wait that follows must not be lost, though `wait` names only topics. So rings are
counted per topic, and every task context remembers the count it saw when it last claimed from or waited on the topic.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from gristmill.ports.clock import Clock

__all__ = ["POLL_MS_MAX", "TopicBells"]

POLL_MS_MAX = 1_000
"""Longest wait without looking again: records that come due ring no bell, and a ring can be lost between processes."""


class TopicBells:
    """One bell per topic. All methods run on the event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rings: Counter[str] = Counter()
        self._waiting: dict[asyncio.Future[None], Sequence[str]] = {}
        self._seen: ContextVar[dict[str, int] | None] = ContextVar("rings_seen", default=None)

    def ring(self, topics: Iterable[str]) -> None:
        """Wake everyone who waits on one of the topics."""
        rung = set(topics)
        self._rings.update(rung)
        for future, names in self._waiting.items():
            if not future.done() and not rung.isdisjoint(names):
                future.set_result(None)

    def ring_all(self) -> None:
        """Wake everyone, for a ring whose topics are not known."""
        self.ring({name for names in self._waiting.values() for name in names} | set(self._rings))

    def look(self, topic: str) -> None:
        """Note that the caller is about to look at the topic; only rings after this end its next wait at once."""
        self._seen_here()[topic] = self._rings[topic]

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return at the next ring of a topic, at once for a ring since the last look, or after `timeout_ms`."""
        seen = self._seen_here()
        if any(self._rings[topic] > seen.setdefault(topic, self._rings[topic]) for topic in topics):
            seen.update((topic, self._rings[topic]) for topic in topics)
            return
        rung = asyncio.get_running_loop().create_future()
        self._waiting[rung] = tuple(topics)
        sleeper = asyncio.ensure_future(self._clock.sleep_ms(timeout_ms))
        try:
            await asyncio.wait({rung, sleeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._waiting[rung]
            sleeper.cancel()
        seen.update((topic, self._rings[topic]) for topic in topics)

    def _seen_here(self) -> dict[str, int]:
        seen = self._seen.get()
        if seen is None:
            seen = {}
            self._seen.set(seen)
        return seen
