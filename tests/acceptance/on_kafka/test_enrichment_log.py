"""Acceptance checks of the log on Kafka; all but the first need a broker."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.kafka import KafkaLog, KafkaSettings
from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.metadata import TEXT_MAX, Progress, decode_progress, encode_progress
from gristmill.adapters.kafka.core.tracker import WINDOW, OffsetTracker
from gristmill.domain.log import Delivery, NewRecord
from gristmill.testing.crash import numbered
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker
from tests.on_kafka.group import KafkaGroup

LEASE_MS = 60_000

POISONOUS_FLOW = """
import os
import signal

from gristmill import Flow, Item, Plan, task


@task
def touch(item: Item) -> None:
    if item.text == "poison":
        os.kill(os.getpid(), signal.SIGKILL)


flow = Flow("poisonous", plans=[Plan("poisonous", tasks=[touch])])
"""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


@pytest.fixture
def settings(brokers: str) -> KafkaSettings:
    return KafkaSettings(
        brokers=brokers,
        prefix=fresh_prefix(),
        partition_count=1,
        session_timeout_ms=6_000,
        settle_ms=30_000,
        drain_ms=0,
    )


async def claim(log: KafkaLog, *, group: str = "g") -> list[Delivery]:
    return await log.claim("t", group, owner="me", limit=100, lease_ms=LEASE_MS)


def values(deliveries: list[Delivery]) -> list[bytes]:
    return [one.value for one in deliveries]


def test_AC_EN_033_what_is_done_above_the_offset_fits_beside_it_in_every_pattern() -> None:
    chance = random.Random(33)
    patterns = [set(range(1, WINDOW)), set(range(1, WINDOW, 2)), {WINDOW - 1}, set()]
    patterns += [{index for index in range(WINDOW) if chance.random() < chance.random()} for _ in range(20)]
    patterns += [set(chance.sample(range(WINDOW), chance.randrange(200))) for _ in range(980)]
    for complete in patterns:
        text, left_out = encode_progress(Progress(complete))
        assert len(text) <= 1_700
        assert left_out == 0
        assert decode_progress(text).complete == complete
    many = Progress(set(range(1, WINDOW, 2)), dict.fromkeys(range(0, WINDOW, 2), 9))
    text, left_out = encode_progress(many)
    assert len(text) <= TEXT_MAX
    assert left_out > 0
    tracker = OffsetTracker(0)
    for offset in (0, 1, 7):
        tracker.on_fetched(offset)
        tracker.complete(offset)
    assert tracker.to_commit()[:2] == (8, "")


@pytest.mark.cluster
async def test_AC_EN_032_what_is_done_above_a_gap_is_not_run_again_after_a_restart(settings: KafkaSettings) -> None:
    log = KafkaLog(settings, SystemClock())
    await log.append("t", [NewRecord(b"%d" % number) for number in range(10)])
    leases = [one.lease for one in await claim(log)]
    assert await log.accept([*leases[:3], *leases[4:]]) == [True] * 9
    await log.close()
    admin = TopicAdmin(settings)
    assert (await admin.committed(f"{settings.prefix}g.t", f"{settings.prefix}t"))[0][0] == 3
    log = KafkaLog(settings, SystemClock())
    assert values(await claim(log)) == [b"3"]
    await log.close()


@pytest.mark.cluster
async def test_AC_EN_034_a_retry_waits_in_a_tier_of_its_group_and_holds_nothing_up(settings: KafkaSettings) -> None:
    log = KafkaLog(settings, SystemClock())
    await log.append("t", [NewRecord(b"bad"), NewRecord(b"good")])
    bad, good = await claim(log)
    other_bad, _ = await claim(log, group="other")
    released = time.monotonic()
    assert await log.release([bad.lease], delay_ms=5_000) == [True]
    await log.accept([good.lease])
    admin = TopicAdmin(settings)
    tier, others = (f"{settings.prefix}t.{group}.retry.5s" for group in ("g", "other"))
    assert (await admin.ends(tier), await admin.ends(others)) == ([1], [0])
    found: list[Delivery] = []
    while not found:
        await log.wait(["t"], timeout_ms=100)
        found = await claim(log)
    assert 5.0 <= time.monotonic() - released < 7.0
    assert [(one.value, one.attempt) for one in found] == [(b"bad", 2)]
    assert await log.accept([found[0].lease, other_bad.lease]) == [True, True]
    await log.close()
    assert (await admin.committed(f"{settings.prefix}g.t", f"{settings.prefix}t"))[0] == (2, "")


@pytest.mark.cluster
@pytest.mark.crash
@pytest.mark.timeout(240)
async def test_AC_EN_035_a_record_that_kills_whoever_works_on_it_is_given_up(
    settings: KafkaSettings, tmp_path: Path
) -> None:
    flow_file = tmp_path / "poisonous.py"
    flow_file.write_text(POISONOUS_FLOW)
    log = KafkaLog(msgspec.structs.replace(settings, partition_count=2, settle_ms=0), SystemClock())
    texts = ["poison", *(f"text {number}" for number in range(30))]
    await log.append(
        "poisonous", [NewRecord(msgspec.json.encode({"id": f"n{text}", "text": text}), key=text) for text in texts]
    )
    group = KafkaGroup(tmp_path, settings.brokers, settings.prefix, flow_file=flow_file, name="poisonous")
    try:
        await group.until_left(log, 0)
        [letter] = await log.dead_letters(group=group.group)
        assert b"poison" in letter.value
        assert letter.diagnosis.error_class == "crashed"
    finally:
        group.stop()
        await log.close()
    assert (await group.counts())["runs.done"] == 30


@pytest.mark.cluster
@pytest.mark.crash
@pytest.mark.timeout(240)
async def test_AC_EN_037_a_group_that_is_ended_stops_in_time_and_costs_no_attempt(
    settings: KafkaSettings, tmp_path: Path
) -> None:
    shared = msgspec.structs.replace(settings, partition_count=2)
    log = KafkaLog(shared, SystemClock())
    records = [msgspec.json.encode({"id": f"n{number}", "text": "slow"}) for number in range(2_000)]
    await log.append("numbered", [NewRecord(record, key=f"k{number}") for number, record in enumerate(records)])
    group = KafkaGroup(tmp_path, settings.brokers, settings.prefix, flow_file=Path(numbered.__file__), name="numbered")
    try:
        await group.until_left(log, 1_900)
    finally:
        began = time.monotonic()
        group.stop()
    assert time.monotonic() - began < 30
    left = await log.claim("numbered", group.group, owner="me", limit=2_000, lease_ms=LEASE_MS)
    assert left
    assert {one.attempt for one in left} == {1}
    assert (await group.counts())["runs.done"] + len(left) == 2_000
    await log.close()


@pytest.mark.cluster
async def test_AC_EN_089_waiting_for_a_dependency_costs_no_attempt_and_moves_nothing(settings: KafkaSettings) -> None:
    log = KafkaLog(settings, SystemClock())
    await log.append("t", [NewRecord(b"%d" % number) for number in range(200)])
    for _ in range(5):
        found: list[Delivery] = []
        while len(found) < 200:
            await log.wait(["t"], timeout_ms=50)
            found += await claim(log)
        assert {one.attempt for one in found} == {1}
        assert all(await log.release([one.lease for one in found], delay_ms=200, counted=False))
    admin = TopicAdmin(settings)
    for tier_ms in settings.tiers_ms:
        assert await admin.ends(f"{settings.prefix}t.g.retry.{tier_ms // 1_000}s") == [0]
    assert (await log.lag("t", "g")).dead == 0
    await log.close()


@pytest.mark.cluster
async def test_AC_EN_036_a_rebalance_under_running_work_ends_each_record_once(settings: KafkaSettings) -> None:
    shared = msgspec.structs.replace(settings, partition_count=4)
    first = KafkaLog(shared, SystemClock())
    second = KafkaLog(msgspec.structs.replace(shared, settle_ms=0), SystemClock())
    await first.append("t", [NewRecord(b"%d" % number, key=f"k{number}") for number in range(20)])
    running = await claim(first)
    assert len(running) == 20
    taken: list[Delivery] = []
    while not taken:
        await second.wait(["t"], timeout_ms=100)
        taken = await claim(second)
    ended = await first.accept([one.lease for one in running])
    lost = {one.lease.offset for one, is_ours in zip(running, ended, strict=True) if not is_ours}
    assert lost
    while {one.lease.offset for one in taken} != lost:
        await second.wait(["t"], timeout_ms=100)
        taken += await claim(second)
    assert {one.attempt for one in taken} == {2}
    assert await second.accept([one.lease for one in taken]) == [True] * len(lost)
    await first.close()
    await second.close()
    again = KafkaLog(shared, SystemClock())
    assert await claim(again) == []
    await again.close()
