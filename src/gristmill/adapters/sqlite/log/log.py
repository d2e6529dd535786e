"""The log port over one SQLite file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial

import apsw

from gristmill.adapters.checks import check_limit, check_records
from gristmill.adapters.local_host.doorbell import Doorbell
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.log import dead, reading, seeking, settling
from gristmill.adapters.sqlite.log.appending import append
from gristmill.adapters.sqlite.log.claiming import Claim
from gristmill.adapters.sqlite.log.reclaiming import Reclaim
from gristmill.adapters.waiting import POLL_MS_MAX, TopicBells
from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Lag, Lease, NewRecord, Rejected, StoredRecord
from gristmill.domain.steering import PartitionLag, SeekTo, Sought
from gristmill.ports.clock import Clock
from gristmill.ports.faults import fault

__all__ = ["SqliteLog"]

APPEND_US = 4
CLAIM_US = 6
SETTLE_US = 4
TRIM_US = 3_000
SEEK_US = 3_000
"""Work of one record inside a turn, generously; decides how much shares a turn."""


class SqliteLog:
    """See `ports.log.Log`. Processes that open the same file share it."""

    capabilities = frozenset({"shares_store", "durable", "owner_probe", "total_order"})

    def __init__(self, writer: Writer, reader: Reader, doorbell: Doorbell, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._doorbell = doorbell
        self._clock = clock
        self._bells = TopicBells(clock)
        self._fresh_first: dict[tuple[str, str], bool] = {}

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """Append records and return their offsets; durable once returned. One call is one turn: a large one is long."""
        check_records(records)
        fault("append.before")
        now_ms = self._clock.now_ms()
        job = Job(lambda turn: append(turn, topic, records, now_ms=now_ms), work_us=APPEND_US * len(records))
        offsets = await self._writer.do(job)
        fault("append.after")
        self.announce([topic])
        return list(offsets)

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease up to `limit` records that nobody holds; takes no turn when there is none."""
        check_limit(limit)
        self._bells.look(topic)
        now_ms = self._clock.now_ms()
        is_fresh_first = self._fresh_first.get((topic, group), False)
        claim = Claim(topic, group, owner, limit, now_ms, now_ms + lease_ms, is_fresh_first)
        # Whoever has a lease is gone after a power failure, and commits by it are durable only together with it.
        job = Job(claim.run, CLAIM_US * limit, idle=claim.idle, finish=claim.finish, is_durable=False)
        claimed = await self._writer.do(job)
        self._fresh_first[topic, group] = claimed.has_due
        fault("claim.after")
        return list(claimed.deliveries)

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        """End records for good; with `then`, all or nothing."""
        fault("accept.before")
        work_us = SETTLE_US * len(leases)
        if then:
            check_records([record for _, record in then])
            now_ms = self._clock.now_ms()
            accepted = await self._writer.do(
                Job(lambda turn: settling.settle_with(turn, leases, then, now_ms=now_ms), work_us)
            )
            self.announce(topic for topic, _ in then)
        else:
            accepted = await self._writer.do(Job(lambda turn: settling.accept(turn, leases), work_us))
        fault("accept.after")
        return accepted

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        """Give records back, to be delivered again after `delay_ms`."""
        until_ms = self._clock.now_ms() + delay_ms
        released = await self._writer.do(
            Job(
                lambda turn: settling.release(turn, leases, visible_at_ms=until_ms, is_counted=counted),
                SETTLE_US * len(leases),
            )
        )
        self.announce(lease.topic for lease in leases)
        return released

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        """Write a dead letter and accept the record in one step; idempotent."""
        now_ms = self._clock.now_ms()
        return await self._writer.do(Job(lambda turn: dead.reject(turn, lease, diagnosis, now_ms=now_ms)))

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        """Extend leases to `lease_ms` from now; False where ownership is lost."""
        until_ms = self._clock.now_ms() + lease_ms
        job = Job(lambda turn: settling.renew(turn, leases, until_ms=until_ms), SETTLE_US * len(leases))
        return await self._writer.do(job)

    async def reclaim(self, *, me: str) -> int:
        """Free the leases of owners whose life lock can be taken; takes no turn when nobody died."""
        freed = await Reclaim(self._writer.file.owners_folder, me).run(self._writer)
        if freed:
            self.announce(freed)
        return sum(freed.values())

    async def lag(self, topic: str, group: str) -> Lag:
        """Return how far the group is behind."""
        now_ms = self._clock.now_ms()
        return await self._reader.do(lambda db: reading.compute_lag(db, topic, group, now_ms=now_ms))

    async def has_open_before(self, topic: str, group: str, *, key: str, offset: int) -> bool:
        """Whether the group is not done with an earlier record of this key; looks at all that it has under way."""
        return await self._reader.do(lambda db: reading.has_open_before(db, topic, group, key=key, offset=offset))

    async def partitions(self, topic: str, group: str) -> list[PartitionLag]:
        """Return how far the group is behind: one entry."""
        now_ms = self._clock.now_ms()

        def read(db: apsw.Connection) -> PartitionLag | None:
            lag = reading.compute_lag(db, topic, group, now_ms=now_ms)
            return seeking.read_partition(db, topic, group, undelivered=lag.undelivered)

        found = await self._reader.do(read)
        return [] if found is None else [found]

    async def seek(self, topic: str, group: str, to: SeekTo, *, is_preview: bool = False) -> Sought:
        """Have the group get every record from a place on and none below; many records take many short turns."""
        now_ms = self._clock.now_ms()
        place = await self._reader.do(lambda db: seeking.find_place(db, topic, group, to))
        if place is None:
            return Sought(0, 0, 0)
        if is_preview:
            return await self._reader.do(lambda db: seeking.count_seek(db, place, now_ms=now_ms))
        skipped = await self._repeat(lambda turn: seeking.move_ahead(turn, topic, group, place.first))
        skipped += await self._repeat(lambda turn: seeking.forget_waiting(turn, place))
        again = after = 0
        while found := await self._writer.do(Job(_bring_back(place, after=after, now_ms=now_ms), SEEK_US)):
            again, after = again + len(found), max(found)
        in_flight = (await self.lag(topic, group)).in_flight
        self.announce([topic])
        return Sought(again, skipped, in_flight)

    async def end(self, topic: str) -> int:
        """Return the number of records ever appended to the topic."""
        return await self._reader.do(lambda db: reading.count_records(db, topic))

    async def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        return await self._reader.do(reading.list_topics)

    async def read_all(
        self, topic: str, *, after: int = 0, until_end: bool = True
    ) -> AsyncIterator[list[StoredRecord]]:
        """Yield batches of records with offset > `after`, oldest first, without leases."""
        place = after
        while True:
            self._bells.look(topic)
            batch = await self._reader.do(partial(reading.read_batch, topic=topic, after=place))
            if batch:
                place = batch[-1].offset
                yield batch
            elif until_end:
                return
            else:
                await self.wait([topic], timeout_ms=POLL_MS_MAX)

    async def trim(self, topic: str, *, upto: int) -> int:
        """Delete records with offset <= `upto` that every group has accepted; none while no group has claimed."""
        trimmed = 0
        while True:
            some = await self._writer.do(Job(lambda turn: reading.trim_some(turn, topic, upto=upto), TRIM_US))
            trimmed += some
            if some < reading.TRIM_RECORDS_PER_TURN:
                return trimmed

    async def trimmed(self, topic: str) -> int:
        """Return how many records of the topic were trimmed so far."""
        return await self._reader.do(lambda db: reading.count_trimmed(db, topic))

    async def dead_letters(
        self, *, topic: str = "", group: str = "", after: int = 0, limit: int = 100, has_values: bool = True
    ) -> list[DeadLetter]:
        """Return open dead letters with a higher id than `after`, oldest first."""
        check_limit(limit)
        return await self._reader.do(
            lambda db: dead.list_dead(db, topic=topic, group=group, after=after, limit=limit, has_values=has_values)
        )

    async def requeue(self, dead_letter_id: int) -> bool:
        """Make a dead letter a record again, for its group alone, with a fresh budget."""
        now_ms = self._clock.now_ms()
        topic = await self._writer.do(Job(lambda turn: dead.requeue(turn, dead_letter_id, now_ms=now_ms)))
        if topic is not None:
            self.announce([topic])
        return topic is not None

    async def drop(self, dead_letter_id: int) -> bool:
        """Close a dead letter for good; its record can be trimmed."""
        return await self._writer.do(Job(lambda turn: dead.drop(turn, dead_letter_id)))

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return when one of the topics may have claimable records, or after `timeout_ms`; looks every second."""
        self._doorbell.listen(self._on_ring)
        await self._bells.wait(topics, timeout_ms=min(timeout_ms, POLL_MS_MAX))

    def look(self, topic: str) -> None:
        """Note that the caller is about to look for itself; rings after this end its next wait at once."""
        self._bells.look(topic)

    def announce(self, topics: Iterable[str]) -> None:
        """Wake everyone, here and in other processes, who waits on one of the topics."""
        rung = set(topics)
        self._bells.ring(rung)
        self._doorbell.ring(rung)

    async def _repeat(self, move: Callable[[Turn], int]) -> int:
        """Take turns until one finds nothing more to do; return how many records that were."""
        total = 0
        while count := await self._writer.do(Job(move, SEEK_US)):
            total += count
        return total

    def _on_ring(self, topics: list[str]) -> None:
        if topics:
            self._bells.ring(topics)
        else:
            self._bells.ring_all()


def _bring_back(place: seeking.Place, *, after: int, now_ms: int) -> Callable[[Turn], list[int]]:
    return lambda turn: seeking.set_aside_again(turn, place, after=after, now_ms=now_ms)
