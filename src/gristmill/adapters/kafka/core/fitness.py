"""Whether a log can live on these brokers, judged by what they say of themselves. Pure.

What is acknowledged is in memory of all replicas in sync: with three copies, two of them in sync, it survives the loss
of any broker. That is what `acks=all` is worth, so clusters that could hold three copies and do not are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gristmill.adapters.kafka.core.naming import PARTITIONS_MAX, Names
from gristmill.domain.upkeep.finding import Finding

__all__ = ["COPIES_MIN", "IN_SYNC_MIN", "BrokerFacts", "TopicFacts", "Wanted", "judge_brokers"]

COPIES_MIN = 3
IN_SYNC_MIN = 2
OUTAGES_MIN = 4
"""Retention has to cover so many times the longest outage of a group."""

HOUR_MS = 3_600_000
POLL_INTERVAL_MS_MIN = 60_000
NAMED_MAX = 5
SKEW_MS_MAX = 2_000


class TopicFacts(msgspec.Struct, frozen=True):
    """One topic: copies of its worst partition, partitions, and its settings as the brokers tell them."""

    name: str
    copies: int
    partitions: int
    config: Mapping[str, str]
    is_foreign: bool = False


class BrokerFacts(msgspec.Struct, frozen=True):
    """What brokers say of themselves.

    Attributes:
        config: settings of one of them; empty where this user may not read them.
        topics: those that we use.
        ahead_ms: how far the newest record lies in our future; 0 where it does not.
    """

    brokers: int
    config: Mapping[str, str]
    topics: tuple[TopicFacts, ...] = ()
    ahead_ms: int = 0


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What we ask of them; see `KafkaSettings`. `request_bytes` is the largest record that is ever written."""

    prefix: str
    partition_count: int
    replication_factor: int
    retention_ms: int
    poll_interval_ms_max: int
    client: Mapping[str, Any]
    request_bytes: int


def judge_brokers(facts: BrokerFacts, wanted: Wanted, *, outage_ms: int) -> list[Finding]:
    """Return what there is to say about brokers, the worst first.

    Args:
        outage_ms: the longest time for which a group may stand still.
    """
    findings = [
        _judge_partitions(facts, wanted),
        _judge_copies(facts, wanted),
        _judge_in_sync(facts),
        _judge_acks(wanted),
        _judge_size(facts, wanted.request_bytes),
        _judge_retention(facts, wanted, outage_ms),
        _judge_cleanup(facts, wanted),
        _judge_poll_interval(wanted),
        _judge_times(facts.ahead_ms),
        *_judge_foreign(facts),
    ]
    order = {"refused": 0, "warning": 1, "ok": 2}
    return sorted(findings, key=lambda finding: order[finding.verdict])


def _judge_partitions(facts: BrokerFacts, wanted: Wanted) -> Finding:
    if not 1 <= wanted.partition_count <= PARTITIONS_MAX:
        advice = f"set log.partitions to 1..{PARTITIONS_MAX}"
        return Finding("kafka partitions", "refused", str(wanted.partition_count), advice)
    wide = [topic.name for topic in facts.topics if topic.partitions > PARTITIONS_MAX]
    if wide:
        advice = f"{PARTITIONS_MAX} are the most that offsets can tell apart"
        return Finding("kafka partitions", "refused", f"too many in {_name(wide)}", advice)
    return Finding("kafka partitions", "ok", str(wanted.partition_count))


def _judge_copies(facts: BrokerFacts, wanted: Wanted) -> Finding:
    copies, brokers = wanted.replication_factor, facts.brokers
    found = f"{copies} on {brokers} broker{'s' if brokers > 1 else ''}"
    if copies > brokers:
        return Finding("kafka replicas", "refused", found, f"set log.replicas to {min(brokers, COPIES_MIN)}")
    if brokers >= COPIES_MIN:
        if copies < COPIES_MIN:
            advice = "set log.replicas = 3: with fewer, what is acknowledged can be lost with a broker"
            return Finding("kafka replicas", "refused", found, advice)
        few = [one.name for one in facts.topics if one.copies < COPIES_MIN and not one.is_foreign]
        if few:
            advice = "give these topics three copies (kafka-reassign-partitions), or use another log.topic_prefix"
            return Finding("kafka replicas", "refused", f"fewer than 3 in {_name(few)}", advice)
        return Finding("kafka replicas", "ok", found)
    advice = "fit for trying out alone: what is acknowledged can be lost with a broker; use three, and log.replicas = 3"
    return Finding("kafka replicas", "warning", found, advice)


