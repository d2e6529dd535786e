"""The groups that this process takes part in: joining them, claiming from them, giving records back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.book import Book, Held, Partition
from gristmill.adapters.kafka.core.naming import PARTITIONS_MAX, Names
from gristmill.adapters.kafka.core.tiers import StayHere, ToTier, decide_wait
from gristmill.adapters.kafka.core.wire import ToWrite, write_copy
from gristmill.adapters.kafka.member import CUT_OFF_S, GroupMember
from gristmill.adapters.kafka.producing import RecordProducer
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.log import Delivery, Lease
from gristmill.ports.clock import Clock

__all__ = ["Groups"]

EPOCHS_PER_MS = 1 << 12
"""Claims that one process may make in a millisecond of its life before its epochs meet those of the next process."""


class Groups:
    """Members by topic and group; a group is joined with the first claim for it."""

    def __init__(
        self,
        settings: KafkaSettings,
        *,
        names: Names,
        admin: TopicAdmin,
        producer: RecordProducer,
        clock: Clock,
        ring: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._names = names
        self._admin = admin
        self._producer = producer
        self._clock = clock
        self._ring = ring
        self._members: dict[tuple[str, str], GroupMember] = {}
        self._joining = asyncio.Lock()
        self.written: dict[Partition, int] = {}
        """Next offset after what this log has written, for claims that wait for it."""

    def find(self, topic: str, group: str) -> GroupMember | None:
        """Return the member, if this process has claimed for the group."""
        return self._members.get((topic, group))

    def note_written(self, topic: str, places: Sequence[tuple[int, int]]) -> None:
        """Remember how far this log has written a Kafka topic."""
        if self._settings.settle_ms:
            for number, offset in places:
                self.written[topic, number] = max(self.written.get((topic, number), 0), offset + 1)

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease up to `limit` records of the partitions that this process was assigned."""
        member = await self._join(topic, group)
        if member is None or member.is_handing_over:
            return []
        if self._settings.settle_ms:
            await self._settle(member)
        if member.is_cut_off:
            raise _cut_off(topic)
        now_ms = self._clock.now_ms()
        taken = member.book.claim(owner=owner, limit=limit, now_ms=now_ms, until_ms=now_ms + lease_ms)
        if taken and self._settings.crash_guard:
            await self._count_starts(member, [lease for lease, _ in taken])
        member.note_change()
        return [_to_delivery(lease, held) for lease, held in taken]

    def owned(self, lease: Lease) -> tuple[GroupMember, Held] | None:
        """Return the record of a lease that still holds."""
        member = self._members.get((lease.topic, lease.group))
        held = member.book.find(lease) if member is not None else None
        return None if member is None or held is None else (member, held)

    def end(self, leases: Sequence[Lease]) -> list[bool]:
        """End records for good; False where the lease no longer holds."""
        ended: list[bool] = []
        changed: set[GroupMember] = set()
        for lease in leases:
            member = self._members.get((lease.topic, lease.group))
            ended.append(member is not None and member.book.end(lease))
            if member is not None:
                changed.add(member)
        for member in changed:
            member.note_change()
        return ended

    async def release(self, leases: Sequence[Lease], *, delay_ms: int, counted: bool) -> list[bool]:
        """Give records back: to their place, or as copies to a retry topic once those are written."""
        wait = decide_wait(
            delay_ms=delay_ms, counted=counted, ordering=self._settings.ordering, tiers_ms=self._settings.tiers_ms
        )
        due_at_ms = self._clock.now_ms() + delay_ms
        match wait:
            case StayHere():
                return [self._release_here(lease, visible_at_ms=due_at_ms, counted=counted) for lease in leases]
            case ToTier(tier_ms=tier_ms):
                return await self._release_to_tier(leases, tier_ms=tier_ms, due_at_ms=due_at_ms)

    async def write(self, records: Sequence[ToWrite]) -> list[tuple[int, int]]:
        """Write records to Kafka topics that exist; return partition and offset of each."""
        places = await self._producer.write(records)
        for record, place in zip(records, places, strict=True):
            self.note_written(record.topic, [place])
        return places

    async def close(self) -> None:
        """Leave all groups."""
        members, self._members = list(self._members.values()), {}
        await asyncio.gather(*(member.close() for member in members))

    def _release_here(self, lease: Lease, *, visible_at_ms: int, counted: bool) -> bool:
        owned = self.owned(lease)
        if owned is None:
            return False
        owned[0].book.release(lease, visible_at_ms=visible_at_ms, counted=counted)
        owned[0].note_change()
        return True

    async def _release_to_tier(self, leases: Sequence[Lease], *, tier_ms: int, due_at_ms: int) -> list[bool]:
        held = {lease: owned[1] for lease in leases if (owned := self.owned(lease)) is not None}
        now_ms = self._clock.now_ms()
        copies = [
            write_copy(
                one,
                self._names.retry(lease.topic, lease.group, tier_ms=tier_ms),
                topic=lease.topic,
                due_at_ms=due_at_ms,
                now_ms=now_ms,
            )
            for lease, one in held.items()
        ]
        self._expect_copies(held, are_expected=True)
        try:
            if copies:
                await self.write(copies)
        except Exception:
            self._expect_copies(held, are_expected=False)
            raise
        released: list[bool] = []
        for lease in leases:
            # A partition lost while the copy was written leaves a copy too many, which the store's fence bears.
            is_ours = held.pop(lease, None) is not None
            member = self._members.get((lease.topic, lease.group))
            if is_ours and member is not None and member.book.move(lease):
                member.note_change()
            released.append(is_ours)
        return released

    def _expect_copies(self, leases: Iterable[Lease], *, are_expected: bool) -> None:
        for lease in leases:
            if (member := self._members.get((lease.topic, lease.group))) is not None:
                member.book.begin_move(lease, is_moving=are_expected)

    async def _join(self, topic: str, group: str) -> GroupMember | None:
        """Return the member of a group, as which this process joins it if need be; None while there is no topic."""
        member = self._members.get((topic, group))
        if member is not None:
            return member
        async with self._joining:
            if (topic, group) in self._members:
                return self._members[topic, group]
            kafka_topic = self._names.topic(topic)
            count = await self._admin.partitions_of(kafka_topic, within_s=CUT_OFF_S)
            if not count:
                return None
            if count > PARTITIONS_MAX:
                advice = f"{PARTITIONS_MAX} are the most that offsets can tell apart"
                raise ConfigError(f"partitions of topic {kafka_topic!r}", value=count, advice=advice)
            retries = self._names.retries(topic, group, tiers_ms=self._settings.tiers_ms)
            await self._admin.make_retries(retries)
            first_epoch = self._clock.now_ms() * EPOCHS_PER_MS
            settings = self._settings
            book = Book(topic, group, first_epoch, settings.ordering, settings.crash_guard)
            member = GroupMember(
                self._settings,
                kafka_group=self._names.group(topic, group),
                sources=[kafka_topic, *retries],
                book=book,
                clock=self._clock,
                on_records=lambda: self._ring(topic),
                is_foreign=topic in self._names.foreign,
            )
            self._members[topic, group] = member
            return member

    async def _count_starts(self, member: GroupMember, leases: Sequence[Lease]) -> None:
        """Have the brokers know of these starts before anybody works on the records."""
        try:
            async with asyncio.timeout(CUT_OFF_S):
                await member.commit()
        except BaseException as error:  # Also where the claim is cancelled: nobody has seen the records.
            for lease in leases:
                member.book.unclaim(lease)
            if isinstance(error, TimeoutError):
                raise _cut_off(leases[0].topic) from None
            raise
        lost = [lease for lease in leases if member.book.find(lease) is None]
        if lost:
            raise Unavailable(f"partitions of {leases[0].topic!r} moved to another process", advice="claim again")

    async def _settle(self, member: GroupMember) -> None:
        try:
            async with asyncio.timeout(self._settings.settle_ms / 1_000):
                await member.caught_up({one: end for one, end in self.written.items() if one[0] in member.sources})
        except TimeoutError:
            raise Unavailable(f"topic {member.book.topic!r} does not come in", advice="check the brokers") from None


def _cut_off(topic: str) -> Unavailable:
    return Unavailable(f"topic {topic!r} cannot be claimed from: no broker answers", advice="check the brokers")


def _to_delivery(lease: Lease, held: Held) -> Delivery:
    fetched = held.fetched
    return Delivery(lease, fetched.value, fetched.key, fetched.headers, held.attempt, fetched.appended_at_ms)
