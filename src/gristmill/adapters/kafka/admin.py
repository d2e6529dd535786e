"""Topics: which there are, how they are made, where they begin and end; and whether the brokers suit us at start-up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from gristmill.adapters.kafka.core.fitness import (
    COPIES_MIN,
    IN_SYNC_MIN,
    BrokerFacts,
    TopicFacts,
    Wanted,
    judge_brokers,
)
from gristmill.adapters.kafka.producing import PASSING, REQUEST_BYTES_MAX, client_config, translate
from gristmill.adapters.kafka.reading import ProgressReader
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.errors import ConfigError, Unavailable, UsageError
from gristmill.domain.upkeep.finding import Finding

__all__ = ["TopicAdmin"]

TRIES_MAX = 40
RETRY_S = 0.1
"""How often and after what pause a question about a partition is asked again (4 s in all)."""

OUTDATED = (KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH)
"""Codes of a broker that leads again after it was away. By itself the client goes on asking as before for minutes."""

HAS_MEMBERS = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP)
"""Codes with which a broker refuses to move a group that somebody claims for."""

T = TypeVar("T")


class TopicAdmin:
    """Asks and tells the brokers about topics; every call may raise `Unavailable`."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._timeout_s = settings.timeout_ms / 1_000
        self._known: dict[str, int] = {}
        self._progress = ProgressReader(settings)

    async def close(self) -> None:
        """Let go of connections."""
        await self._progress.close()

    @cached_property
    def _client(self) -> AdminClient:
        return AdminClient(client_config(self._settings))

    async def topics(self, *, within_s: float | None = None) -> dict[str, int]:
        """Return the number of partitions of every Kafka topic; an answer is waited for as long as for any other."""
        timeout_s = self._timeout_s if within_s is None else within_s
        found = await self._call(lambda: self._client.list_topics(timeout=timeout_s), "topics cannot be listed")
        self._known = {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}
        return self._known

    async def partitions_of(self, topic: str, *, within_s: float | None = None) -> int:
        """Return the number of partitions of a Kafka topic, 0 if there is none; looks once it is asked for."""
        if topic not in self._known:
            await self.topics(within_s=within_s)
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
        copies = self._settings.replication_factor
        config = {**config, "max.message.bytes": str(REQUEST_BYTES_MAX)}
        if copies >= COPIES_MIN:
            config["min.insync.replicas"] = str(IN_SYNC_MIN)
        wanted = [NewTopic(name, partition_count, copies, config=config) for name in missing]
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
        settings = self._settings
        retention_ms = settings.retentions_ms.get(name.removeprefix(settings.prefix), settings.retention_ms)
        config = {"retention.ms": str(retention_ms)}
        await self.make([name], partition_count=self._settings.partition_count, config=config)

    async def make_retries(self, names: Sequence[str]) -> None:
        """Make the retry topics of a group."""
        config = {"retention.ms": str(self._settings.retention_ms)}
        await self.make(names, partition_count=1, config=config)

    async def make_dead(self, name: str) -> None:
        """Make the compacted topic of dead letters; one partition, so that its offsets number them."""
        config = {"cleanup.policy": "compact"}
        await self.make([name], partition_count=1, config=config)

    async def ends(self, topic: str) -> list[int]:
        """Return the next offset of every partition."""
        return await self._offsets(topic, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    async def beginnings(self, topic: str) -> list[int]:
        """Return the first offset of every partition that is still there."""
        return await self._offsets(topic, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    async def offsets_at(self, topic: str, at_ms: int) -> list[int]:
        """Return the first offset of every partition written at a time or later; the next one where there is none."""
        found = await self._offsets(topic, OffsetSpec.for_timestamp(at_ms))
        ends = await self.ends(topic)
        return [offset if offset >= 0 else ends[number] for number, offset in enumerate(found)]

    async def set_committed(self, kafka_group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Have a group that nobody is a member of go on at these offsets.

        Raises:
            UsageError: the group has members.
        """
        places = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
        asked = [ConsumerGroupTopicPartitions(kafka_group, places)]
        altered = self._client.alter_consumer_group_offsets(asked, request_timeout=self._timeout_s)
        try:
            answer = await asyncio.wrap_future(altered[kafka_group])
            refused = next((one.error for one in answer.topic_partitions or [] if one.error is not None), None)
        except KafkaException as error:
            refused = error.args[0]
        if refused is None:
            return
        if refused.code() in HAS_MEMBERS:
            advice = "a Kafka group can be moved while it has no member: stop every `gristmill up` that serves it first"
            raise UsageError(f"group {kafka_group!r} has members", value=refused.name(), advice=advice)
        raise translate(KafkaException(refused), f"group {kafka_group!r} cannot be moved")

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
                code = error.args[0].code()
                if code in OUTDATED:
                    await self.topics()  # What the client knows of the leader is renewed with it.
                elif code not in PASSING:
                    raise translate(error, f"offsets of topic {topic!r}") from error
            # A topic that was just made has no leader for a moment.
            await asyncio.sleep(RETRY_S)
        raise Unavailable(f"topic {topic!r} has no leader", advice="check the brokers")

    async def committed(self, kafka_group: str, topic: str) -> dict[int, tuple[int, str]]:
        """Return offset and text that a group has committed for each partition of a topic that it has read."""
        partitions = [TopicPartition(topic, number) for number in range(await self.partitions_of(topic))]
        if not partitions:
            return {}
        found = await self._progress.read(kafka_group, partitions)
        return {one.partition: (one.offset, one.metadata or "") for one in found if one.offset >= 0}

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

    async def examine(self, *, outage_ms: int, now_ms: int) -> list[Finding]:
        """Return all that there is to say about whether a log can live on these brokers, the worst first.

        Args:
            outage_ms: the longest time for which a group may stand still.
        Raises:
            Unavailable: no broker answers.
        """
        thing = f"no broker answers at {self._settings.brokers}"
        found = await self._call(lambda: self._client.list_topics(timeout=self._timeout_s), thing)
        foreign, prefix = self._settings.foreign, self._settings.prefix
        ours = {name: one for name, one in found.topics.items() if name.startswith(prefix) or name in foreign}
        config = await self._describe_all(ResourceType.TOPIC, list(ours))
        topics = [
            TopicFacts(
                name,
                min((len(part.replicas) for part in one.partitions.values()), default=0),
                len(one.partitions),
                config[name],
                name in foreign,
            )
            for name, one in ours.items()
        ]
        topics += [TopicFacts(name, 0, 0, {}, is_foreign=True) for name in sorted(foreign - ours.keys())]
        broker = str(next(iter(found.brokers)))
        facts = BrokerFacts(
            len(found.brokers),
            (await self._describe_all(ResourceType.BROKER, [broker]))[broker],
            tuple(topics),
            await self._newest_ms({name: len(one.partitions) for name, one in ours.items()}) - now_ms,
        )
        return judge_brokers(facts, _wanted_of(self._settings), outage_ms=outage_ms)

    async def _describe_all(self, kind: ResourceType, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return settings by name; none of what this user may not read or what the brokers do not tell."""
        resources = {name: ConfigResource(kind, name) for name in names}
        if not resources:
            return {}
        answers = self._client.describe_configs(list(resources.values()), request_timeout=self._timeout_s)
        described: dict[str, dict[str, str]] = {}
        for name, resource in resources.items():
            try:
                found = await asyncio.wrap_future(answers[resource])
            except KafkaException:
                found = {}
            described[name] = {key: entry.value for key, entry in found.items() if entry.value is not None}
        return described

    async def _newest_ms(self, partitions: Mapping[str, int]) -> int:
        """Return the time of the newest record of these topics, 0 where there is none or the brokers do not tell."""
        spec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(name, number): spec for name, count in partitions.items() for number in range(count)}
        newest_ms = 0
        for future in self._client.list_offsets(asked, request_timeout=self._timeout_s).values() if asked else ():
            with suppress(KafkaException):
                newest_ms = max(newest_ms, (await asyncio.wrap_future(future)).timestamp)
        return newest_ms

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


def _wanted_of(settings: KafkaSettings) -> Wanted:
    return Wanted(
        prefix=settings.prefix,
        partition_count=settings.partition_count,
        replication_factor=settings.replication_factor,
        retention_ms=settings.retention_ms,
        poll_interval_ms_max=settings.poll_interval_ms_max,
        client=settings.client,
        request_bytes=REQUEST_BYTES_MAX,
    )
