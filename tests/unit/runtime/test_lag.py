"""Lags become numbers, also of groups that nobody claims for; what was lost is counted on, and never twice."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from prometheus_client import CollectorRegistry

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag
from gristmill.engine.runner.metrics import LagMetrics
from gristmill.plans.plan import Generator
from gristmill.runtime.lag.losses import LossWatch
from gristmill.runtime.lag.service import LagWatch
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import records

POSTS = Generator(type="g", topic="t", plans=("a",))
LABELS = {"topic": "t", "group": "g"}


class Told:
    """A log that says what it is told to say."""

    capabilities = frozenset({"claimer_settles"})

    def __init__(self) -> None:
        self.lag_now: Lag | None = Lag(0, 0, 0, 0, 0)

    async def lag(self, topic: str, group: str) -> Lag:
        if self.lag_now is None:
            raise Unavailable("log is down")
        return self.lag_now if topic == "t" else Lag(0, 0, 0, 0, 0)


async def test_the_lag_of_a_group_without_a_member_is_told() -> None:
    clock, registry = FakeClock(), CollectorRegistry()
    log = MemoryStore(clock).log
    await log.append("t", records(*"abc"))
    clock.advance(2_000)
    await LagWatch(log, [POSTS, POSTS], clock, LagMetrics(registry)).look()
    assert registry.get_sample_value("gristmill_lag_undelivered", LABELS) == 3
    assert registry.get_sample_value("gristmill_lag_oldest_seconds", LABELS) == 2
    assert registry.get_sample_value("gristmill_lag_undelivered", {"topic": "g.recovery", "group": "g"}) == 0
    assert registry.get_sample_value("gristmill_lag_poll_up", LABELS) == 1


async def test_losses_are_counted_on_also_when_the_log_begins_anew() -> None:
    registry, log = CollectorRegistry(), Told()
    watch = LagWatch(log, [POSTS], FakeClock(), LagMetrics(registry))  # type: ignore[arg-type]
    for lost in (5, 5, 7, 0, 8):
        log.lag_now = Lag(0, 0, 0, 0, 0, lost=lost)
        await watch.look()
    assert registry.get_sample_value("gristmill_log_lost_total", LABELS) == 8


async def test_a_log_that_cannot_be_asked_is_said_to_be_down() -> None:
    registry, log = CollectorRegistry(), Told()
    watch = LagWatch(log, [POSTS], FakeClock(), LagMetrics(registry))  # type: ignore[arg-type]
    log.lag_now = None
    with pytest.raises(Unavailable):
        await watch.look()
    assert registry.get_sample_value("gristmill_lag_poll_up", LABELS) == 0


async def test_unread_records_that_grow_old_are_warned_of_once_an_hour() -> None:
    clock, log = FakeClock(), Told()
    watch = LagWatch(
        log,  # type: ignore[arg-type]
        [POSTS],
        clock,
        LagMetrics(CollectorRegistry()),
        age_ms_max=lambda topic: 10_000 if topic == "t" else None,
    )
    with structlog.testing.capture_logs() as logs:
        for lag in (Lag(0, 1, 0, 99_000, 0), Lag(1, 0, 0, 10_000, 0), Lag(1, 0, 0, 10_001, 0), Lag(1, 0, 0, 11_000, 0)):
            log.lag_now = lag
            await watch.look()
        clock.advance(3_600_000)
        await watch.look()
    assert [(entry["oldest_s"], entry["lost_after_s"]) for entry in logs] == [(10, 20), (11, 20)]


async def test_the_process_that_claims_tells_losses_where_nobody_else_knows_them() -> None:
    registry, log, clock = CollectorRegistry(), Told(), FakeClock()
    watch = LossWatch(log, [POSTS], clock, LagMetrics(registry))  # type: ignore[arg-type]
    running = asyncio.ensure_future(watch.run())
    for lag, told in ((Lag(9, 0, 0, 0, 0, lost=4), 4), (None, 4), (Lag(9, 0, 0, 0, 0, lost=6), 6)):
        log.lag_now = lag
        await clock.somebody_waits()
        clock.advance(10_000)
        await clock.somebody_waits()
        assert registry.get_sample_value("gristmill_log_lost_total", LABELS) == told
    running.cancel()
    assert registry.get_sample_value("gristmill_lag_undelivered", LABELS) is None, "that is told by main"


async def test_a_log_that_counts_for_all_is_asked_by_main_alone() -> None:
    clock = FakeClock()
    async with asyncio.timeout(10):
        await LossWatch(MemoryStore(clock).log, [POSTS], clock, LagMetrics(CollectorRegistry())).run()
