"""The Runner over the log in memory, on a clock that jumps when all wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog.testing
from prometheus_client import CollectorRegistry

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import ConfigError, InvariantBroken, Unavailable
from gristmill.domain.log import Delivery, Lease, NewRecord
from gristmill.domain.outcome import Outcome, Park, Retry
from gristmill.engine.runner import Runner, RunnerMetrics, RunnerSettings, runner
from gristmill.ports.handling import Handler, Handling
from gristmill.testing.clock import FakeClock

LEASE_MS = 30_000


class World:
    """A log in memory whose calls can be made to fail."""

    def __init__(self) -> None:
        self.clock = FakeClock(is_jumping=True)
        self.log = MemoryStore(self.clock).log
        self.failures: dict[str, list[Exception]] = {}
        self.slow_ms: dict[str, int] = {}
        self.registry = CollectorRegistry()
        self.capabilities = self.log.capabilities

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.log, name)

        async def fail_or_call(*arguments: Any, **named: Any) -> Any:
            if self.failures.get(name):
                raise self.failures[name].pop(0)
            if name in self.slow_ms:
                await self.clock.sleep_ms(self.slow_ms[name])
            return await call(*arguments, **named)

        return fail_or_call if name in ("claim", "accept", "renew", "release", "wait", "lag", "reclaim") else call

    async def put(self, *values: str, key: str = "") -> None:
        await self.log.append("t", [NewRecord(value.encode(), key=key) for value in values])

    def read(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"gristmill_{name}", {"topic": "t", "group": "g", **labels})

    def runner(self, handler: Handler, **settings: Any) -> Runner:
        log: Any = self
        metrics = RunnerMetrics(self.registry)
        return Runner(log, "t", "g", handler, RunnerSettings(**settings), clock=self.clock, owner="me", metrics=metrics)

    @asynccontextmanager
    async def driven(self, handler: Handler, **settings: Any) -> AsyncIterator[asyncio.Task[None]]:
        stop = asyncio.Event()
        running = asyncio.create_task(self.runner(handler, **settings).run(stop))
        try:
            yield running
        finally:
            stop.set()
            await asyncio.wait([running])


@pytest.fixture
def world() -> World:
    return World()


async def until(world: World, is_so: Callable[[], bool], *, step_ms: int = 50) -> None:
    """Let the clock go on until it is so; an hour at most."""
    for _ in range(4_200_000 // step_ms):
        if is_so():
            return
        await world.clock.sleep_ms(step_ms)
    raise TimeoutError("it never was so")


class Calls:
    """A handler that remembers its calls and answers by their value."""

    def __init__(self, **answers: Sequence[Outcome | BaseException | None]) -> None:
        self._answers = {value: list(given) for value, given in answers.items()}
        self.seen: list[str] = []

    async def __call__(self, handling: Handling) -> Outcome | None:
        value = handling.delivery.value.decode()
        self.seen.append(value)
        answers = self._answers.get(value)
        answer = answers.pop(0) if answers else None
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Stuck:
    """A handler that never ends by itself."""

    def __init__(self, clock: FakeClock, *, holds_on: bool = False) -> None:
        self._clock = clock
        self._holds_on = holds_on
        self.handlings: list[Handling] = []
        self.cancelled_at_ms: list[int] = []

    async def __call__(self, handling: Handling) -> None:
        self.handlings.append(handling)
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled_at_ms.append(self._clock.monotonic_us() // 1_000)
                if not self._holds_on or len(self.cancelled_at_ms) > 2:
                    raise


async def claim_all(world: World) -> list[Delivery]:
    return await world.log.claim("t", "g", owner="other", limit=100, lease_ms=LEASE_MS)


@pytest.mark.parametrize("error", [Unavailable("log"), ConfigError("log"), InvariantBroken("log")])
async def test_a_group_that_cannot_be_joined_is_fatal(world: World, error: Exception) -> None:
    world.failures["claim"] = [error]
    with pytest.raises(type(error)):
        await world.runner(Calls()).run(asyncio.Event())
    assert world.read("runner_up") == 0


@pytest.mark.parametrize("error", [Unavailable("log"), ConfigError("log")])
async def test_an_optional_group_is_joined_later_and_seen_down_until_then(world: World, error: Exception) -> None:
    world.failures["claim"] = [error] * 3
    calls = Calls()
    await world.put("a")
    async with world.driven(calls, is_optional=True):
        await until(world, lambda: world.read("runner_up") == 0)
        await until(world, lambda: calls.seen == ["a"])
        assert world.read("runner_up") == 1
    assert world.read("runner_up") == 0


async def test_a_log_that_is_down_later_is_waited_for_and_one_that_breaks_ends_the_run(world: World) -> None:
    calls = Calls()
    async with world.driven(calls) as running:
        await until(world, lambda: world.read("runner_up") == 1)
        for name in ("claim", "wait", "lag"):
            world.failures[name] = [Unavailable("log")] * 2
        await world.put("a")
        await until(world, lambda: calls.seen == ["a"])
        world.failures["claim"] = [InvariantBroken("log")]
        await asyncio.wait([running])
    assert isinstance(running.exception(), InvariantBroken)


async def test_a_failed_claim_is_not_made_again_before_its_pause_whatever_else_happens(world: World) -> None:
    ends: list[int] = []

    async def work(handling: Handling) -> None:
        await world.clock.sleep_ms(1_000 + 10 * len(ends))
        ends.append(1)
        if len(ends) == 1:
            world.failures["claim"] = [Unavailable("log")] * 5

    await world.put(*"abcdefgh")
    with structlog.testing.capture_logs() as lines:
        async with world.driven(work, workers=4):
            await until(world, lambda: len(ends) == 8)
    failed = [line for line in lines if line["event"] == "claim failed"]
    assert [line["again_in_ms"] for line in failed] == [1_000, 2_000, 4_000, 5_000, 5_000]
    assert world.clock.monotonic_us() // 1_000 > 17_000


async def test_records_are_claimed_for_free_workers_only(world: World) -> None:
    stuck = Stuck(world.clock)
    await world.put("a", "b", "c", "d")
    async with world.driven(stuck, workers=2, drain_ms=0):
        await until(world, lambda: world.read("lag_in_flight") == 2)
        lag = await world.log.lag("t", "g")
    assert (lag.in_flight, lag.undelivered) == (2, 2)


async def test_a_step_of_ten_leases_runs_once(world: World) -> None:
    runs: list[int] = []

    async def sleep_long(handling: Handling) -> None:
        runs.append(handling.attempt)
        await world.clock.sleep_ms(10 * LEASE_MS)

    await world.put("a")
    async with world.driven(sleep_long, lease_ms=LEASE_MS):
        await until(world, lambda: world.read("messages_total", outcome="done") == 1, step_ms=5_000)
    assert runs == [1]


@pytest.mark.parametrize(("failing_beats", "is_lost"), [(1, False), (40, True)])
async def test_a_lease_that_cannot_be_renewed_is_relied_upon_until_a_sixth_is_left(
    world: World, failing_beats: int, is_lost: bool
) -> None:
    stuck = Stuck(world.clock)
    await world.put("a")
    began_ms = world.clock.monotonic_us() // 1_000
    world.failures["renew"] = [Unavailable("log")] * failing_beats
    async with world.driven(stuck, lease_ms=LEASE_MS, workers=1, drain_ms=0):
        await until(world, lambda: len(stuck.handlings) == 1)
        await until(world, lambda: world.clock.monotonic_us() // 1_000 - began_ms > LEASE_MS)
        assert (stuck.cancelled_at_ms != []) == is_lost
        if is_lost:
            assert stuck.cancelled_at_ms[0] - began_ms == LEASE_MS * 5 // 6
            assert stuck.handlings[0].cancel.reason == "lease could not be renewed in time"


async def test_a_lease_that_another_has_is_noticed_at_the_next_beat(world: World) -> None:
    stuck = Stuck(world.clock)
    await world.put("a")
    began_ms = world.clock.monotonic_us() // 1_000
    async with world.driven(stuck, lease_ms=LEASE_MS, drain_ms=0):
        await until(world, lambda: len(stuck.handlings) == 1)
        await world.log.release([stuck.handlings[0].delivery.lease])
        [theirs] = await claim_all(world)
        await until(world, lambda: stuck.cancelled_at_ms != [])
    assert stuck.cancelled_at_ms == [began_ms + LEASE_MS // 3]
    assert stuck.handlings[0].cancel.reason == "somebody else has the record"
    assert await world.log.accept([theirs.lease]) == [True]
    assert world.read("messages_total", outcome="lost") == 1


@pytest.mark.parametrize("holds_on", [False, True])
async def test_work_that_outlasts_the_drain_is_handed_back_uncounted_once_it_lets_go(
    world: World, holds_on: bool
) -> None:
    stuck = Stuck(world.clock, holds_on=holds_on)
    await world.put("a")
    async with world.driven(stuck, drain_ms=25_000):
        await until(world, lambda: len(stuck.handlings) == 1)
        stopped_at_ms = world.clock.monotonic_us() // 1_000
    assert stuck.handlings[0].cancel.is_cancelled
    assert stuck.cancelled_at_ms[0] - stopped_at_ms == 25_000
    assert world.clock.monotonic_us() // 1_000 - stopped_at_ms <= 30_000
    left = await claim_all(world)
    assert [one.attempt for one in left] == ([] if holds_on else [1])


async def test_work_that_ends_within_the_drain_is_accepted(world: World) -> None:
    begun = asyncio.Event()

    async def work(handling: Handling) -> None:
        begun.set()
        await world.clock.sleep_ms(20_000)

    await world.put("a", "b")
    async with world.driven(work, workers=1, prefetch=1):
        await begun.wait()
    left = await claim_all(world)
    assert [(one.value, one.attempt) for one in left] == [(b"b", 1)]


async def test_a_log_that_answers_late_does_not_hold_up_a_stop(world: World) -> None:
    stuck = Stuck(world.clock)
    await world.put("a")
    async with world.driven(stuck, workers=2, lease_ms=200_000):
        await until(world, lambda: len(stuck.handlings) == 1)
        world.slow_ms = {"claim": 15_000, "release": 15_000}
        await world.clock.sleep_ms(2_000)  # It is claiming again by now.
        stopped_at_ms = world.clock.monotonic_us() // 1_000
    assert stuck.handlings[0].cancel.is_cancelled
    assert world.clock.monotonic_us() // 1_000 - stopped_at_ms <= 30_000


async def test_a_runner_that_is_cancelled_hands_back_and_stays_cancelled(world: World) -> None:
    stuck = Stuck(world.clock)
    await world.put("a")
    async with world.driven(stuck) as running:
        await until(world, lambda: len(stuck.handlings) == 1)
        running.cancel()
        await asyncio.wait([running])
    assert running.cancelled()
    assert [one.attempt for one in await claim_all(world)] == [1]


async def test_the_end_of_a_record_is_told_until_the_log_hears_it(world: World) -> None:
    calls = Calls()
    await world.put("a")
    world.failures["accept"] = [Unavailable("log")] * 3
    async with world.driven(calls):
        await until(world, lambda: world.read("messages_total", outcome="done") == 1)
    assert calls.seen == ["a"]
    assert await claim_all(world) == []


async def test_a_handler_that_is_cancelled_by_its_own_doing_is_tried_again(world: World) -> None:
    calls = Calls(a=[asyncio.CancelledError(), None])
    await world.put("a")
    async with world.driven(calls):
        await until(world, lambda: world.read("messages_total", outcome="done") == 1)
    assert calls.seen == ["a", "a"]
    assert world.read("redelivery_total") == 1


async def test_what_is_parked_comes_again_at_its_time_or_waits_for_a_person(world: World) -> None:
    due_at_ms = world.clock.now_ms() + 90_000
    calls = Calls(a=[Park("quota", due_at_ms), None], b=[Park("unsure")])
    await world.put("a", "b")
    async with world.driven(calls):
        await until(world, lambda: calls.seen.count("a") == 2)
        assert world.clock.now_ms() >= due_at_ms
    [letter] = await world.log.dead_letters()
    assert (letter.value, letter.diagnosis.error_class) == (b"b", "Park")


async def test_P8_a_record_whose_runs_were_spent_by_deaths_is_given_up_unrun(world: World) -> None:
    calls = Calls()
    await world.put("a", "b")
    for _ in range(3):
        [dead, spared] = await claim_all(world)
        await world.log.release([dead.lease])
        await world.log.release([spared.lease], counted=False)
    async with world.driven(calls):
        await until(world, lambda: world.read("messages_total", outcome="dead") == 1)
        await until(world, lambda: calls.seen == ["b"])
    [letter] = await world.log.dead_letters()
    assert letter.diagnosis.error_class == "crashed"
    assert world.read("dlq_total", reason="crashed") == 1


async def test_P7_a_record_in_delay_holds_back_its_key_alone(world: World) -> None:
    calls = Calls(a1=[Retry(5_000), Retry(5_000)])
    await world.put("a1", "a2", key="a")
    await world.put("b1", "b2", key="b")
    async with world.driven(calls, ordering="key"):
        await until(world, lambda: len(calls.seen) == 6)
    assert [value for value in calls.seen if value[0] == "a"] == ["a1", "a1", "a1", "a2"]
    assert calls.seen.index("b2") < calls.seen.index("a2")


async def test_a_key_that_waits_for_an_hour_is_told_of(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runner.KEY_HELD_MS_MAX == 3_600_000
    monkeypatch.setattr(runner, "KEY_HELD_MS_MAX", 60_000)  # An hour of polls would take its time.
    calls = Calls(a1=[Retry(70_000)])
    await world.put("a1", "a2", key="a")
    with structlog.testing.capture_logs() as lines:
        async with world.driven(calls, ordering="key"):
            await until(world, lambda: calls.seen == ["a1", "a1", "a2"], step_ms=5_000)
    told = [line for line in lines if line["event"] == "records wait behind one of their key"]
    assert [line["log_level"] for line in told] == ["error"]


async def test_what_has_not_begun_goes_back_when_a_dependency_is_down(world: World) -> None:
    state = {"is_down": True}
    seen: list[tuple[str, int]] = []

    async def work(handling: Handling) -> None:
        seen.append((handling.delivery.value.decode(), handling.attempt))
        if state["is_down"]:
            raise Unavailable("database")

    await world.put(*(str(number) for number in range(8)))
    async with world.driven(work, workers=1, prefetch=7):
        await until(world, lambda: world.read("runner_breaker_open") == 1)
        count = len(seen)
        began_ms = world.clock.now_ms()
        await until(world, lambda: world.clock.now_ms() - began_ms > 20_000)
        assert 3 <= len(seen) - count <= 5
        state["is_down"] = False
        await until(world, lambda: world.read("messages_total", outcome="done") == 8)
        assert world.read("runner_breaker_open") == 0
    assert {attempt for _, attempt in seen} == {1}


async def test_a_lease_lost_before_its_record_began_is_left_to_the_other(world: World) -> None:
    stuck = Stuck(world.clock)
    await world.put("a", "b")
    async with world.driven(stuck, workers=1, prefetch=1, lease_ms=LEASE_MS, drain_ms=0):
        await until(world, lambda: len(stuck.handlings) == 1)
        second = Lease("t", "g", stuck.handlings[0].delivery.lease.offset + 1, "me", 1)
        assert await world.log.accept([second]) == [True]
        await until(world, lambda: (world.read("lease_lost_total", result="taken") or 0) == 1)
    assert [one.value for one in await claim_all(world)] == [b"a"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", 0), ("batch", 0), ("lease_ms", 10), ("swing", 1.0), ("prefetch", -1), ("attempts", 0)],
)
def test_settings_that_cannot_work_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} of group 'g'"):
        RunnerSettings(**{name: value}).check("g")  # type: ignore[arg-type]