def _judge_in_sync(facts: BrokerFacts) -> Finding:
    check = "kafka min.insync.replicas"
    if facts.brokers < COPIES_MIN:
        return Finding(check, "ok", "does not matter below three brokers")
    low = [
        topic.name
        for topic in facts.topics
        if not topic.is_foreign and int(topic.config.get("min.insync.replicas", IN_SYNC_MIN)) < IN_SYNC_MIN
    ]
    if low:
        advice = "set min.insync.replicas = 2 on them: an acknowledged record may be on one broker alone"
        return Finding(check, "refused", f"1 in {_name(low)}", advice)
    return Finding(check, "ok", str(IN_SYNC_MIN))


def _judge_acks(wanted: Wanted) -> Finding:
    given = [name for name in ("acks", "request.required.acks", "enable.idempotence") if name in wanted.client]
    if given:
        shown = ", ".join(f"{name}={wanted.client[name]}" for name in given)
        advice = "take it out of log.client: records are written with acks=all and idempotence, whatever stands there"
        return Finding("kafka acks", "warning", shown, advice)
    return Finding("kafka acks", "ok", "all")


def _judge_size(facts: BrokerFacts, request_bytes: int) -> Finding:
    found = facts.config.get("message.max.bytes")
    if found is None:
        advice = f"this user may not read it; see to it that it is {request_bytes} or more"
        return Finding("kafka message.max.bytes", "warning", "unknown", advice)
    if int(found) < request_bytes:
        advice = f"set it to {request_bytes} on all brokers, or large records fail"
        return Finding("kafka message.max.bytes", "warning", found, advice)
    return Finding("kafka message.max.bytes", "ok", found)


def _judge_retention(facts: BrokerFacts, wanted: Wanted, outage_ms: int) -> Finding:
    needed_ms = OUTAGES_MIN * outage_ms
    short = {
        topic.name: kept_ms
        for topic in facts.topics
        if "compact" not in topic.config.get("cleanup.policy", "")
        and 0 <= (kept_ms := int(topic.config.get("retention.ms", -1))) < needed_ms
    }
    if not short and 0 <= wanted.retention_ms < needed_ms:
        short = {"topics to be made": wanted.retention_ms}
    needed = f"{needed_ms / HOUR_MS:g} h"
    if short:
        found = f"{min(short.values()) / HOUR_MS:g} h in {_name(list(short))}"
        advice = f"set retention.ms to {needed} or more: four times the longest outage, or unread records are deleted"
        return Finding("kafka retention", "warning", found, advice)
    return Finding("kafka retention", "ok", f"{needed} or more")


def _judge_cleanup(facts: BrokerFacts, wanted: Wanted) -> Finding:
    kept = Names(wanted.prefix).dead
    compacted = [
        topic.name
        for topic in facts.topics
        if "compact" in topic.config.get("cleanup.policy", "") and topic.name != kept and not topic.is_foreign
    ]
    if compacted:
        advice = "set their cleanup.policy to delete: records of one key vanish before they are read"
        return Finding("kafka cleanup.policy", "refused", f"compact in {_name(compacted)}", advice)
    return Finding("kafka cleanup.policy", "ok", "delete")


def _judge_poll_interval(wanted: Wanted) -> Finding:
    interval_ms = int(wanted.client.get("max.poll.interval.ms", wanted.poll_interval_ms_max))
    found = f"{interval_ms / 1_000:g} s"
    if interval_ms < POLL_INTERVAL_MS_MIN:
        advice = "take max.poll.interval.ms out of log.client: a pause of the process would cost it its partitions"
        return Finding("kafka poll interval", "warning", found, advice)
    return Finding("kafka poll interval", "ok", found)


def _judge_times(ahead_ms: int) -> Finding:
    if ahead_ms > SKEW_MS_MAX:
        advice = "clocks of producers and of this host differ: set them by NTP, or delays and times of items are wrong"
        return Finding("kafka timestamps", "warning", f"newest record lies {ahead_ms} ms ahead", advice)
    return Finding("kafka timestamps", "ok", "not ahead of this host")


def _judge_foreign(facts: BrokerFacts) -> list[Finding]:
    findings: list[Finding] = []
    for topic in facts.topics:
        if not topic.is_foreign:
            continue
        check = f"kafka topic {topic.name}"
        if not topic.partitions:
            advice = "nothing comes from it until its owner makes it; see log.foreign"
            findings.append(Finding(check, "warning", "not there", advice))
        elif "compact" in topic.config.get("cleanup.policy", ""):
            advice = "it is compacted: of a key only the newest record may be seen, and empty ones go to the quarantine"
            findings.append(Finding(check, "warning", "compacted", advice))
        else:
            findings.append(Finding(check, "ok", f"{topic.partitions} partitions"))
    return findings


def _name(topics: list[str]) -> str:
    more = len(topics) - NAMED_MAX
    return ", ".join(sorted(topics)[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
