"""Checks of generators, dispatcher and engine (AC-UN-3, 4, 14 to 27, 95), over a store in memory."""

from __future__ import annotations

import asyncio
import resource
import struct
import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from structlog.testing import capture_logs

from gristmill import Item, Plan, Role, cell, task
from gristmill.adapters.clock import SystemClock
from gristmill.domain.errors import ConfigError
from gristmill.domain.frame import FrameDone, RecordEnded
from gristmill.domain.log import Delivery
from gristmill.engine.link import Said
from gristmill.engine.settings import DispatcherSettings, EngineSettings
from gristmill.intake.backfill import IdBatcher
from gristmill.plans.plan import Flow, Generator
from gristmill.plans.registry import build_registry
from gristmill.ports.clock import Clock
from tests.dispatching import FakeClock, World

NOW = Annotated[Clock, Role("time")]


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


@task(attempts=1, timeout_ms=1_000_000)
async def wait(item: Item, clock: NOW, *, wait_ms: int) -> Echo:
    await clock.sleep_ms(wait_ms)
    return Echo(item.text)


@task(attempts=1)
def fail(item: Item) -> Echo:
    if item.text.startswith("bad"):
        raise ValueError("the text is bad")
    return Echo(item.text)


ECHO = Plan("echo", tasks=[echo])
FAIL = Plan("fail", tasks=[fail])


def waiting(wait_ms: int) -> Plan:
    return Plan("wait", tasks=[wait.use(wait_ms=wait_ms)])


def generator(kind: str = "G", topic: str = "posts", plan: str = "echo", **options: Any) -> Generator:
    return Generator(type=kind, topic=topic, plans=(plan,), **options)


async def committed_counts(world: World) -> Counter[str]:
    """Generator type -> runs committed."""
    counts: Counter[str] = Counter()
    for kind in world.dispatcher.generators_up:
        counts[kind] = len(await world.store.state.runs_between(kind, after=0, limit=10_000))
    return counts


class Claims:
    """A log that notes which groups claims served, and stops handing out after a number of records."""

    def __init__(self, log: Any, *, stop_after: int = 10**9) -> None:
        self._log = log
        self.served: list[str] = []
        self.stop_after = stop_after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def claim(self, topic: str, group: str, *, owner: str, limit: int, lease_ms: int) -> list[Delivery]:
        limit = min(limit, self.stop_after - len(self.served))
        if limit <= 0:
            return []
        found: list[Delivery] = await self._log.claim(topic, group, owner=owner, limit=limit, lease_ms=lease_ms)
        self.served += [group] * len(found)
        return found


def weighted_world(weights: tuple[float, float], *, stop_after: int) -> tuple[World, Claims]:
    generators = [generator("A", "a", weight=weights[0]), generator("B", "b", weight=weights[1])]
    world = World([ECHO], generators, dispatcher=DispatcherSettings(max_in_flight=100))
    claims = Claims(world.store.log, stop_after=stop_after)
    return World(
        [ECHO],
        generators,
        clock=world.clock,
        store=world.store,
        log=claims,
        dispatcher=DispatcherSettings(max_in_flight=100),
    ), claims


async def fill_topic(world: World, topic: str, count: int) -> None:
    await world.append(topic, *(f"{topic}-{number}" for number in range(count)))


async def test_AC_UN_003_a_drain_ends_as_soon_as_what_is_under_way_is_accepted() -> None:
    world = World([waiting(2_000)], [generator(plan="wait")])
    await world.append("posts", *"abcdefgh")
    await world.start()
    await world.clock.sleep_ms(500)
    begun_at_ms, sent = world.clock.now_ms(), world.sample("dispatcher_task_sent_total", task_type="G")
    await world.dispatcher.drain()
    await world.stop(grace_ms=120_000)
    assert world.clock.now_ms() - begun_at_ms < 6_000
    lag = await world.log.lag("posts", "G")
    assert (lag.undelivered, lag.in_flight, lag.waiting) == (5, 0, 0)
    assert (await committed_counts(world))["G"] == 3
    assert world.sample("dispatcher_task_sent_total", task_type="G") == sent == 3


