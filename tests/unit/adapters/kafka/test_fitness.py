"""What brokers have to be before records are trusted to them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gristmill.adapters.kafka.core.fitness import BrokerFacts, TopicFacts, Wanted, judge_brokers
from gristmill.domain.upkeep.finding import Finding

REQUEST_BYTES = 9 * 1024 * 1024
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

WANTED = Wanted(
    prefix="gm.",
    partition_count=4,
    replication_factor=3,
    retention_ms=7 * DAY_MS,
    poll_interval_ms_max=300_000,
    client={},
    request_bytes=REQUEST_BYTES,
)
TOPIC = TopicFacts("gm.t", 3, 4, {"min.insync.replicas": "2", "retention.ms": "-1", "cleanup.policy": "delete"})
FIT = BrokerFacts(3, {"message.max.bytes": str(REQUEST_BYTES)}, (TOPIC,))


def judge(facts: BrokerFacts = FIT, wanted: Wanted = WANTED) -> list[Finding]:
    return judge_brokers(facts, wanted, outage_ms=DAY_MS)


def topic(**changes: Any) -> BrokerFacts:
    config = {**TOPIC.config, **changes.pop("config", {})}
    return msgspec.structs.replace(FIT, topics=(msgspec.structs.replace(TOPIC, config=config, **changes),))


def asking(**changes: Any) -> Wanted:
    return msgspec.structs.replace(WANTED, **changes)


def test_three_brokers_with_three_copies_two_in_sync_are_ok_in_all() -> None:
    assert {finding.verdict for finding in judge()} == {"ok"}


@pytest.mark.parametrize(
    ("facts", "wanted", "check", "says"),
    [
        (FIT, asking(replication_factor=1), "kafka replicas", "log.replicas = 3"),
        (FIT, asking(replication_factor=4), "kafka replicas", "log.replicas to 3"),
        (topic(copies=1), WANTED, "kafka replicas", "reassign"),
        (topic(config={"min.insync.replicas": "1"}), WANTED, "kafka min.insync.replicas", "= 2"),
        (topic(config={"cleanup.policy": "compact"}), WANTED, "kafka cleanup.policy", "delete"),
        (topic(partitions=1_025), WANTED, "kafka partitions", "1024"),
        (FIT, asking(partition_count=1_025), "kafka partitions", "1024"),
        (FIT, asking(partition_count=0), "kafka partitions", "1024"),
    ],
)
def test_a_cluster_that_loses_what_it_has_acknowledged_is_refused_first_of_all(
    facts: BrokerFacts, wanted: Wanted, check: str, says: str
) -> None:
    worst = judge(facts, wanted)[0]
    assert (worst.check, worst.verdict) == (check, "refused")
    assert says in worst.advice


@pytest.mark.parametrize(
    ("facts", "wanted", "check", "found"),
    [
        (msgspec.structs.replace(FIT, config={"message.max.bytes": "1048588"}), WANTED, "max.bytes", "1048588"),
        (msgspec.structs.replace(FIT, config={}), WANTED, "message.max.bytes", "unknown"),
        (topic(config={"retention.ms": str(95 * HOUR_MS)}), WANTED, "kafka retention", "95 h in gm.t"),
        (FIT, asking(retention_ms=HOUR_MS), "kafka retention", "1 h in topics to be made"),
        (FIT, asking(client={"acks": "1"}), "kafka acks", "acks=1"),
        (FIT, asking(client={"max.poll.interval.ms": "6000"}), "kafka poll interval", "6 s"),
        (msgspec.structs.replace(FIT, ahead_ms=9_000), WANTED, "kafka timestamps", "9000 ms"),
        (BrokerFacts(1, FIT.config), asking(replication_factor=1), "kafka replicas", "1 on 1 broker"),
        (BrokerFacts(2, FIT.config), asking(replication_factor=2), "kafka replicas", "2 on 2 brokers"),
    ],
)
def test_what_has_a_price_is_warned_about(facts: BrokerFacts, wanted: Wanted, check: str, found: str) -> None:
    [worst] = [finding for finding in judge(facts, wanted) if finding.verdict != "ok"]
    assert worst.verdict == "warning"
    assert check in worst.check
    assert found in worst.found
    assert worst.advice


def test_dead_letters_may_be_compacted_and_kept_for_good() -> None:
    facts = topic(name="gm.dead-letters", config={"cleanup.policy": "compact", "retention.ms": "1"})
    assert {finding.verdict for finding in judge(facts)} == {"ok"}


@pytest.mark.parametrize(
    ("changes", "verdict", "found"),
    [
        ({}, "ok", "4 partitions"),
        ({"config": {"cleanup.policy": "compact"}}, "warning", "compacted"),
        ({"copies": 0, "partitions": 0, "config": {}}, "warning", "not there"),
    ],
)
def test_topics_of_others_are_told_of_and_never_refused(changes: dict[str, Any], verdict: str, found: str) -> None:
    facts = topic(name="raw.news", is_foreign=True, **{"copies": 1, **changes})
    told = [finding for finding in judge(facts) if finding.check == "kafka topic raw.news"]
    assert [(one.verdict, one.found) for one in told] == [(verdict, found)]
    assert "refused" not in {finding.verdict for finding in judge(facts)}


def test_of_many_topics_only_some_are_named() -> None:
    topics = tuple(msgspec.structs.replace(TOPIC, name=f"gm.t{number}", copies=1) for number in range(8))
    assert judge(msgspec.structs.replace(FIT, topics=topics))[0].found == (
        "fewer than 3 in gm.t0, gm.t1, gm.t2, gm.t3, gm.t4 and 3 more"
    )
