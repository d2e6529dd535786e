"""The log in memory: per-record outcomes over a ledger, with a clock and waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import islice

import msgspec

from gristmill.adapters.checks import check_limit, check_records
from gristmill.adapters.memory.dead import DeadLetters
from gristmill.adapters.memory.ledger import GroupState, Ledger, Placed
from gristmill.adapters.memory.seeking import find_first, seek
from gristmill.adapters.waiting import POLL_MS_MAX, TopicBells
from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Lag, Lease, NewRecord, Rejected, StoredRecord
from gristmill.domain.steering import PartitionLag, SeekTo, Sought
from gristmill.ports.clock import Clock

__all__ = ["MemoryLog"]

RECORDS_PER_BATCH = 500
"""Size of one batch of broadcast reading."""


class MemoryLog:
    """See `ports.log.Log`. Use it from one event loop."""

    capabilities = frozenset({"shares_store", "owner_probe", "total_order"})

    def __init__(self, clock: Clock) -> None:
        self.ledger = Ledger()
        self._clock = clock
        self._dead = DeadLetters(self.ledger)
        self._bells = TopicBells(clock)
        self._dead_owners: dict[str, frozenset[int] | None] = {}

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """Append records and return their offsets in input order."""
        check_records(records)
        offsets = self.ledger.append(topic, records, now_ms=self._clock.now_ms())
        self._bells.ring([topic])
        return offsets

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease up to `limit` records that nobody holds."""
        check_limit(limit)
        self._bells.look(topic)
        now_ms = self._clock.now_ms()
        return self.ledger.claim(topic, group, owner=owner, limit=limit, now_ms=now_ms, until_ms=now_ms + lease_ms)

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        """End records for good; with `then`, all or nothing."""
        if not then:
            return [self.ledger.accept(lease) for lease in leases]
        check_records([record for _, record in then])
        owned = [self.ledger.find(lease) is not None for lease in leases]
        if not all(owned):
            return [False] * len(leases)
        for lease in leases:
            self.ledger.accept(lease)
        for topic, record in then:
            self.ledger.append(topic, [record], now_ms=self._clock.now_ms())
        self._bells.ring(topic for topic, _ in then)
        return owned

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        """Give records back, to be delivered again after `delay_ms`."""
        visible_at_ms = self._clock.now_ms() + delay_ms
        released = [self.ledger.release(lease, visible_at_ms=visible_at_ms, is_counted=counted) for lease in leases]
        self._bells.ring(lease.topic for lease in leases)
        return released

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        """Write a dead letter and accept the record in one step; idempotent."""
        return self._dead.reject(lease, diagnosis, now_ms=self._clock.now_ms())

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        """Extend leases to `lease_ms` from now; False where ownership is lost."""
        until_ms = self._clock.now_ms() + lease_ms
        return [self.ledger.renew(lease, until_ms=until_ms) for lease in leases]

    def mark_dead(self, owner: str, *, marked: frozenset[int] | None = None) -> None:
        """Say that an owner died, as the next `reclaim` will find out."""
        self._dead_owners[owner] = marked

    async def reclaim(self, *, me: str) -> int:
        """Free the leases of owners that were marked dead."""
        freed: list[str] = []
        for owner in [owner for owner in self._dead_owners if owner != me]:
            freed += self.ledger.free_owner(owner, marked=self._dead_owners.pop(owner))
        self._bells.ring(freed)
        return len(freed)

    async def has_open_before(self, topic: str, group: str, *, key: str, offset: int) -> bool:
        """Whether the group is not done with an earlier record of this key."""
        return self.ledger.has_open_before(topic, group, key=key, offset=offset)

    async def lag(self, topic: str, group: str) -> Lag:
        """Return how far the group is behind."""
        now_ms = self._clock.now_ms()
        state = self.ledger.topics.get(topic)
        if state is None:
            return Lag(undelivered=0, in_flight=0, waiting=0, oldest_age_ms=0, dead=0)
        progress = state.groups.get(group)
        fresh = list(state.after(progress.cursor if progress else 0))
        held = progress.held if progress else {}
        in_flight = sum(one.is_live(now_ms) for one in held.values())
        delayed = sum(placed.due_at_ms > 0 for placed in fresh)
        open_offsets = [*held, *(placed.offset for placed in fresh[:1])]
        oldest_ms = state.records[min(open_offsets)].appended_at_ms if open_offsets else now_ms
        return Lag(
            undelivered=len(fresh) - delayed,
            in_flight=in_flight,
            waiting=len(held) - in_flight + delayed,
            oldest_age_ms=now_ms - oldest_ms,
            dead=len(self._dead.open_letters(topic=topic, group=group)),
        )

    async def partitions(self, topic: str, group: str) -> list[PartitionLag]:
        """Return how far the group is behind: one entry."""
        state = self.ledger.topics.get(topic)
        if state is None:
            return []
        progress = state.groups.get(group) or GroupState()
        end = state.offsets[-1] if state.offsets else progress.cursor
        undelivered = (await self.lag(topic, group)).undelivered
        return [PartitionLag(partition=0, position=progress.cursor, end=end, undelivered=undelivered)]

    async def seek(self, topic: str, group: str, to: SeekTo, *, is_preview: bool = False) -> Sought:
        """Have the group get every record from a place on and none below, but for those under a lease."""
        state = self.ledger.topics.get(topic)
        if state is None:
            return Sought(0, 0, 0)
        progress = state.groups.get(group) or GroupState()
        sought = seek(
            state,
            progress,
            find_first(state, to),
            letters=self._dead.all_letters(topic, group),
            now_ms=self._clock.now_ms(),
            is_preview=is_preview,
        )
        if not is_preview:
            state.groups[group] = progress
            self._bells.ring([topic])
        return sought

    async def end(self, topic: str) -> int:
        """Return the number of records ever appended to the topic."""
        state = self.ledger.topics.get(topic)
        return state.record_count if state else 0

    async def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        return sorted(self.ledger.topics)

    async def read_all(
        self, topic: str, *, after: int = 0, until_end: bool = True
    ) -> AsyncIterator[list[StoredRecord]]:
        """Yield batches of records with offset > `after`, oldest first, without leases."""
        while True:
            self._bells.look(topic)
            state = self.ledger.topics.get(topic)
            batch = list(islice(state.after(after), RECORDS_PER_BATCH)) if state else []
            if batch:
                after = batch[-1].offset
                yield [_stored(topic, placed) for placed in batch]
            elif until_end:
                return
            else:
                await self.wait([topic], timeout_ms=POLL_MS_MAX)

    async def trim(self, topic: str, *, upto: int) -> int:
        """Delete records with offset <= `upto` that every group has accepted; none while no group has claimed."""
        state = self.ledger.topics.get(topic)
        if state is None or not state.groups:
            return 0
        lowest = min(upto, min(group.cursor for group in state.groups.values()))
        kept = self._dead.open_offsets(topic).union(*(group.held for group in state.groups.values()))
        gone = [offset for offset in state.offsets if offset <= lowest and offset not in kept]
        for offset in gone:
            del state.records[offset]
        state.offsets = [offset for offset in state.offsets if offset in state.records]
        return len(gone)

    async def trimmed(self, topic: str) -> int:
        """Return how many records of the topic were trimmed so far."""
        state = self.ledger.topics.get(topic)
        return state.record_count - len(state.offsets) if state else 0

    async def dead_letters(
        self, *, topic: str = "", group: str = "", after: int = 0, limit: int = 100, has_values: bool = True
    ) -> list[DeadLetter]:
        """Return open dead letters with a higher id than `after`, oldest first."""
        check_limit(limit)
        letters = self._dead.open_letters(topic=topic, group=group)
        listed = [letter for letter in letters if letter.dead_letter_id > after][:limit]
        return listed if has_values else [msgspec.structs.replace(letter, value=b"") for letter in listed]

    async def requeue(self, dead_letter_id: int) -> bool:
        """Make a dead letter a record again, for its group alone, with a fresh budget."""
        letter = self._dead.requeue(dead_letter_id, now_ms=self._clock.now_ms())
        if letter is not None:
            self._bells.ring([letter.topic])
        return letter is not None

    async def drop(self, dead_letter_id: int) -> bool:
        """Close a dead letter for good."""
        return self._dead.close(dead_letter_id)

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return when one of the topics may have claimable records, or after `timeout_ms`; looks every second."""
        await self._bells.wait(topics, timeout_ms=min(timeout_ms, POLL_MS_MAX))


def _stored(topic: str, placed: Placed) -> StoredRecord:
    record = placed.record
    return StoredRecord(topic, placed.offset, record.value, record.key, dict(record.headers), placed.appended_at_ms)
