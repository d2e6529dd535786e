"""Whatever becomes of a Run that is not inline, somebody is told of its record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from prometheus_client import CollectorRegistry

from gristmill.domain.frame import Frame
from gristmill.engine.driver import Driver
from gristmill.engine.marks import NoMarks
from gristmill.engine.metrics import EngineMetrics
from gristmill.engine.settings import EngineSettings
from gristmill.engine.work.execute import Executor
from gristmill.engine.work.record import Work
from tests.serving import SLOW, Bench


class Kitchen:
    """An executor over the slow plan, with a list of all that is put and all that is cancelled."""

    def __init__(self) -> None:
        self.bench = Bench(SLOW)
        self.put: list[Work] = []
        self.cancelled: list[Work] = []
        self.may_put = asyncio.Event()
        self.may_put.set()
        world = self.bench.world
        self.executor = Executor(
            {"slow": Driver(world.plans["slow"], resources={}, clock=world.clock)},
            clock=world.clock,
            marks=NoMarks(),
            settings=EngineSettings(),
            metrics=EngineMetrics(CollectorRegistry()),
            put=self._put,
            on_cancelled=self._on_cancelled,
        )

    async def admit(self, *texts: str) -> list[Work]:
        await self.bench.world.append("posts", *texts)
        frame = Frame(1, "G", tuple(await self.bench.claim()))
        return await self.bench.engine._admission.admit(frame, connection=1)

    async def _put(self, works: Sequence[Work]) -> None:
        await self.may_put.wait()
        self.put += works

    async def _on_cancelled(self, work: Work) -> None:
        self.cancelled.append(work)


@pytest.fixture
async def kitchen() -> AsyncIterator[Kitchen]:
    kitchen = Kitchen()
    await kitchen.bench.start()
    running = asyncio.create_task(kitchen.executor.run())
    await asyncio.sleep(0)
    yield kitchen
    running.cancel()
    await asyncio.wait([running])
    await kitchen.bench.engine.stop()


async def test_a_run_that_is_cancelled_before_its_first_step_is_told_of(kitchen: Kitchen) -> None:
    works = await kitchen.admit("a", "b")
    await kitchen.executor.execute(works)
    kitchen.executor.cancel_slow()
    await kitchen.bench.world.clock.sleep_ms(5_000)
    assert kitchen.cancelled == works
    assert kitchen.put == []


async def test_a_run_that_is_cancelled_while_it_waits_to_be_written_is_told_of(kitchen: Kitchen) -> None:
    works = await kitchen.admit("a")
    kitchen.may_put.clear()
    await kitchen.executor.execute(works)
    await kitchen.bench.world.clock.sleep_ms(5_000)
    kitchen.executor.cancel_slow()
    await kitchen.bench.world.clock.sleep_ms(1)
    assert kitchen.cancelled == works
    assert kitchen.put == []


async def test_what_is_started_after_a_cancellation_is_run(kitchen: Kitchen) -> None:
    works = await kitchen.admit("a")
    kitchen.executor.cancel_slow()
    await kitchen.executor.execute(works)
    await kitchen.bench.world.clock.sleep_ms(5_000)
    assert kitchen.put == works
    assert kitchen.cancelled == []