async def test_AC_UN_004_what_outlasts_drain_and_grace_is_delivered_again_uncounted() -> None:
    clock = FakeClock()
    world = World([waiting(60_000)], [generator(plan="wait")], clock=clock)
    await world.append("posts", "a")
    await world.start()
    await clock.sleep_ms(500)
    begun_at_ms = clock.now_ms()
    drain = asyncio.ensure_future(world.dispatcher.drain())
    await clock.sleep_ms(2_000)
    drain.cancel()
    await world.stop(grace_ms=2_000)
    assert clock.now_ms() - begun_at_ms < 8_000
    assert (await world.store.state.counts())["runs"] == 0
    again = World([waiting(60_000)], [generator(plan="wait")], clock=clock, store=world.store)
    async with again.running():
        await again.settle("posts", "G")
    (run,) = await world.store.state.runs_between("G", after=0, limit=10)
    assert (run.status, run.attempt) == ("done", 1)


async def test_AC_UN_014_turns_follow_the_weights() -> None:
    world, claims = weighted_world((3, 1), stop_after=10_000)
    await fill_topic(world, "a", 10_000)
    await fill_topic(world, "b", 10_000)
    async with world.running():
        while len(claims.served) < 10_000:
            await world.clock.sleep_ms(10)
    assert claims.served.count("A") / 10_000 == pytest.approx(0.75, abs=0.02)


async def test_AC_UN_015_an_empty_generator_gives_its_turns_away_until_it_has_records_again() -> None:
    world, claims = weighted_world((9, 1), stop_after=1_000)
    await fill_topic(world, "b", 4_000)
    async with world.running():
        while len(claims.served) < 1_000:
            await world.clock.sleep_ms(10)
        assert set(claims.served) == {"B"}
        await fill_topic(world, "a", 8_000)
        claims.stop_after = 6_000
        while len(claims.served) < 6_000:
            await world.clock.sleep_ms(10)
    assert claims.served[1_000:].count("A") / 5_000 == pytest.approx(0.9, abs=0.02)


async def test_AC_UN_016_a_rate_holds_its_own_generator_and_no_other() -> None:
    world, claims = weighted_world((1, 1), stop_after=10**9)
    generators = [generator("A", "a", max_qps=5), generator("B", "b")]
    world = World([ECHO], generators, clock=world.clock, store=world.store, log=claims)
    await fill_topic(world, "a", 1_000)
    await fill_topic(world, "b", 3_000)
    begun_at_ms = world.clock.now_ms()
    async with world.running():
        while claims.served.count("B") < 3_000:
            await world.clock.sleep_ms(1)
        assert world.clock.now_ms() - begun_at_ms < 2_000
        await world.clock.sleep_ms(begun_at_ms + 10_000 - world.clock.now_ms())
        assert 50 <= claims.served.count("A") <= 55


def test_AC_UN_017_no_generator_or_a_weight_of_zero_refuses_to_start() -> None:
    with pytest.raises(ConfigError, match="without a generator"):
        World([ECHO], [])
    with pytest.raises(ConfigError, match="weight of generator 'G'"):
        World([ECHO], [generator(weight=0)])
    with pytest.raises(ConfigError, match="weight of generator 'G'"):
        build_registry([Flow("f", plans=[ECHO], generators=[generator(weight=0)])])


def test_AC_UN_018_nobody_can_change_the_plans_of_the_next_record() -> None:
    made = generator()
    with pytest.raises(AttributeError):
        made.plans += ("other",)  # type: ignore[misc]
    assert isinstance(made.plans, tuple)


def test_AC_UN_019_packed_ids_are_batched_and_faults_counted() -> None:
    batcher = IdBatcher()
    assert batcher.add(struct.pack("<4q", 11, 0, 12, 13)) == []
    assert batcher.flush() == [(11, 12, 13)]
    assert batcher.add(b"7 bytes") == batcher.flush() == []
    assert batcher.dropped["bad_value_len"] == 1


