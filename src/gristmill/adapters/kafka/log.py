"""The log port over Apache Kafka; `docs/adr/0010-kafka-partitions-under-per-record-leases.md` says why it is so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

import structlog
from confluent_kafka import Message

from gristmill.adapters.checks import check_limit, check_records
from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.metadata import decode_progress
from gristmill.adapters.kafka.core.naming import Names, first_after, pack_offset, unpack_offset
from gristmill.adapters.kafka.core.wire import DUE, ToWrite, read_record, write_again, write_dead
from gristmill.adapters.kafka.dead import DeadLetters
from gristmill.adapters.kafka.groups import Groups
from gristmill.adapters.kafka.lagging import LagMeter
from gristmill.adapters.kafka.producing import RecordProducer
from gristmill.adapters.kafka.reading import TopicReader
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.adapters.kafka.steering import KafkaSeeking
from gristmill.adapters.waiting import POLL_MS_MAX, TopicBells
from gristmill.domain.errors import ConfigError, InvariantBroken
from gristmill.domain.log import DeadLetter, Delivery, Diagnosis, Hold, Lag, Lease, NewRecord, Rejected, StoredRecord
from gristmill.domain.steering import PartitionLag, SeekTo, Sought
from gristmill.domain.upkeep.finding import Finding, first_refused
from gristmill.ports.clock import Clock
from gristmill.ports.outbox import Origins

__all__ = ["KafkaLog"]

REJECTED_MAX = 10_000
"""Leases whose dead letter is written and remembered, so that a repeated reject is recognised."""

OUTAGE_MS = 24 * 3_600_000
"""What groups are taken to survive where nobody says otherwise."""

_log = structlog.get_logger()


class KafkaLog:
    """See `ports.log.Log`. Open it on a running event loop; `start` looks whether the brokers suit us.

    Leases are kept by the process that claims: only it can end, renew or release them, and they go when it goes.

    Args:
        origins: tells a record that an outbox has sent twice from the first; without it both are delivered.
    """

    def __init__(self, settings: KafkaSettings, clock: Clock, *, origins: Origins | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._origins = origins
        self._names = Names(settings.prefix, settings.foreign)
        self._admin = TopicAdmin(settings)
        self._producer = RecordProducer(settings)
        self._bells = TopicBells(clock)
        self._dead = DeadLetters(self._names.dead, settings, self._admin, self._producer)
        self._groups = Groups(
            settings,
            names=self._names,
            admin=self._admin,
            producer=self._producer,
            clock=clock,
            ring=lambda topic: self._bells.ring([topic]),
        )
        self._meter = LagMeter(settings, names=self._names, admin=self._admin)
        self._seeking = KafkaSeeking(self._names, self._admin)
        self._rejected: dict[Lease, None] = {}
        capabilities = {"durable", "front_trim", "claimer_settles"}
        # With order by key a record waits where it stands, for as long as it is told to.
        capabilities.add("key_order" if settings.ordering == "key" else "fixed_delays")
        self.capabilities = frozenset(capabilities | ({"partitioned"} if settings.partition_count > 1 else set()))

    async def start(self) -> None:
        """Look whether the brokers suit us; what can be lived with is logged.

        Raises:
            ConfigError: they do not; the setting is named.
            Unavailable: none answers.
        """
        findings = await self.examine(outage_ms=OUTAGE_MS)
        refused = first_refused(findings)
        if refused is not None:
            where = f"Kafka at {self._settings.brokers}"
            raise ConfigError(f"{where}: {refused.check}", value=refused.found, advice=refused.advice)
        for finding in findings:
            if finding.verdict == "warning":
                _log.warning(finding.check, found=finding.found, advice=finding.advice)

    async def examine(self, *, outage_ms: int) -> list[Finding]:
        """Return all that there is to say about whether a log can live on the brokers, the worst first.

        Args:
            outage_ms: the longest time for which a group may stand still.
        Raises:
            Unavailable: none answers.
        """
        return await self._admin.examine(outage_ms=outage_ms, now_ms=self._clock.now_ms())

    async def close(self) -> None:
        """Commit, leave all groups and let go of all connections."""
        await self._groups.close()
        await self._dead.close()
        await self._meter.close()
        await self._admin.close()
        await self._producer.close()

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """Append records and return their offsets. Where an answer is missing, some may be written."""
        check_records(records)
        kafka_topic = self._names.own_topic(topic)
        await self._admin.make_topic(kafka_topic)
        now_ms = self._clock.now_ms()
        places = await self._groups.write([_to_write(kafka_topic, record, now_ms) for record in records])
        self._bells.ring([topic])
        return [pack_offset(offset, partition) for partition, offset in places]

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        """Lease up to `limit` records that nobody holds, of the partitions that this process was assigned."""
        check_limit(limit)
        self._bells.look(topic)
        deliveries = await self._groups.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)
        return await self._leave_out_doubles(topic, group, deliveries)

    async def accept(self, leases: Sequence[Lease], *, then: Sequence[tuple[str, NewRecord]] = ()) -> list[bool]:
        """End records for good. `then` is written first: a crash in between leaves both to be delivered."""
        if not then:
            return self._groups.end(leases)
        check_records([record for _, record in then])
        if any(self._groups.owned(lease) is None for lease in leases):
            return [False] * len(leases)
        now_ms = self._clock.now_ms()
        copies = [_to_write(self._names.own_topic(topic), record, now_ms) for topic, record in then]
        for kafka_topic in {copy.topic for copy in copies}:
            await self._admin.make_topic(kafka_topic)
        await self._groups.write(copies)
        self._groups.end(leases)
        self._bells.ring(topic for topic, _ in then)
        return [True] * len(leases)

    async def release(self, leases: Sequence[Lease], *, delay_ms: int = 0, counted: bool = True) -> list[bool]:
        """Give records back, to be delivered again after `delay_ms`."""
        released = await self._groups.release(leases, delay_ms=delay_ms, counted=counted)
        self._bells.ring(lease.topic for lease in leases)
        return released

    async def reject(self, lease: Lease, diagnosis: Diagnosis) -> Rejected:
        """Write a dead letter, then end the record; written twice under its key it is still one."""
        owned = self._groups.owned(lease)
        if owned is None:
            return "already" if lease in self._rejected else "lost"
        letter = write_dead(lease, owned[1], diagnosis, self._names.dead, now_ms=self._clock.now_ms())
        await self._dead.write(letter)
        self._groups.end([lease])
        self._rejected[lease] = None
        if len(self._rejected) > REJECTED_MAX:
            del self._rejected[next(iter(self._rejected))]
        return "written"

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        """Extend leases to `lease_ms` from now; nothing is asked of the brokers, who keep our membership anyway."""
        until_ms = self._clock.now_ms() + lease_ms
        renewed: list[bool] = []
        for lease in leases:
            owned = self._groups.owned(lease)
            renewed.append(owned is not None and owned[0].book.renew(lease, until_ms=until_ms))
        return renewed

    async def reclaim(self, *, me: str) -> int:
        """Return 0: the brokers give the partitions of a dead process to others by themselves."""
        return 0

    async def lag(self, topic: str, group: str) -> Lag:
        """Return how far the group is behind; what other processes have in flight counts as undelivered."""
        return await self._meter.measure(
            topic,
            group,
            member=self._groups.find(topic, group),
            dead=len(await self._dead.open_letters(topic=topic, group=group)),
            now_ms=self._clock.now_ms(),
        )

    async def partitions(self, topic: str, group: str) -> list[PartitionLag]:
        """Return how far the group is behind in each partition."""
        return await self._meter.partitions(topic, group, member=self._groups.find(topic, group))

    async def seek(self, topic: str, group: str, to: SeekTo, *, is_preview: bool = False) -> Sought:
        """Have the group go on from a place in each partition, or in the one that an offset names."""
        return await self._seeking.seek(topic, group, to, is_preview=is_preview)

    async def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        """Return where a record stands for a group; what another process has of it is told as waiting."""
        member = self._groups.find(topic, group)
        held = member.book.records.get(offset) if member is not None else None
        if held is not None:
            return Hold(held.owner, held.attempt, held.until_ms)
        kafka_offset, partition = unpack_offset(offset)
        committed = await self._admin.committed(self._names.group(topic, group), self._names.topic(topic))
        base, text = committed.get(partition, (0, ""))
        progress = decode_progress(text)
        if kafka_offset < base or kafka_offset - base in progress.complete:
            return None
        return Hold("", progress.starts.get(kafka_offset - base, 0), 0)

    async def end(self, topic: str) -> int:
        """Return the number of records ever appended to the topic."""
        return sum(await self._admin.ends(self._names.topic(topic)))

    async def topics(self) -> list[str]:
        """Return the names of all topics, sorted."""
        return self._names.plain_topics(list(await self._admin.topics()))

    async def read_all(
        self, topic: str, *, after: int = 0, until_end: bool = True
    ) -> AsyncIterator[list[StoredRecord]]:
        """Yield batches of all records with offset > `after`; over several partitions in no order between them.

        There `after` does not say what was read of the other partitions: what came late to one of them may be below it.
        """
        kafka_topic = self._names.topic(topic)
        count = await self._admin.partitions_of(kafka_topic)
        at = {number: first_after(after, number) for number in range(count)}
        reader = TopicReader(self._settings)
        try:
            while True:
                self._bells.look(topic)
                ends = dict(enumerate(await self._admin.ends(kafka_topic)))
                lows = dict(enumerate(await self._admin.beginnings(kafka_topic)))
                starts = {number: max(low, at.get(number, 0)) for number, low in lows.items()}
                async for messages in reader.read(kafka_topic, starts=starts, ends=ends):
                    yield [_to_stored(topic, kafka_topic, message) for message in messages]
                if until_end:
                    return
                at = ends
                await self.wait([topic], timeout_ms=POLL_MS_MAX)
        finally:
            await reader.close()

    async def trim(self, topic: str, *, upto: int) -> int:
        """Delete the front of each partition: what lies up to `upto` and below the progress of every group.

        Nothing of a topic that somebody else writes: how long its records stay is not ours to say.
        """
        kafka_topic = self._names.topic(topic)
        groups = await self._admin.groups(ending=f".{topic}") if topic not in self._names.foreign else []
        if not groups or not await self._admin.partitions_of(kafka_topic):
            return 0
        lowest: dict[int, int] = {}
        for kafka_group in groups:
            group = kafka_group.removeprefix(self._settings.prefix).removesuffix(f".{topic}")
            if (member := self._groups.find(topic, group)) is not None:
                await member.commit()
            committed = await self._admin.committed(kafka_group, kafka_topic)
            for number in range(await self._admin.partitions_of(kafka_topic)):
                base = committed.get(number, (0, ""))[0]
                lowest[number] = min(base, lowest.get(number, base))
        cut: dict[int, int] = {}
        for number, low in enumerate(await self._admin.beginnings(kafka_topic)):
            if (end := min(lowest[number], first_after(upto, number))) > low:
                cut[number] = end
        before = await self.trimmed(topic)
        if cut:
            await self._admin.delete_before(kafka_topic, cut)
        return await self.trimmed(topic) - before

    async def trimmed(self, topic: str) -> int:
        """Return how many records of the topic were trimmed so far."""
        return sum(await self._admin.beginnings(self._names.topic(topic)))

    async def present(self, topic: str, offsets: Collection[int]) -> set[int]:
        """Return those offsets that lie between the begin and the end of their partition."""
        kafka_topic = self._names.topic(topic)
        lows, ends = await self._admin.beginnings(kafka_topic), await self._admin.ends(kafka_topic)
        places = {offset: unpack_offset(offset) for offset in offsets}
        return {
            offset
            for offset, (kafka_offset, partition) in places.items()
            if partition < len(ends) and lows[partition] <= kafka_offset < ends[partition]
        }

    async def dead_letters(
        self, *, topic: str = "", group: str = "", after: int = 0, limit: int = 100, has_values: bool = True
    ) -> list[DeadLetter]:
        """Return open dead letters with a higher id than `after`, oldest first."""
        check_limit(limit)
        letters = await self._dead.open_letters(topic=topic, group=group)
        listed = [letter for letter in letters if letter.dead_letter_id > after][:limit]
        return await self._dead.with_values(listed) if has_values else listed

    async def requeue(self, dead_letter_id: int) -> bool:
        """Make a dead letter a record again: a copy for its group alone, then the letter is closed."""
        letter = await self._dead.find(dead_letter_id)
        if letter is None:
            return False
        tier_ms = min(self._settings.tiers_ms)
        retry = self._names.retry(letter.topic, letter.group, tier_ms=tier_ms)
        await self._admin.make_retries([retry])
        now_ms = self._clock.now_ms()
        await self._groups.write([write_again(letter, retry, now_ms=now_ms)])
        closed = await self._dead.close_letter(dead_letter_id, now_ms=now_ms)
        self._bells.ring([letter.topic])
        return closed

    async def drop(self, dead_letter_id: int) -> bool:
        """Close a dead letter for good."""
        return await self._dead.close_letter(dead_letter_id, now_ms=self._clock.now_ms())

    async def _leave_out_doubles(self, topic: str, group: str, deliveries: list[Delivery]) -> list[Delivery]:
        """End records that an outbox had sent before, when its first sending got no answer."""
        if self._origins is None:
            return deliveries
        brought: dict[str, int] = {}
        outbox_ids: dict[Lease, str] = {}
        for delivery in deliveries:
            owned = self._groups.owned(delivery.lease)
            if owned is not None and (outbox_id := owned[1].fetched.outbox_id):
                outbox_ids[delivery.lease] = outbox_id
                brought.setdefault(outbox_id, delivery.lease.offset)
        if not brought:
            return deliveries
        try:
            first = await self._origins.settle(topic, group, brought)
        except BaseException:  # Also where the claim is cancelled: nobody has seen the records.
            await self._groups.release([one.lease for one in deliveries], delay_ms=0, counted=False)
            raise
        doubles = [lease for lease, outbox_id in outbox_ids.items() if first[outbox_id] != lease.offset]
        if doubles:
            self._groups.end(doubles)
            _log.info("records that came in twice are left out", topic=topic, group=group, count=len(doubles))
        return [one for one in deliveries if one.lease not in set(doubles)]

    async def wait(self, topics: Sequence[str], *, timeout_ms: int) -> None:
        """Return when one of the topics may have claimable records, or after `timeout_ms`; looks every second."""
        await self._bells.wait(topics, timeout_ms=min(timeout_ms, POLL_MS_MAX))


def _to_write(kafka_topic: str, record: NewRecord, now_ms: int) -> ToWrite:
    headers = record.headers
    if record.due_at_ms > now_ms:
        headers = {**headers, DUE: str(record.due_at_ms)}
    return ToWrite(kafka_topic, record.value, record.key, headers, now_ms)


def _to_stored(topic: str, kafka_topic: str, message: Message) -> StoredRecord:
    partition, offset = message.partition() or 0, message.offset() or 0
    fetched = read_record(
        (kafka_topic, partition),
        offset,
        value=message.value(),
        key=message.key(),
        headers=message.headers() or [],  # type: ignore[arg-type]
        at_ms=message.timestamp()[1],
        is_copy=False,
    )
    if fetched is None:
        raise InvariantBroken("a record that is no copy has no origin", value=offset)
    return StoredRecord(topic, fetched.origin, fetched.value, fetched.key, fetched.headers, fetched.appended_at_ms)
