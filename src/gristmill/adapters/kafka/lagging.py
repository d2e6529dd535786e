"""How far a group is behind, as a member knows it or as anybody can find out from what is committed."""

from __future__ import annotations

from collections.abc import Mapping

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.metadata import decode_progress
from gristmill.adapters.kafka.core.naming import Names
from gristmill.adapters.kafka.member import GroupMember
from gristmill.adapters.kafka.reading import TopicReader
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.log import Lag

__all__ = ["measure_lag"]


async def measure_lag(
    topic: str,
    group: str,
    *,
    member: GroupMember | None,
    settings: KafkaSettings,
    names: Names,
    admin: TopicAdmin,
    dead: int,
    now_ms: int,
) -> Lag:
    """Return the lag of a group over all partitions: exact for ours, from committed progress for those of others.

    What others have in flight shows as undelivered, since only the other process knows.
    """
    kafka_topic = names.topic(topic)
    ends = {kafka_topic: await admin.ends(kafka_topic)}
    for retry in names.retries(topic, group, tiers_ms=settings.tiers_ms):
        ends[retry] = await admin.ends(retry)
    undelivered, in_flight, waiting, oldest_ms = (0, 0, 0, 0) if member is None else member.book.tally(now_ms=now_ms)
    kafka_group = names.group(topic, group)
    for source, source_ends in ends.items():
        open_at = await _open_elsewhere(source, source_ends, member=member, admin=admin, kafka_group=kafka_group)
        left = sum(count for count, _ in open_at.values())
        if source == kafka_topic:
            undelivered += left
            foreign = {number: base for number, (count, base) in open_at.items() if count and base >= 0}
            if foreign and not oldest_ms:
                oldest_ms = await _oldest_ms(source, foreign, settings)
        else:
            waiting += left
    age_ms = max(0, now_ms - oldest_ms) if oldest_ms else 0
    lost = member.lost_count if member is not None else 0
    return Lag(undelivered, in_flight, waiting, oldest_age_ms=age_ms, dead=dead, lost=lost)


async def _open_elsewhere(
    source: str, ends: list[int], *, member: GroupMember | None, admin: TopicAdmin, kafka_group: str
) -> dict[int, tuple[int, int]]:
    """Return partition -> (records that are in no book of ours, offset of the first of them)."""
    ours = {} if member is None else member.book.trackers
    found: dict[int, tuple[int, int]] = {}
    committed: Mapping[int, tuple[int, str]] = {}
    if any((source, number) not in ours for number in range(len(ends))):
        committed = await admin.committed(kafka_group, source)
    beginnings = await admin.beginnings(source) if len(committed) < len(ends) else []
    for number, end in enumerate(ends):
        if (tracker := ours.get((source, number))) is not None:
            found[number] = (max(0, end - tracker.end), tracker.end)
            continue
        base, text = committed.get(number, (beginnings[number] if beginnings else 0, ""))
        found[number] = (max(0, end - base - len(decode_progress(text).complete)), base)
    return found


async def _oldest_ms(source: str, bases: Mapping[int, int], settings: KafkaSettings) -> int:
    """Return when the oldest of the records at these places was appended, UTC epoch."""
    reader = TopicReader(settings)
    try:
        ends = {number: base + 1 for number, base in bases.items()}
        times = [
            message.timestamp()[1]
            async for messages in reader.read(source, starts=bases, ends=ends)
            for message in messages
        ]
    finally:
        await reader.close()
    return min(times, default=0)