async def test_AC_UN_020_a_generator_that_raises_once_serves_again_after_its_pause() -> None:
    class RaisingOnce(Claims):
        is_spent = False

        async def claim(self, topic: str, group: str, **options: Any) -> list[Delivery]:
            if group == "A" and not self.is_spent:
                self.is_spent = True
                raise OSError("stream is broken")
            return await super().claim(topic, group, **options)

    world = World([ECHO], [generator("A", "a"), generator("B", "b")])
    claims = RaisingOnce(world.store.log)
    world = World([ECHO], [generator("A", "a"), generator("B", "b")], clock=world.clock, store=world.store, log=claims)
    ups = [world.sample("generator_up", type="A")]
    await fill_topic(world, "a", 5)
    await fill_topic(world, "b", 5)
    async with world.running():
        await world.clock.sleep_ms(500)
        ups.append(world.sample("generator_up", type="A"))
        assert claims.served == ["B"] * 5
        await world.clock.sleep_ms(1_500)
        ups.append(world.sample("generator_up", type="A"))
    assert claims.served.count("A") == 5
    assert ups == [1, 0, 1]


async def test_AC_UN_021_every_generator_on_a_topic_gets_every_record() -> None:
    kinds = ("A", "B", "C")
    world = World([ECHO], [generator(kind) for kind in kinds])
    await fill_topic(world, "posts", 100)
    async with world.running():
        for kind in kinds:
            await world.settle("posts", kind)
    assert await committed_counts(world) == dict.fromkeys(kinds, 100)


async def test_AC_UN_022_no_more_is_under_way_than_allowed() -> None:
    world = World([waiting(1_000)], [generator(plan="wait")], dispatcher=DispatcherSettings(max_in_flight=3))
    await fill_topic(world, "posts", 9)
    begun_at_ms, seen = world.clock.now_ms(), set()
    async with world.running():
        while (await committed_counts(world))["G"] < 9:
            seen.add(world.sample("dispatcher_inflight_count"))
            await world.clock.sleep_ms(100)
    assert max(seen) == 3
    assert world.clock.now_ms() - begun_at_ms >= 3_000


async def test_AC_UN_023_a_failed_record_is_counted_accepted_and_put_on_the_recovery_topic_once() -> None:
    world = World([FAIL], [generator(plan="fail")])
    (offset,) = await world.append("posts", "bad")
    async with world.running():
        await world.settle("posts", "G")
        await world.clock.sleep_ms(5_000)
        assert world.sample("dispatcher_result_failed_final_total", origin="G") == 1
        assert world.sample("dispatcher_task_sent_total", task_type="G") == 1
    (batch,) = [batch async for batch in world.log.read_all("G.recovery")]
    (record,) = batch
    assert record.headers["gristmill-origin-offset"] == str(offset)
    assert record.headers["gristmill-plans"] == "fail"
    assert "the text is bad" in record.headers["gristmill-error"]


async def test_AC_UN_023_a_generator_may_have_a_hook_of_its_own() -> None:
    called: list[tuple[str, RecordEnded]] = []

    async def hook(kind: str, ended: RecordEnded) -> None:
        called.append((kind, ended))

    world = World([FAIL], [generator(plan="fail")], hooks={"G": hook})
    await world.append("posts", "bad")
    async with world.running():
        await world.settle("posts", "G")
    ((kind, ended),) = called
    assert kind == "G"
    assert ended.diagnosis is not None
    assert await world.log.topics() == ["posts"]


