"""Names of Kafka topics and groups, and the whole numbers that stand for places in a topic.

<prefix><topic>                        the topic
<prefix><topic>.<group>.retry.<n>s     records of one group that come again after n seconds
<prefix>dead-letters                   records that were given up, of all groups
<prefix><group>.<topic>                the Kafka consumer group of a group on a topic

A topic that somebody else makes and writes keeps its own name; all that stands beside it is named as above.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gristmill.domain.errors import UsageError

__all__ = ["PARTITIONS_MAX", "Names", "first_after", "pack_offset", "unpack_offset"]

PARTITION_BITS = 10
PARTITIONS_MAX = 1 << PARTITION_BITS
"""Partitions of one topic that an offset of the port can tell apart; leaves 2^53 records for each."""

NAME_MAX = 249
_LEGAL = re.compile(r"[A-Za-z0-9._-]+")
_RETRY = re.compile(r"\.retry\.\d+s$")
_DEAD = "dead-letters"


def pack_offset(kafka_offset: int, partition: int) -> int:
    """Return one number that is unique in the topic, above 0, and grows within the partition."""
    return (kafka_offset + 1) << PARTITION_BITS | partition


def unpack_offset(offset: int) -> tuple[int, int]:
    """Return the Kafka offset and the partition."""
    return (offset >> PARTITION_BITS) - 1, offset & (PARTITIONS_MAX - 1)


def first_after(offset: int, partition: int) -> int:
    """Return the first Kafka offset of a partition whose packed offset is above this one."""
    kafka_offset, own = unpack_offset(offset)
    return max(0, kafka_offset + 1 if partition <= own else kafka_offset)


class Names:
    """The names that a log with this prefix uses.

    Args:
        foreign: topics that somebody else makes and writes.
    """

    def __init__(self, prefix: str, foreign: frozenset[str] = frozenset()) -> None:
        self._prefix = prefix
        self.foreign = foreign
        self.dead = f"{prefix}{_DEAD}"

    def topic(self, topic: str) -> str:
        """Return the Kafka topic.

        Raises:
            UsageError: Kafka does not take the name, or it is one that the log itself uses.
        """
        if topic in self.foreign:
            return _checked(topic)
        if _RETRY.search(topic) or topic == _DEAD:
            raise UsageError("topic name is taken by the log itself", value=topic, advice="choose another")
        return _checked(f"{self._prefix}{topic}")

    def retry(self, topic: str, group: str, *, tier_ms: int) -> str:
        """Return the Kafka topic of one group's records that come again after `tier_ms`."""
        return _checked(f"{self._prefix}{topic}.{group}.retry.{tier_ms // 1_000}s")

    def retries(self, topic: str, group: str, *, tiers_ms: Sequence[int]) -> list[str]:
        """Return the retry topics of a group, shortest delay first."""
        return [self.retry(topic, group, tier_ms=tier_ms) for tier_ms in tiers_ms]

    def group(self, topic: str, group: str) -> str:
        """Return the Kafka consumer group."""
        return _checked(f"{self._prefix}{group}.{topic}")

    def plain_topics(self, kafka_topics: Sequence[str]) -> list[str]:
        """Return the topics of the port among Kafka's, sorted."""
        ours = [name.removeprefix(self._prefix) for name in kafka_topics if name.startswith(self._prefix)]
        plain = {name for name in ours if name and name != _DEAD and not _RETRY.search(name) and name[0] != "_"}
        return sorted(plain.difference(self.foreign).union(self.foreign.intersection(kafka_topics)))

    def own_topic(self, topic: str) -> str:
        """Return the Kafka topic to write to.

        Raises:
            UsageError: somebody else writes it, or as in `topic`.
        """
        if topic in self.foreign:
            raise UsageError("topic that somebody else writes", value=topic, advice="take it out of log.foreign")
        return self.topic(topic)


def _checked(name: str) -> str:
    if not _LEGAL.fullmatch(name) or len(name) > NAME_MAX or name in (".", ".."):
        advice = f"use letters, digits, '.', '_' and '-', at most {NAME_MAX} characters with the prefix"
        raise UsageError("not a name that Kafka takes", value=name, advice=advice)
    return name
