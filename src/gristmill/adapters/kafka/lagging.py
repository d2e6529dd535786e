"""How far a group is behind, as a member knows it or as anybody can find out from what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.metadata import decode_progress
from gristmill.adapters.kafka.core.naming import Names
from gristmill.adapters.kafka.member import GroupMember
from gristmill.adapters.kafka.reading import TopicReader
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.log import Lag
from gristmill.domain.steering import PartitionLag

__all__ = ["LagMeter"]


class LagMeter:
    """Measures lags; remembers when the oldest record of a place was appended, so that it is read once."""

    def __init__(self, settings: KafkaSettings, *, names: Names, admin: TopicAdmin) -> None:
        self._settings = settings
        self._names = names
        self._admin = admin
        self._reader = TopicReader(settings)
        self._lock = asyncio.Lock()
        self._times_ms: dict[tuple[str, int], tuple[int, int]] = {}

    async def measure(self, topic: str, group: str, *, member: GroupMember | None, dead: int, now_ms: int) -> Lag:
        """Return the lag of a group over all partitions: exact for ours, from committed progress for those of others.

        What others have in flight shows as undelivered, since only the other process knows.
        """
        kafka_topic = self._names.topic(topic)
        sources = [kafka_topic, *self._names.retries(topic, group, tiers_ms=self._settings.tiers_ms)]
        kafka_group = self._names.group(topic, group)
        while True:
            told = {source: await self._ask(source, member=member, kafka_group=kafka_group) for source in sources}
            # The book and its trackers are read in one go: a record that came in between two reads would be in neither.
            found = {source: _count_elsewhere(source, answers, member=member) for source, answers in told.items()}
            if None not in found.values():
                break  # Otherwise a partition has left us while we asked about others.
        tally = (0, 0, 0, 0) if member is None else member.book.tally(now_ms=now_ms)
        undelivered, in_flight, waiting, oldest_ms = tally
        for source, open_at in found.items():
            left = sum(count for count, _ in (open_at or {}).values())
            if source == kafka_topic:
                undelivered += left
            else:
                waiting += left
        bases = {number: base for number, (count, base) in (found[kafka_topic] or {}).items() if count}
        if bases and not oldest_ms:
            oldest_ms = await self._oldest_ms(kafka_topic, bases)
        age_ms = max(0, now_ms - oldest_ms) if oldest_ms else 0
        lost = member.lost_count if member is not None else 0
        return Lag(undelivered, in_flight, waiting, oldest_age_ms=age_ms, dead=dead, lost=lost)

    async def partitions(self, topic: str, group: str, *, member: GroupMember | None) -> list[PartitionLag]:
        """Return how far a group is behind in each partition, from committed progress for those of others."""
        kafka_topic = self._names.topic(topic)
        kafka_group = self._names.group(topic, group)
        ends, beginnings = await self._admin.ends(kafka_topic), await self._admin.beginnings(kafka_topic)
        committed = await self._admin.committed(kafka_group, kafka_topic)
        ours = {} if member is None else member.book.trackers
        told: list[PartitionLag] = []
        for number, end in enumerate(ends):
            base, text = committed.get(number, (beginnings[number], ""))
            tracker = ours.get((kafka_topic, number))
            base = max(base, beginnings[number])
            read = tracker.end if tracker is not None else base + len(decode_progress(text).complete)
            told.append(
                PartitionLag(
                    partition=number,
                    position=base,
                    end=end,
                    undelivered=max(0, end - read),
                    is_ours=tracker is not None,
                    open_count=max(0, read - base) if tracker is not None else None,
                )
            )
        return told

    async def close(self) -> None:
        """Let go of the connection."""
        await self._reader.close()

    async def _ask(self, source: str, *, member: GroupMember | None, kafka_group: str) -> _Answers:
        """Ask the brokers what is needed to count a topic, no more than that for partitions of ours."""
        ends = await self._admin.ends(source)
        ours = {} if member is None else member.book.trackers
        if all((source, number) in ours for number in range(len(ends))):
            return _Answers(ends)
        committed = await self._admin.committed(kafka_group, source)
        return _Answers(ends, bases=await self._admin.beginnings(source), committed=committed)

    async def _oldest_ms(self, source: str, bases: Mapping[int, int]) -> int:
        """Return when the oldest of the records at these places was appended, UTC epoch."""
        async with self._lock:
            wanted = {
                number: base
                for number, base in bases.items()
                if self._times_ms.get((source, number), (-1, 0))[0] != base
            }
            ends = {number: base + 1 for number, base in wanted.items()}
            async for messages in self._reader.read(source, starts=wanted, ends=ends):
                for message in messages:
                    place = (source, message.partition() or 0)
                    self._times_ms[place] = (message.offset() or 0, message.timestamp()[1])
            times_ms = [self._times_ms[source, number][1] for number in bases if (source, number) in self._times_ms]
        return min(times_ms, default=0)


@dataclass(frozen=True)
class _Answers:
    """What the brokers say of a topic, by partition; first offsets and commits only where somebody else has some.

    Attributes:
        bases: first offset that there is.
        committed: offset and metadata.
    """

    ends: Sequence[int]
    bases: Sequence[int] | None = None
    committed: Mapping[int, tuple[int, str]] = field(default_factory=dict)


def _count_elsewhere(
    source: str, answers: _Answers, *, member: GroupMember | None
) -> dict[int, tuple[int, int]] | None:
    """Return partition -> (records that are in no book of ours, offset of the first of them); None to ask again."""
    found: dict[int, tuple[int, int]] = {}
    for number, end in enumerate(answers.ends):
        tracker = None if member is None else member.book.trackers.get((source, number))
        if tracker is not None:
            found[number] = (max(0, end - tracker.end), tracker.end)
        elif answers.bases is None:
            return None
        else:
            base, text = answers.committed.get(number, (0, ""))
            base = max(base, answers.bases[number])
            found[number] = (max(0, end - base - len(decode_progress(text).complete)), base)
    return found
