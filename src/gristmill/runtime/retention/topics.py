"""What `[log.topics]` declares, checked: which topics may lose records, and how many."""

from __future__ import annotations

from gristmill.domain.errors import ConfigError
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.engine.settings import is_recovery_topic
from gristmill.intake.publish import NATIVE
from gristmill.runtime.batch.naming import TOPIC_START
from gristmill.runtime.settings_log import LogSection, TopicRetention

__all__ = ["read_lossy"]

INTAKE_TOPICS = (NATIVE, "item.published", "profile.updated", "item.feedback")
"""What is published there exists nowhere else until somebody has consumed it."""


def read_lossy(section: LogSection) -> dict[str, LossyRule]:
    """Return the lossy topics; all others keep their records until every group is done with them.

    Raises:
        ConfigError: a bound is missing or makes no sense, or the topic may lose nothing.
    """
    lossy: dict[str, LossyRule] = {}
    for topic, declared in section.topics.items():
        if declared.retention == "lossy":
            lossy[topic] = _read_rule(topic, declared, backend=section.backend)
        elif declared.max_entries is not None or declared.max_age_s is not None:
            advice = 'a bound deletes records that nobody has read: say so with retention = "lossy"'
            raise ConfigError(f"log.topics.{topic!r} has a bound and is not lossy", advice=advice)
    return lossy


def _read_rule(topic: str, declared: TopicRetention, *, backend: str) -> LossyRule:
    if topic in INTAKE_TOPICS or is_recovery_topic(topic) or topic.startswith(TOPIC_START):
        advice = "what comes in there exists nowhere else: leave it until_consumed"
        raise ConfigError(f"log.topics.{topic!r} cannot be lossy", advice=advice)
    if declared.max_entries is None and declared.max_age_s is None:
        raise ConfigError(f"log.topics.{topic!r} is lossy without a bound", advice="set max_entries or max_age_s")
    if backend == "kafka" and declared.max_entries is not None:
        advice = "brokers count no records: set max_age_s, or retention.bytes of the topic at the brokers"
        raise ConfigError(f"log.topics.{topic!r}.max_entries on Kafka", value=declared.max_entries, advice=advice)
    return LossyRule(max_entries=declared.max_entries or 0, max_age_ms=round((declared.max_age_s or 0) * 1000))
