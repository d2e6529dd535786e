"""How an engine runs slow plans, and how it stops or loses its dispatcher."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gristmill import Plan
from gristmill.domain.frame import Stop
from gristmill.engine.link import Joined, Left
from gristmill.engine.settings import EngineSettings
from tests.serving import ECHO, SLOW, Bench, slow


async def test_slow_plans_of_a_record_run_beside_each_other_and_are_committed_together() -> None:
    bench = Bench(SLOW, ECHO, Plan("slow_too", tasks=[slow]))
    await bench.start()
    (ended,) = await bench.run("a")
    assert ended.accepted
    assert bench.world.clock.now_ms() - 1_700_000_000_000 == 1_000
    runs = await bench.state.runs_between("G", after=0, limit=10)
    assert {run.plan for run in runs} == {"slow", "echo", "slow_too"}
    await bench.engine.stop()


async def test_no_more_slow_records_are_worked_on_than_allowed() -> None:
    bench = Bench(SLOW, engine=EngineSettings(max_concurrency=2))
    await bench.start()
    assert all(ended.accepted for ended in await bench.run(*"abcdef"))
    assert bench.world.clock.now_ms() - 1_700_000_000_000 == 3_000
    await bench.engine.stop()


async def test_a_stop_finishes_what_is_under_way_within_its_grace() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.send(await bench.claim())
    await bench.world.clock.sleep_ms(100)
    await bench.engine.stop(grace_ms=5_000)
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert await bench.link.receive() == Left("engine-0")


async def test_a_stop_commits_nothing_that_outlasts_its_grace() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.send(await bench.claim())
    await bench.world.clock.sleep_ms(100)
    await bench.engine.stop(grace_ms=500)
    await bench.engine.stop()
    assert await bench.link.receive() == Left("engine-0")
    assert (await bench.state.counts())["runs"] == 0
    assert bench.world.sample("engine_task_cancelled_total") == 1


async def test_the_word_that_no_more_frames_will_come_is_passed_on() -> None:
    bench = Bench(ECHO)
    await bench.start()
    await bench.link.send("engine-0", Stop())
    await bench.engine.stop_requested.wait()
    await bench.engine.stop()


async def test_when_the_dispatcher_goes_what_it_sent_is_given_back_uncounted() -> None:
    bench = Bench(SLOW)
    await bench.start()
    await bench.world.append("posts", "a")
    await bench.send(await bench.claim())
    await bench.world.clock.sleep_ms(100)
    await bench.link.close()
    assert await bench.link.receive() == Left("engine-0")
    assert isinstance(await bench.link.receive(), Joined)
    await bench.world.clock.sleep_ms(100)
    (delivery,) = await bench.claim()
    assert delivery.attempt == 1
    await bench.send([delivery])
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert bench.engine.open_count == 0
    await bench.engine.stop()


async def test_join_tells_what_ended_an_engine() -> None:
    bench = Bench(ECHO)
    await bench.engine.join()

    async def broken() -> Any:
        raise OSError("link is broken")

    bench.engine._link.receive = broken  # type: ignore[method-assign]
    await bench.engine.start()
    with pytest.raises(ExceptionGroup) as caught:
        await bench.engine.join()
    assert caught.group_contains(OSError, match="link is broken")
    await bench.engine.stop()


async def test_starting_and_stopping_twice_is_harmless() -> None:
    bench = Bench(ECHO)
    await bench.engine.stop()
    await bench.start()
    await bench.engine.start()
    await asyncio.gather(bench.engine.stop(), bench.engine.stop())
    await bench.engine.join()
