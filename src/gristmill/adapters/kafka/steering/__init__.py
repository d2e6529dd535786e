"""Moves a group over its topic on Kafka, by what it has committed.

The brokers let nobody else commit for a group that has members, so it is moved while nobody claims for it. Records in
its retry topics stay there: they come when they are due.
"""

from __future__ import annotations

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.metadata import decode_progress
from gristmill.adapters.kafka.core.moving import count_move
from gristmill.adapters.kafka.core.naming import Names, unpack_offset
from gristmill.domain.log import NEVER_MS
from gristmill.domain.steering import SeekTo, Sought

__all__ = ["KafkaSeeking"]


class KafkaSeeking:
    """Seeks in the topics of one prefix."""

    def __init__(self, names: Names, admin: TopicAdmin) -> None:
        self._names = names
        self._admin = admin

    async def seek(self, topic: str, group: str, to: SeekTo, *, is_preview: bool) -> Sought:
        """Move a group, or count what that would do.

        Raises:
            UsageError: somebody claims for the group.
        """
        kafka_topic, kafka_group = self._names.topic(topic), self._names.group(topic, group)
        beginnings = await self._admin.beginnings(kafka_topic)
        targets = await self._targets(kafka_topic, to, beginnings)
        committed = await self._admin.committed(kafka_group, kafka_topic)
        again = skipped = 0
        for number, target in targets.items():
            base, text = committed.get(number, (beginnings[number], ""))
            complete = {base + index for index in decode_progress(text).complete}
            moved = count_move(base=base, complete=complete, low=beginnings[number], target=target)
            again, skipped = again + moved[0], skipped + moved[1]
        if not is_preview and targets:
            await self._admin.set_committed(kafka_group, kafka_topic, targets)
        return Sought(again, skipped, in_flight=0)

    async def _targets(self, kafka_topic: str, to: SeekTo, beginnings: list[int]) -> dict[int, int]:
        """Return partition -> the first offset that the group is to get."""
        ends = await self._admin.ends(kafka_topic)
        if to.offset:
            kafka_offset, number = unpack_offset(to.offset)
            return {number: min(max(kafka_offset, beginnings[number]), ends[number])} if number < len(ends) else {}
        if to.offset == 0:
            return dict(enumerate(beginnings))
        at_ms = to.at_ms or 0
        return dict(enumerate(ends if at_ms >= NEVER_MS else await self._admin.offsets_at(kafka_topic, at_ms)))
