"""Where the brokers are, and the bounds of what this log holds in memory and waits for."""

from __future__ import annotations

from typing import Any

import msgspec

from gristmill.adapters.kafka.core.tiers import Ordering

__all__ = ["KafkaSettings"]


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach Kafka and how to use it.

    Attributes:
        brokers: `host:port`, several with commas between them.
        prefix: in front of every topic and group, so that installations can share a cluster.
        partition_count: of topics that spring up here. One partition keeps the order of the whole topic.
        replication_factor: of topics that spring up here; 3 on a cluster.
        retention_ms: how long topics that spring up here keep records; at least four times the longest outage that
            a group may have. -1 keeps all.
        retentions_ms: topic -> the same for topics that are to lose records earlier.
        ordering: `key` hands out one record of a key at a time, in order; retries wait in place then.
        tiers_ms: delays of the retry topics.
        crash_guard: count a start at the broker before the record is handed out, so that a record which kills whoever
            works on it is given up. Costs one commit a claim.
        fetched_max: records of one partition that are fetched and not done with; the partition pauses above it.
        fetched_bytes_max: values of all fresh records of a group that are kept in memory.
        drain_ms: how long running work may end when a partition moves to another process.
        timeout_ms: longest wait for an answer of the brokers.
        session_timeout_ms: after which a silent process loses its partitions.
        poll_interval_ms_max: after which a process that does not poll loses them; polling never waits for work.
        settle_ms: how long a claim waits for what this very log has appended, and for its first assignment. 0 takes
            what has come in; above 0 is for tests that append and claim at once.
        makes_topics: create topics; off leaves that to the brokers.
        foreign: topics that somebody else makes and writes: read under their own names, never written or trimmed.
        client: further settings of librdkafka, such as those of TLS and SASL.
    """

    brokers: str
    prefix: str = ""
    partition_count: int = 4
    replication_factor: int = 1
    retention_ms: int = 7 * 24 * 3_600_000
    retentions_ms: dict[str, int] = {}
    ordering: Ordering = "none"
    tiers_ms: tuple[int, ...] = (5_000, 60_000, 600_000)
    crash_guard: bool = True
    fetched_max: int = 8_000
    fetched_bytes_max: int = 64 * 1024 * 1024
    drain_ms: int = 10_000
    timeout_ms: int = 15_000
    session_timeout_ms: int = 30_000
    poll_interval_ms_max: int = 300_000
    settle_ms: int = 0
    makes_topics: bool = True
    foreign: frozenset[str] = frozenset()
    client: dict[str, Any] = {}
