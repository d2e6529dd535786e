"""How a service takes topics, gives them up and takes them over; turns and ends of records beside it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from gristmill.adapters.clock import SeededRandom
from gristmill.adapters.memory import MemoryCache, MemoryStore
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.log import NewRecord
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Jumped
from gristmill.engine.messages.forwarding import ForwardingLog
from gristmill.engine.messages.holding import TopicHold
from gristmill.engine.messages.service import MessageService
from gristmill.engine.messages.settings import MessageSettings
from gristmill.engine.messages.turns import WAIT_MS_MAX, WAIT_MS_MIN, KeyTurns
from gristmill.ports.log import Log
from gristmill.testing.clock import FakeClock
from tests.messages.consumers import Told, fresh_metrics, route, table_of
from tests.unit.engine.messages import serving

HOLD_MS = 3_000
TAKEN_MS = 60_000


def always(topic: str) -> bool:
    return True


def never(topic: str) -> bool:
    return False


def make_service(store: MemoryStore, clock: FakeClock, table: Any, **more: Any) -> MessageService:
    return MessageService(
        store.log,
        store.cache,
        clock,
        SeededRandom(1),
        table=table,
        jumps={},
        owner="me",
        metrics=fresh_metrics(),
        **more,
    )


def test_a_route_by_key_needs_a_log_that_keeps_or_tells_their_order() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    with pytest.raises(ConfigError, match="route by key on a log that cannot keep it: 't'"):
        make_service(store, clock, table_of(route("t")))
    make_service(store, clock, table_of(route("t", order="none")))
    make_service(store, clock, table_of(route("t")), order=store.log)


def test_a_route_that_drops_what_is_stale_needs_to_be_told_revisions() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    with pytest.raises(ConfigError, match="stale: keep"):
        make_service(store, clock, table_of(route("t", drops_stale=True)), order=store.log)


async def test_a_service_without_anything_to_do_stops_when_it_is_told_to() -> None:
    running = serving.Serving(table_of(route("t"), route("u", tier="bulk")), {})
    await running.work()
    # Whoever comes next need not wait for the end of the hold.
    assert await running.cache.get("messages-topic:messages.test.normal") is None


def test_tiers_have_workers_of_their_own() -> None:
    settings = MessageSettings()
    workers = [settings.of_tier(tier, attempts=5).workers for tier in ("urgent", "normal", "bulk")]
    assert workers == sorted(workers, reverse=True)
    assert settings.of_tier("urgent", attempts=5).attempts == 5


class Cut(MemoryCache):
    """A cache that can be unreachable."""

    is_cut = False

    async def get(self, key: str) -> str | None:
        if self.is_cut:
            raise Unavailable("cache")
        return await super().get(key)

    async def put_if_absent(self, key: str, value: str, *, ttl_ms: int) -> str | None:
        if self.is_cut:
            self.is_cut = False
            raise Unavailable("cache")
        return await super().put_if_absent(key, value, ttl_ms=ttl_ms)

    async def delete(self, key: str, *, value: str | None = None) -> bool:
        if self.is_cut:
            raise Unavailable("cache")
        return await super().delete(key, value=value)


async def test_a_topic_has_one_holder_and_goes_to_the_next_when_that_one_is_gone() -> None:
    clock = FakeClock(is_jumping=True)
    cache = Cut(clock)
    mine, other = (TopicHold(cache, clock, "t", owner=owner, ttl_ms=HOLD_MS) for owner in ("me", "other"))
    await mine.take()
    await mine.take()
    began_ms = clock.now_ms()
    cache.is_cut = True
    await other.take()
    assert began_ms + HOLD_MS <= clock.now_ms() <= began_ms + 2 * HOLD_MS
    await mine.keep()
    await other.leave()
    assert await cache.put_if_absent("messages-topic:t", "third", ttl_ms=1) is None


async def test_a_hold_is_renewed_until_the_cache_cannot_be_reached() -> None:
    clock = FakeClock(is_jumping=True)
    cache = Cut(clock)
    hold = TopicHold(cache, clock, "t", owner="me", ttl_ms=HOLD_MS)
    await hold.take()
    keeping = asyncio.create_task(hold.keep())
    await clock.sleep_ms(10 * HOLD_MS)
    assert not keeping.done()
    cache.is_cut = True
    await keeping
    await hold.leave()
    cache.is_cut = False
    assert await cache.get("messages-topic:t") in ("me", None)


async def test_a_record_waits_longer_each_time_for_an_earlier_one_of_its_key() -> None:
    clock = FakeClock()
    log = MemoryStore(clock).log
    turns = KeyTurns(log, never)
    await log.append("t", [NewRecord(b"", key="a"), NewRecord(b"", key="a"), NewRecord(b"")])
    first, second, loose = await log.claim("t", "g", owner="me", limit=3, lease_ms=1_000)
    assert [await turns.wait_ms(delivery) for delivery in (first, loose)] == [0, 0]
    waits = [await turns.wait_ms(second) for _ in range(10)]
    assert waits[:3] == [WAIT_MS_MIN, 2 * WAIT_MS_MIN, 4 * WAIT_MS_MIN]
    assert waits[-1] == WAIT_MS_MAX
    await log.accept([first.lease])
    assert await turns.wait_ms(second) == 0
    assert await KeyTurns(None, never).wait_ms(second) == 0


async def test_turns_and_followers_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.engine.messages.turns.KEYS_MAX", 1)
    monkeypatch.setattr("gristmill.engine.messages.forwarding.FOLLOWERS_MAX", 1)
    clock = FakeClock()
    log = MemoryStore(clock).log
    turns, forwarding = KeyTurns(log, never), ForwardingLog(log, clock, always)
    await log.append("t", [NewRecord(b"", key=key) for key in ("a", "b", "a", "b")])
    claimed = await log.claim("t", "g", owner="me", limit=4, lease_ms=1_000)
    for delivery in claimed[2:]:
        assert await turns.wait_ms(delivery) == WAIT_MS_MIN
    assert await turns.wait_ms(claimed[2]) == WAIT_MS_MIN
    for delivery in claimed[:2]:
        forwarding.follow(delivery.lease, "next", NewRecord(b""))
    await forwarding.accept([delivery.lease for delivery in claimed[:2]])
    assert await log.end("next") == 1


async def test_what_follows_is_appended_with_the_end_of_its_record_alone() -> None:
    clock = FakeClock()
    log = MemoryStore(clock).log
    forwarding = ForwardingLog(log, clock, always)
    await log.append("t", [NewRecord(b"a"), NewRecord(b"b")])
    a, b = await cast(Log, forwarding).claim("t", "g", owner="me", limit=2, lease_ms=1_000)
    forwarding.follow(a.lease, "next", NewRecord(b"after a", due_at_ms=clock.now_ms() + 500))
    assert await forwarding.accept([b.lease]) == [True]
    assert await log.end("next") == 0
    assert await forwarding.accept([a.lease]) == [True]
    assert await log.end("next") == 1
    # And once only.
    assert await forwarding.accept([a.lease]) == [False]
    assert await log.end("next") == 1


async def test_nothing_follows_on_a_record_that_somebody_else_has() -> None:
    clock = FakeClock()
    log = MemoryStore(clock).log
    forwarding = ForwardingLog(log, clock, always)
    await log.append("t", [NewRecord(b"a")])
    [mine] = await log.claim("t", "g", owner="me", limit=1, lease_ms=1_000)
    forwarding.follow(mine.lease, "next", NewRecord(b"after a"))
    clock.advance(1_000)
    await log.claim("t", "g", owner="other", limit=1, lease_ms=1_000)
    assert await forwarding.accept([mine.lease]) == [False]
    assert await log.end("next") == 0


async def test_waiting_ends_when_what_followed_comes_due() -> None:
    clock = FakeClock(is_jumping=True)
    log = MemoryStore(clock).log
    forwarding = ForwardingLog(log, clock, always)
    await log.append("t", [NewRecord(b"a")])
    [mine] = await log.claim("t", "g", owner="me", limit=1, lease_ms=1_000)
    forwarding.follow(mine.lease, "next", NewRecord(b"after a", due_at_ms=clock.now_ms() + 300))
    await forwarding.accept([mine.lease])
    began_ms = clock.now_ms()
    await forwarding.wait(["other"], timeout_ms=900)
    assert clock.now_ms() - began_ms == 300
    await forwarding.wait(["other"], timeout_ms=900)
    assert clock.now_ms() - began_ms == 1_200


async def test_a_topic_that_may_be_somebody_elses_is_not_claimed_from() -> None:
    clock = FakeClock(is_jumping=True)
    log = MemoryStore(clock).log
    await log.append("t", [NewRecord(b"a")])
    assert await ForwardingLog(log, clock, never).claim("t", "g", owner="me", limit=1, lease_ms=1_000) == []
    assert len(await ForwardingLog(log, clock, always).claim("t", "g", owner="me", limit=1, lease_ms=1_000)) == 1


async def test_a_key_is_asked_for_once_while_the_topic_is_surely_held() -> None:
    log = MemoryStore(FakeClock()).log
    sure = True
    turns = KeyTurns(log, lambda topic: sure)
    await log.append("t", [NewRecord(b"", key="a"), NewRecord(b"", key="a")])
    first, second = await log.claim("t", "g", owner="me", limit=2, lease_ms=1_000)
    assert [await turns.wait_ms(delivery) for delivery in (first, second)] == [0, 0]
    sure = False
    assert await turns.wait_ms(second) == WAIT_MS_MIN
    sure = True
    assert await turns.wait_ms(first) == 0
    turns.begin("t")
    assert await turns.wait_ms(second) == WAIT_MS_MIN


async def test_a_hold_is_sure_for_a_part_of_its_life() -> None:
    clock = FakeClock(is_jumping=True)
    hold = TopicHold(MemoryCache(clock), clock, "t", owner="me", ttl_ms=HOLD_MS)
    assert not hold.is_sure()
    await hold.take()
    assert hold.is_sure()
    clock.advance(HOLD_MS - 1)
    assert not hold.is_sure()


async def test_a_topic_is_worked_on_once_nobody_has_records_of_it_under_lease() -> None:
    told = Told()
    running = serving.Serving(table_of(route("t")), {"plan": told.jump})
    await running.sender.send([Envelope(id=str(number), type="t", key="7") for number in range(3)])
    await running.log.claim("messages.test.normal", "messages", owner="dead", limit=1, lease_ms=5_000)
    began_ms = running.clock.now_ms()
    await running.work()
    assert running.clock.now_ms() >= began_ms + 5_000
    assert told.applied["7"] == ["0", "1", "2"]


async def test_a_dead_owner_that_can_be_told_need_not_be_waited_for() -> None:
    told = Told()
    running = serving.Serving(table_of(route("t")), {"plan": told.jump})
    await running.sender.send([Envelope(id="1", type="t", key="7")])
    await running.log.claim("messages.test.normal", "messages", owner="dead", limit=1, lease_ms=60_000)
    running.store.mark_dead("dead")
    began_ms = running.clock.now_ms()
    await running.work()
    assert running.clock.now_ms() < began_ms + 5_000
    assert told.applied["7"] == ["1"]


async def test_P7_a_record_that_waits_since_before_a_takeover_goes_first() -> None:
    told = Told()
    running = serving.Serving(table_of(route("t")), {"plan": told.jump})
    await running.sender.send([Envelope(id=str(number), type="t", key="7") for number in range(3)])
    [first] = await running.log.claim("messages.test.normal", "messages", owner="dead", limit=1, lease_ms=5_000)
    await running.log.release([first.lease], delay_ms=20_000)
    await running.work()
    assert told.applied["7"] == ["0", "1", "2"]


async def test_a_log_that_keeps_the_order_of_keys_is_worked_on_by_every_process() -> None:
    told = Told()
    running = serving.Serving(table_of(route("t")), {"plan": told.jump}, capabilities={"key_order"})
    await running.cache.put("messages-topic:messages.test.normal", "somebody", ttl_ms=1 << 40)
    await running.work(Envelope(id="1", type="t", key="7"))
    assert told.applied["7"] == ["1"]


async def test_a_topic_that_somebody_else_took_is_left_and_taken_again_when_it_is_free() -> None:
    told = Told()
    taken_at_ms: list[int] = []

    async def jump(envelope: Envelope) -> Jumped:
        if envelope.id == "1":
            await running.cache.put("messages-topic:messages.test.normal", "somebody", ttl_ms=TAKEN_MS)
            taken_at_ms.append(running.clock.now_ms())
            await running.clock.sleep_ms(MessageSettings().hold_ms)
            await running.sender.send([Envelope(id="2", type="t", key="8")])
        return await told.jump(envelope)

    running = serving.Serving(table_of(route("t")), {"plan": jump})
    await running.work(Envelope(id="1", type="t", key="7"))
    assert (told.applied["7"], told.applied["8"]) == (["1"], ["2"])
    assert running.clock.now_ms() >= taken_at_ms[0] + TAKEN_MS


async def test_a_log_that_cannot_be_asked_holds_a_takeover_up_for_one_lease_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    running = serving.Serving(table_of(route("t")), {"plan": told.jump})
    reclaim, failures = running.log.reclaim, iter([True] * 3)

    async def fail_at_first(*, me: str) -> int:
        if next(failures, False):
            raise Unavailable("log")
        return await reclaim(me=me)

    monkeypatch.setattr(running.log, "reclaim", fail_at_first)
    await running.work(Envelope(id="1", type="t", key="7"))
    assert told.applied["7"] == ["1"]