async def test_AC_UN_024_a_result_that_nobody_waits_for_is_a_warning() -> None:
    world = World([ECHO], [generator()])
    async with world.running():
        await world.clock.sleep_ms(10)
        (offset,) = await world.append("other", "x")
        (delivery,) = await world.log.claim("other", "G", owner="x", limit=1, lease_ms=60_000)
        with capture_logs() as lines:
            world.link._events.put_nowait(
                Said("engine-0", FrameDone(99, (RecordEnded(delivery.lease, accepted=True),)))
            )
            await world.clock.sleep_ms(10)
        assert [(line["log_level"], line["offset"]) for line in lines] == [("warning", offset)]
        assert (await world.log.lag("other", "G")).in_flight == 1
        await world.append("posts", "goes on")
        await world.settle("posts", "G")
    assert world.sample("dispatcher_result_unknown_total") == 1
    assert world.sample("dispatcher_result_success_total") == 1


async def test_AC_UN_025_a_hook_that_raises_holds_up_nobody() -> None:
    async def hook(kind: str, ended: RecordEnded) -> None:
        raise OSError("hook is broken")

    world = World([FAIL], [generator(plan="fail")], hooks={"G": hook})
    await world.append("posts", "bad", "good", "bad too", "good too")
    async with world.running():
        await world.settle("posts", "G")
    assert world.sample("dispatcher_hook_error_total") == 2
    assert world.sample("dispatcher_result_success_total") == 2
    assert await world.log.end("G.recovery") == 2, "what the hook does not take goes the usual way"


async def test_AC_UN_026_after_three_recoveries_there_is_one_dead_letter() -> None:
    world = World([FAIL], [generator(plan="fail")])
    (offset,) = await world.append("posts", "bad")
    begun_at_ms = world.clock.now_ms()
    async with world.running():
        await world.settle("posts", "G")
        await world.settle("G.recovery", "G")
    assert await world.log.end("G.recovery") == 3
    assert world.clock.now_ms() - begun_at_ms >= (30 + 120 + 480) * 1_000
    (letter,) = await world.log.dead_letters()
    assert letter.value == b"bad"
    assert "the text is bad" in letter.diagnosis.error_text
    assert letter.diagnosis.plans == ("fail",)
    assert len(letter.diagnosis.history) == 4
    (run,) = await world.store.state.runs_between("G", after=0, limit=10)
    assert (run.status, run.position, run.attempt) == ("failed", offset, 4)


async def test_AC_UN_027_a_run_that_takes_too_long_fails_in_time() -> None:
    engine = EngineSettings(task_timeout_ms=1_000)
    world = World([waiting(5_000)], [generator(plan="wait")], engine=engine)
    await world.append("posts", "a")
    async with world.running():
        await world.clock.sleep_ms(1_500)
        assert world.sample("engine_task_timeout_total") == 1
        assert world.sample("engine_task_failed_total") == 1
        assert world.sample("dispatcher_result_failed_final_total", origin="G") == 1


def link_of(index: int, previous: Any) -> Any:
    result = cell(f"step{index}")(msgspec.defstruct(f"Step{index}", [("n", int)], frozen=True, module=__name__))

    def step(before):  # type: ignore[no-untyped-def]
        return result(index)

    step.__name__ = f"step{index}"
    step.__annotations__ = {"before": previous, "return": result}
    return task(step), result


def resident_bytes() -> int:
    """Return the memory of this process now; its peak would tell of whatever test ran before."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def test_AC_UN_095_the_framework_itself_takes_little_time_and_memory() -> None:
    tasks, previous = [], Item
    for index in range(5):
        made, previous = link_of(index, previous)
        tasks.append(made)
    world = World(
        [Plan("echo", tasks=tasks)],
        [generator()],
        clock=SystemClock(),
        dispatcher=DispatcherSettings(max_in_flight=64),
    )
    await fill_topic(world, "posts", 1_000)
    begun, resident = time.monotonic(), resident_bytes()
    async with world.running():
        await asyncio.wait_for(world.settle("posts", "G"), timeout=20)
    assert time.monotonic() - begun < 20
    assert resident_bytes() - resident < 500 * 1024 * 1024
    assert (await committed_counts(world))["G"] == 1_000
