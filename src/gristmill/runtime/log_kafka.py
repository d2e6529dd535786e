"""A log on Kafka over the state of a folder; see `log_apart` for what the two have to do with each other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gristmill.adapters.clock import SystemClock
from gristmill.domain.errors import ConfigError
from gristmill.domain.upkeep.finding import Finding
from gristmill.ports.clock import Clock
from gristmill.runtime.log_apart import ApartStore, read_foreign
from gristmill.runtime.retention.topics import read_lossy
from gristmill.runtime.settings_log import LogSection
from gristmill.runtime.spec import GroupSpec

if TYPE_CHECKING:
    from gristmill.adapters.kafka import KafkaSettings

__all__ = ["check_brokers", "examine_brokers", "open_kafka", "retention_ms_of"]

EXTRA = "pip install 'gristmill[kafka]'"


def open_kafka(spec: GroupSpec, clock: Clock, owner: str) -> ApartStore:
    """Open the state of a folder and a log on Kafka; the brokers are asked nothing yet.

    Raises:
        ConfigError: a setting is wrong, the extra is missing, or the file is no store of ours.
        Unavailable: the file cannot be opened.
    """
    settings = _settings_of(spec.settings.log)
    from gristmill.adapters.kafka import KafkaLog, KafkaOutlet
    from gristmill.adapters.sqlite import SqliteStore

    store = SqliteStore.open(
        spec.folder.store_file,
        clock=clock,
        owner=owner,
        synchronous=spec.settings.store.synchronous,
        is_log_apart=True,
    )
    log = KafkaLog(settings, clock, origins=store.origins)
    return ApartStore(store, log, KafkaOutlet(log))


async def check_brokers(section: LogSection) -> None:
    """Look whether the brokers are ones that a log can live on; what can be lived with is logged.

    Raises:
        ConfigError: they are not.
        Unavailable: none answers.
    """
    settings = _settings_of(section)
    from gristmill.adapters.kafka import KafkaLog

    log = KafkaLog(settings, SystemClock())
    try:
        await log.start()
    finally:
        await asyncio.shield(log.close())


async def examine_brokers(section: LogSection, *, outage_ms: int) -> list[Finding]:
    """Return all that there is to say about the brokers.

    Args:
        outage_ms: the longest time for which a group may stand still.
    Raises:
        ConfigError: a setting is wrong, or the extra is missing.
        Unavailable: none answers.
    """
    settings = _settings_of(section)
    from gristmill.adapters.kafka import KafkaLog

    log = KafkaLog(settings, SystemClock())
    try:
        return await log.examine(outage_ms=outage_ms)
    finally:
        await asyncio.shield(log.close())


def _settings_of(section: LogSection) -> KafkaSettings:
    try:
        from gristmill.adapters.kafka import KafkaSettings
    except ModuleNotFoundError as error:
        raise ConfigError("log.backend", value="kafka", advice=f"the client is not installed: {EXTRA}") from error
    client = _read_client(section.client)
    if section.password:
        client["sasl.password"] = section.password
    if section.ca_file:
        client["ssl.ca.location"] = section.ca_file
    return KafkaSettings(
        brokers=section.brokers,
        prefix=section.topic_prefix,
        partition_count=section.partitions,
        replication_factor=section.replicas,
        client=client,
        foreign=_read_foreign(section.foreign),
        retentions_ms={topic: rule.max_age_ms for topic, rule in read_lossy(section).items()},
    )


def retention_ms_of(section: LogSection, topic: str) -> int:
    """Return after what age brokers delete the records of a topic that was made here, read or not."""
    settings = _settings_of(section)
    return settings.retentions_ms.get(topic, settings.retention_ms)


def _read_foreign(entries: Sequence[str]) -> frozenset[str]:
    foreign = read_foreign(entries)
    for topic, field in foreign.items():
        if field:
            advice = "a record of Kafka has no fields: write the topic alone"
            raise ConfigError("log.foreign", value=f"{topic}={field}", advice=advice)
    return frozenset(foreign)


def _read_client(entries: Sequence[str]) -> dict[str, str]:
    client: dict[str, str] = {}
    for entry in entries:
        name, sign, value = entry.partition("=")
        if not name or not sign:
            raise ConfigError("log.client", value=entry, advice="write NAME=VALUE, as in security.protocol=ssl")
        client[name] = value
    return client
