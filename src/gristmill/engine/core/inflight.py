"""The table of records that are leased: with which engine, how many more may go out, which will never come back.

A record goes out with `add`. It leaves with `take` when it has ended, or is first taken off its engine with `detach`
and keeps its slot and its lease until somebody has settled what becomes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from gristmill.domain.log import Delivery, Lease

__all__ = ["InFlight", "Sent"]

LOST_AFTER_EXTRA_MS = 60_000
"""An engine ends every run by its time-out; a minute later no answer can be on its way any more."""

NO_ENGINE = ""

_Key = tuple[str, str, int]


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A record that went to an engine at `sent_at_ms` (monotonic)."""

    delivery: Delivery
    generator: str
    engine: str
    sent_at_ms: int


class InFlight:
    """What is with which engine.

    Args:
        limit: records under way at once, over all generators.
        task_timeout_ms: after which an engine gives up a run by itself.
    """

    def __init__(self, *, limit: int, task_timeout_ms: int) -> None:
        self._limit = limit
        self._lost_after_ms = task_timeout_ms + LOST_AFTER_EXTRA_MS
        self._sent: dict[_Key, Sent] = {}
        self._detached: dict[_Key, Sent] = {}
        self._by_engine: Counter[str] = Counter()
        self._by_generator: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._sent) + len(self._detached)

    @property
    def free(self) -> int:
        """Records that may still go out."""
        return max(0, self._limit - len(self))

    def count_of_generator(self, generator: str) -> int:
        """Return records of one generator that are under way, detached ones included."""
        return self._by_generator[generator]

    def count_of_engine(self, engine: str) -> int:
        """Return records that are with one engine."""
        return self._by_engine[engine]

    def leases(self) -> list[Lease]:
        """Return every lease, detached ones included."""
        return [sent.delivery.lease for table in (self._sent, self._detached) for sent in table.values()]

    def engine_leases(self, engine: str) -> list[Lease]:
        """Return the leases of all that an engine has, in the order in which they went out."""
        return [sent.delivery.lease for sent in self._sent.values() if sent.engine == engine]

    def lost_leases(self, *, now_ms: int) -> list[Lease]:
        """Return the leases of what has been with an engine for longer than any run may take."""
        before_ms = now_ms - self._lost_after_ms
        return [sent.delivery.lease for sent in self._sent.values() if sent.sent_at_ms < before_ms]

    def add(self, deliveries: Sequence[Delivery], *, generator: str, engine: str, now_ms: int) -> None:
        """Note that records went to an engine."""
        for delivery in deliveries:
            key = _key_of(delivery.lease)
            if key in self._sent or key in self._detached:
                # A newer lease of the same record replaces the older one: its holder is fenced.
                self._drop(key)
            self._sent[key] = Sent(delivery, generator, engine, now_ms)
        self._by_engine[engine] += len(deliveries)
        self._by_generator[generator] += len(deliveries)

    def add_detached(self, delivery: Delivery, *, generator: str, now_ms: int) -> Sent:
        """Note a record that goes to no engine, but to whoever settles it; return it."""
        sent = Sent(delivery, generator, NO_ENGINE, now_ms)
        self._drop(_key_of(delivery.lease))
        self._detached[_key_of(delivery.lease)] = sent
        self._by_generator[generator] += 1
        return sent

    def detach(self, lease: Lease) -> Sent | None:
        """Take the record of exactly this lease off its engine and return it; None if no engine has it."""
        key = _key_of(lease)
        sent = self._sent.get(key)
        if sent is None or sent.delivery.lease.epoch != lease.epoch:
            return None
        del self._sent[key]
        self._detached[key] = sent
        self._by_engine[sent.engine] -= 1
        return sent

    def take(self, lease: Lease) -> bool:
        """End the record of exactly this lease, detached or not; return whether it was under way."""
        key = _key_of(lease)
        sent = self._sent.get(key) or self._detached.get(key)
        if sent is None or sent.delivery.lease.epoch != lease.epoch:
            return False
        self._drop(key)
        return True

    def _drop(self, key: _Key) -> None:
        if (sent := self._sent.pop(key, None)) is not None:
            self._by_engine[sent.engine] -= 1
            self._by_generator[sent.generator] -= 1
        elif (sent := self._detached.pop(key, None)) is not None:
            self._by_generator[sent.generator] -= 1


def _key_of(lease: Lease) -> _Key:
    return (lease.topic, lease.group, lease.offset)
