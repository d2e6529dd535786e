"""Topics: which there are, how they are made, where they begin and end; and whether the brokers suit us at start-up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import structlog
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from gristmill.adapters.kafka.core.naming import PARTITIONS_MAX
from gristmill.adapters.kafka.producing import PASSING, REQUEST_BYTES_MAX, client_config, translate
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.errors import ConfigError, Unavailable

__all__ = ["TopicAdmin"]

TRIES_MAX = 40
RETRY_S = 0.1
"""How often and after what pause a question about a partition is asked again (4 s in all)."""

T = TypeVar("T")

_log = structlog.get_logger()


class TopicAdmin:
    """Asks and tells the brokers about topics; every call may raise `Unavailable`."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._timeout_s = settings.timeout_ms / 1_000
        self._known: dict[str, int] = {}

    @cached_property
    def _client(self) -> AdminClient:
        return AdminClient(client_config(self._settings))

    async def topics(self) -> dict[str, int]:
        """Return the number of partitions of every Kafka topic."""
        found = await self._call(lambda: self._client.list_topics(timeout=self._timeout_s), "topics cannot be listed")
        self._known = {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}
        return self._known

    async def partitions_of(self, topic: str) -> int:
        """Return the number of partitions of a Kafka topic, 0 if there is none; looks once it is asked for."""
        if topic not in self._known:
            await self.topics()
        return self._known.get(topic, 0)

    async def make(self, names: Sequence[str], *, partition_count: int, config: Mapping[str, str]) -> None:
        """Make the topics that are not there yet.

        Raises:
            ConfigError: the brokers refuse; the text says why.
        """
        if not self._settings.makes_topics or all(name in self._known for name in names):
            return
        known = await self.topics()
        missing = [name for name in names if name not in known]
        if not missing:
            return
        wanted = [
            NewTopic(name, partition_count, self._settings.replication_factor, config=dict(config)) for name in missing
        ]
        made = self._client.create_topics(wanted, request_timeout=self._timeout_s)
        for name, future in made.items():
            try:
                await asyncio.wrap_future(future)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                if error.args[0].code() in (KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.POLICY_VIOLATION):
                    raise ConfigError(
                        f"topic {name!r} cannot be made",
                        value=error.args[0].str(),
                        advice="set replication_factor to what the brokers can hold, or make the topic yourself",
                    ) from error
                raise translate(error, f"topic {name!r} cannot be made") from error
        for name in missing:
            self._known.setdefault(name, partition_count)

    async def make_topic(self, name: str) -> None:
        """Make a topic of records."""
        config = {"retention.ms": str(self._settings.retention_ms), "max.message.bytes": str(REQUEST_BYTES_MAX)}
        await self.make([name], partition_count=self._settings.partition_count, config=config)

    async def make_retries(self, names: Sequence[str]) -> None:
        """Make the retry topics of a group."""
        config = {"retention.ms": str(self._settings.retention_ms), "max.message.bytes": str(REQUEST_BYTES_MAX)}
        await self.make(names, partition_count=1, config=config)

    async def make_dead(self, name: str) -> None:
        """Make the compacted topic of dead letters; one partition, so that its offsets number them."""
        config = {"cleanup.policy": "compact", "max.message.bytes": str(REQUEST_BYTES_MAX)}
        await self.make([name], partition_count=1, config=config)

    async def ends(self, topic: str) -> list[int]:
        """Return the next offset of every partition."""
        return await self._offsets(topic, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    async def beginnings(self, topic: str) -> list[int]:
        """Return the first offset of every partition that is still there."""
        return await self._offsets(topic, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    async def _offsets(self, topic: str, spec: OffsetSpec) -> list[int]:
        count = await self.partitions_of(topic)
        if not count:
            return []
        asked = {TopicPartition(topic, number): spec for number in range(count)}
        for _ in range(TRIES_MAX):
            answers = self._client.list_offsets(asked, request_timeout=self._timeout_s)
            try:
                return [(await asyncio.wrap_future(answers[one])).offset for one in asked]
            except KafkaException as error:
                if error.args[0].code() not in PASSING:
                    raise translate(error, f"offsets of topic {topic!r}") from error
            # A topic that was just made has no leader for a moment.
            await asyncio.sleep(RETRY_S)
        raise Unavailable(f"topic {topic!r} has no leader", advice="check the brokers")

    async def committed(self, kafka_group: str, topic: str) -> dict[int, tuple[int, str]]:
        """Return offset and text that a group has committed for each partition of a topic that it has read."""
        partitions = [TopicPartition(topic, number) for number in range(await self.partitions_of(topic))]
        if not partitions:
            return {}
        asked = [ConsumerGroupTopicPartitions(kafka_group, partitions)]
        try:
            answers = self._client.list_consumer_group_offsets(asked, request_timeout=self._timeout_s)
            found = await self._wait(answers[kafka_group], f"progress of group {kafka_group!r}")
        except Unavailable as error:
            if "GROUP_ID_NOT_FOUND" in str(error):
                return {}
            raise
        return {
            one.partition: (one.offset, one.metadata or "") for one in found.topic_partitions or [] if one.offset >= 0
        }

    async def groups(self, *, ending: str) -> list[str]:
        """Return the Kafka consumer groups of this prefix whose name ends so."""
        listing = self._client.list_consumer_groups(request_timeout=self._timeout_s)
        found = await self._wait(listing, "groups cannot be listed")
        names = [one.group_id for one in found.valid]
        return [name for name in names if name.startswith(self._settings.prefix) and name.endswith(ending)]

    async def delete_before(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Delete what lies below these offsets."""
        asked = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
        for future in self._client.delete_records(asked, request_timeout=self._timeout_s).values():
            await self._wait(future, f"topic {topic!r} cannot be trimmed")

    async def check(self) -> list[str]:
        """Look whether the brokers suit us and return what does not but can be lived with.

        Raises:
            ConfigError: topics would have more partitions than offsets can tell apart.
            Unavailable: no broker answers.
        """
        if not 1 <= self._settings.partition_count <= PARTITIONS_MAX:
            raise ConfigError(
                "partition_count", value=self._settings.partition_count, advice=f"choose 1..{PARTITIONS_MAX}"
            )
        found = await self._call(lambda: self._client.list_topics(timeout=self._timeout_s), "no broker answers")
        warnings: list[str] = []
        if len(found.brokers) >= 3 and self._settings.replication_factor < 3:
            warnings.append("replication_factor is below 3: what is acknowledged can be lost with a broker")
        broker = next(iter(found.brokers))
        config = await self._describe(ResourceType.BROKER, str(broker))
        if int(config.get("message.max.bytes", REQUEST_BYTES_MAX)) < REQUEST_BYTES_MAX:
            warnings.append(f"message.max.bytes of broker {broker} is below {REQUEST_BYTES_MAX}: some may fail")
        if self._settings.replication_factor > 1 and int(config.get("min.insync.replicas", 1)) < 2:
            warnings.append("min.insync.replicas is 1: an acknowledged record may be on one broker alone")
        return warnings

    async def check_topic(self, topic: str) -> None:
        """Refuse a topic of records that the brokers compact.

        Raises:
            ConfigError: records of one key would vanish before they are read.
        """
        if "compact" in (await self._describe(ResourceType.TOPIC, topic)).get("cleanup.policy", ""):
            raise ConfigError(f"topic {topic!r} is compacted", advice="set its cleanup.policy to delete")

    async def _describe(self, kind: ResourceType, name: str) -> dict[str, str]:
        resource = ConfigResource(kind, name)
        answers = self._client.describe_configs([resource], request_timeout=self._timeout_s)
        found = await self._wait(answers[resource], f"settings of {name!r} cannot be read")
        return {key: entry.value for key, entry in found.items() if entry.value is not None}

    async def _wait(self, future: Any, thing: str) -> Any:
        try:
            return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise translate(error, thing) from error

    async def _call(self, call: Callable[[], T], thing: str) -> T:
        try:
            return await asyncio.to_thread(call)
        except KafkaException as error:
            raise translate(error, thing) from error
