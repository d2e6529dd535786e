"""Several groups as one service, and named leases over a cache that fails."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import StaleRead, Unavailable, UsageError
from gristmill.domain.log import Lease, NewRecord
from gristmill.engine.named_lease import NamedLease
from gristmill.engine.runner import DrivenGroup, RunnerMetrics, RunnerService, RunnerSettings
from gristmill.ports.handling import Handling
from gristmill.testing.clock import FakeClock

TTL_MS = 30_000


class Counted:
    """A log that counts its renewals."""

    def __init__(self, clock: FakeClock) -> None:
        self._log = MemoryStore(clock).log
        self.renewed: list[int] = []
        self.is_down = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def claim(self, *arguments: object, **named: object) -> object:
        if self.is_down:
            raise Unavailable("log")
        return await self._log.claim(*arguments, **named)  # type: ignore[arg-type]

    async def renew(self, leases: list[Lease], *, lease_ms: int) -> list[bool]:
        self.renewed.append(len(leases))
        return await self._log.renew(leases, lease_ms=lease_ms)


def service_of(log: Counted, clock: FakeClock, handler: object) -> RunnerService:
    groups = [DrivenGroup("t", name, handler) for name in ("a", "b")]  # type: ignore[arg-type]
    metrics = RunnerMetrics(CollectorRegistry())
    return RunnerService("runners", log, groups, clock=clock, owner="me", metrics=metrics)  # type: ignore[arg-type]


def count_down(service: RunnerService) -> int:
    return len(service.health.reasons)


async def test_one_call_renews_the_leases_of_all_groups() -> None:
    clock = FakeClock(is_jumping=True)
    log, done = Counted(clock), []

    async def work(handling: Handling) -> None:
        await clock.sleep_ms(35_000)
        done.append(handling.delivery.lease.group)

    await log._log.append("t", [NewRecord(b"1"), NewRecord(b"2")])
    service = service_of(log, clock, work)
    assert count_down(service) == 2
    await service.start()
    await service.start()
    while len(done) < 4:
        await clock.sleep_ms(100)
    assert count_down(service) == 0
    await service.stop()
    await service.stop()
    await service.join()
    assert sorted(done) == ["a", "a", "b", "b"]
    assert log.renewed == [4, 4, 4]


async def test_a_group_that_cannot_be_joined_ends_the_service() -> None:
    clock = FakeClock(is_jumping=True)
    log = Counted(clock)
    log.is_down = True

    async def work(handling: Handling) -> None:
        raise AssertionError

    service = service_of(log, clock, work)
    await service.start()
    with pytest.raises(ExceptionGroup) as caught:
        await service.join()
    assert caught.group_contains(Unavailable)


class Failing:
    """A cache that cannot be reached at times."""

    def __init__(self, clock: FakeClock) -> None:
        self._cache = MemoryStore(clock).cache
        self.failures = 0

    def __getattr__(self, name: str) -> object:
        if self.failures > 0:
            self.failures -= 1
            raise Unavailable("cache")
        return getattr(self._cache, name)


@pytest.mark.parametrize(("failures", "is_lost"), [(1, False), (9, True)])
async def test_a_named_lease_outlives_a_hiccup_and_ends_before_its_time(failures: int, is_lost: bool) -> None:
    clock = FakeClock(is_jumping=True)
    cache = Failing(clock)
    lease = NamedLease(cache, "sweep", ttl_ms=TTL_MS, clock=clock)  # type: ignore[arg-type]
    began_ms = clock.now_ms()
    held = False
    try:
        cache.failures = 1
        async with lease.held():
            taken_ms = clock.now_ms()
            assert taken_ms - began_ms == TTL_MS // 3
            cache.failures = failures
            await clock.sleep_ms(TTL_MS)
            held = True
    except StaleRead:
        assert clock.now_ms() - taken_ms == TTL_MS * 2 // 3
    assert held != is_lost


async def test_a_record_that_the_log_will_not_take_back_is_a_dead_letter_and_frees_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock(is_jumping=True)
    log = MemoryStore(clock).log
    await log.append("t", [NewRecord(b"large"), NewRecord(b"other")])
    until = asyncio.Event()

    async def refuse(leases: object, **how: object) -> list[bool]:
        raise UsageError("copy of a record", value=9, advice="make it smaller")

    async def handle(handling: Handling) -> None:
        if handling.delivery.value == b"large":
            raise ValueError("not now")
        until.set()

    monkeypatch.setattr(log, "release", refuse)
    groups = [DrivenGroup("t", "g", handle, RunnerSettings(workers=1))]
    service = RunnerService("one", log, groups, clock=clock, owner="me", metrics=RunnerMetrics(CollectorRegistry()))
    await service.start()
    await asyncio.wait_for(until.wait(), 20)
    await service.stop()
    [letter] = await log.dead_letters()
    assert (letter.value, letter.diagnosis.error_class) == (b"large", "UsageError")


async def test_a_holder_that_is_cancelled_just_when_it_loses_its_lease_stays_cancelled() -> None:
    clock = FakeClock(is_jumping=True)
    cache = MemoryStore(clock).cache
    begun = asyncio.Event()

    async def hold() -> None:
        async with NamedLease(cache, "sweep", ttl_ms=TTL_MS, clock=clock).held():
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiting.add_done_callback(lambda _: holder.cancel())
            begun.set()
            await waiting

    holder = asyncio.create_task(hold())
    await begun.wait()
    await cache.delete("lease:sweep")
    await asyncio.wait([holder])
    assert holder.cancelled()


async def test_a_holder_that_is_cancelled_from_outside_stays_cancelled_and_lets_go() -> None:
    clock = FakeClock(is_jumping=True)
    cache = MemoryStore(clock).cache
    begun = asyncio.Event()

    async def hold() -> None:
        async with NamedLease(cache, "sweep", ttl_ms=TTL_MS, clock=clock).held():
            begun.set()
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold())
    await begun.wait()
    holder.cancel()
    await asyncio.wait([holder])
    assert holder.cancelled()
    assert await NamedLease(cache, "sweep", ttl_ms=TTL_MS, clock=clock).try_take()
