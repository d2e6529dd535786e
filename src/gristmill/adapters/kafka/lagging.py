"""How far a group is behind, as a member knows it or as anybody can find out from what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.metadata import decode_progress
from gristmill.adapters.kafka.core.naming import Names
from gristmill.adapters.kafka.member import GroupMember
from gristmill.adapters.kafka.reading import TopicReader
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.log import Lag

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
        tally = (0, 0, 0, 0) if member is None else member.book.tally(now_ms=now_ms)
        undelivered, in_flight, waiting, oldest_ms = tally
        for source in sources:
            open_at = await self._open_elsewhere(source, member=member, kafka_group=self._names.group(topic, group))
            left = sum(count for count, _ in open_at.values())
            if source != kafka_topic:
                waiting += left
                continue
            undelivered += left
            bases = {number: base for number, (count, base) in open_at.items() if count}
            if bases and not oldest_ms:
                oldest_ms = await self._oldest_ms(source, bases)
        age_ms = max(0, now_ms - oldest_ms) if oldest_ms else 0
        lost = member.lost_count if member is not None else 0
        return Lag(undelivered, in_flight, waiting, oldest_age_ms=age_ms, dead=dead, lost=lost)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._reader.close()

    async def _open_elsewhere(
        self, source: str, *, member: GroupMember | None, kafka_group: str
    ) -> dict[int, tuple[int, int]]:
        """Return partition -> (records that are in no book of ours, offset of the first of them)."""
        ends = await self._admin.ends(source)
        ours = {} if member is None else member.book.trackers
        committed: Mapping[int, tuple[int, str]] = {}
        beginnings: list[int] = []
        if any((source, number) not in ours for number in range(len(ends))):
            committed = await self._admin.committed(kafka_group, source)
            beginnings = await self._admin.beginnings(source)
        found: dict[int, tuple[int, int]] = {}
        for number, end in enumerate(ends):
            if (tracker := ours.get((source, number))) is not None:
                found[number] = (max(0, end - tracker.end), tracker.end)
                continue
            base, text = committed.get(number, (0, ""))
            base = max(base, beginnings[number])
            found[number] = (max(0, end - base - len(decode_progress(text).complete)), base)
        return found

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
