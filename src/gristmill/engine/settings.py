"""Bounds of Dispatcher and Engine, each with its unit and its reason."""

from __future__ import annotations

import msgspec

from gristmill.engine.core.recovery import RecoveryPolicy
from gristmill.plans.plan import Generator

__all__ = ["DispatcherSettings", "EngineSettings", "is_recovery_topic", "recovery_topic_of", "topics_of"]

RECOVERY_END = ".recovery"


class DispatcherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much is under way, and for how long.

    Attributes:
        max_in_flight: records under way at once. 3 suits flows that call models; fast flows use 512.
        frame_records_max: records that go to an engine at once; one frame is about one commit.
        frame_bytes_max: payload of one frame; a larger record travels alone.
        lease_ms: renewed every third of it, so two beats may fail before a record is lost.
        task_timeout_ms: the engines' time-out of a run; a minute past it a record counts as lost.
        monitor_interval_ms: between two looks for lost records and dead owners.
        deliveries_max: deliveries of one record that count, process deaths included; after them it is given up.
        recovery: how failed records come again.
    """

    max_in_flight: int = 3
    frame_records_max: int = 128
    frame_bytes_max: int = 4 * 1024 * 1024
    lease_ms: int = 30_000
    task_timeout_ms: int = 900_000
    monitor_interval_ms: int = 15_000
    deliveries_max: int = 3
    recovery: RecoveryPolicy = RecoveryPolicy()


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much one engine does at once.

    Attributes:
        capacity: records that it takes from the dispatcher at once, waiting ones included.
        max_concurrency: records with asynchronous plans that are worked on at once.
        task_timeout_ms: longest time of one run.
        environment: what disable rules see.
    """

    capacity: int = 512
    max_concurrency: int = 64
    task_timeout_ms: int = 900_000
    environment: str = "dev"


def recovery_topic_of(generator: Generator) -> str:
    """Return the topic that holds the failed records of a generator until they are due again."""
    return f"{generator.type}{RECOVERY_END}"


def topics_of(generator: Generator) -> tuple[str, str]:
    """Return the topics that the group of a generator reads: its own, and the one where failed records wait."""
    return generator.topic, recovery_topic_of(generator)


def is_recovery_topic(topic: str) -> bool:
    """Whether the records of a topic have come in before, on another."""
    return topic.endswith(RECOVERY_END)
