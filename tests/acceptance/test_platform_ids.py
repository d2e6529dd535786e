"""Item ids: unique over processes and crashes, rising, dated, quick, and one for each input id."""

from __future__ import annotations

import asyncio
import signal
import statistics
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gristmill import Item, Plan, cell, task
from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import IdUnavailable, Unavailable
from gristmill.domain.ids import IDS_PER_DAY, ItemId, Segment, SegmentBuffer, day_of, decide_segment
from gristmill.engine.settings import DispatcherSettings
from gristmill.intake.ids import SegmentIds
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from tests.dispatching import FakeClock, World

PROCESS_COUNT = 4
IDS_PER_PROCESS = 250_000
DAY_MS = 86_400_000
MIDNIGHT_MS = 1_700_006_400_000
"""2023-11-15T00:00:00Z."""


@asynccontextmanager
async def issuing(state: Any, clock: Clock) -> AsyncIterator[SegmentIds]:
    ids = SegmentIds(state, clock)
    running = asyncio.create_task(ids.run())
    try:
        yield ids
    finally:
        running.cancel()


def start_issuer(folder: Path, number: int, *, die_after: int = 0) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("issue_ids.py")
    output = folder / f"{number}.ids"
    arguments = [str(folder / "store.sqlite"), str(output), str(IDS_PER_PROCESS), str(die_after)]
    return subprocess.Popen([sys.executable, str(script), *arguments])


def test_AC_ID_001_no_id_is_issued_twice_by_four_processes_three_of_which_are_killed(tmp_path: Path) -> None:
    die_after = {0: 60_000, 1: 120_500, 2: 200_000, 3: 0}
    processes = [start_issuer(tmp_path, number, die_after=after) for number, after in die_after.items()]
    codes = [process.wait(60) for process in processes]
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, -signal.SIGKILL, 0]
    assert [process.wait(60) for process in [start_issuer(tmp_path, number) for number in range(3)]] == [0, 0, 0]
    issued = [np.fromfile(tmp_path / f"{number}.ids", dtype=np.int64) for number in range(PROCESS_COUNT)]
    assert [len(ids) for ids in issued] == [IDS_PER_PROCESS] * PROCESS_COUNT
    assert all(bool((np.diff(ids) > 0).all()) for ids in issued)
    assert len(np.unique(np.concatenate(issued))) == PROCESS_COUNT * IDS_PER_PROCESS


class SetClock(FakeClock):
    """Shows the time that it is told, even an earlier one."""

    at_ms = MIDNIGHT_MS - 60_000

    def now_ms(self) -> int:
        return self.at_ms


async def test_AC_ID_002_a_clock_that_jumps_over_midnight_and_back_raises_the_day_once() -> None:
    clock = SetClock()
    issued: list[ItemId] = []
    async with issuing(MemoryStore(clock).state, clock) as ids:
        for at_ms in (-60_000, 60_000, 1_000_000, 1_000_000 - DAY_MS, 60_000 - DAY_MS, 1_200_000):
            clock.at_ms = MIDNIGHT_MS + at_ms
            for _ in range(30):
                issued += await ids.issue(70)
                await asyncio.sleep(0)
    assert all(first < then for first, then in pairwise(issued))
    days = [day_of(item_id) for item_id in issued]
    assert (days[0], days[-1]) == (20_231_114, 20_231_115)
    assert sum(first != then for first, then in pairwise(days)) == 1


class Stalling:
    """A store that takes two seconds for each segment."""

    def __init__(self, state: Any, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self.is_down = False

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        if self.is_down:
            raise Unavailable("store is down")
        await self._clock.sleep_ms(2_000)
        segment: Segment = await self._state.take_segment(namespace, day=day, step=step)
        return segment


async def test_AC_ID_003_a_store_that_stalls_two_seconds_a_fetch_is_not_noticed() -> None:
    clock = FakeClock()
    waits_us: list[int] = []

    async def demand(ids: SegmentIds, *, seconds: int) -> None:
        """Ask for 1,157 ids in each second, one by one and evenly, and note how long each call took."""
        for number in range(1_157 * seconds):
            if number % 11 == 0:
                await clock.sleep_ms(number * 1_000 // 1_157 - (number - 11) * 1_000 // 1_157 if number else 1)
            asked_at_us = clock.monotonic_us()
            with suppress(IdUnavailable):
                await ids.issue(1)
            waits_us.append(clock.monotonic_us() - asked_at_us)

    async with issuing(Stalling(MemoryStore(clock).state, clock), clock) as ids:
        await demand(ids, seconds=90)
        waits_us.clear()
        await demand(ids, seconds=20)
    assert statistics.quantiles(waits_us, n=100)[98] < 1_000
    assert max(waits_us) < 50_000


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


class Failing:
    """A state that gives a number of segments and then none until it is mended."""

    def __init__(self, state: Any, *, segments_left: int) -> None:
        self._state = state
        self.segments_left = segments_left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        if not self.segments_left:
            raise Unavailable("store is down")
        self.segments_left -= 1
        segment: Segment = await self._state.take_segment(namespace, day=day, step=step)
        return segment


async def test_AC_ID_004_without_a_store_the_stock_is_used_up_and_then_nothing_is_acknowledged() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    failing = Failing(store.state, segments_left=2)
    async with issuing(failing, clock) as ids:
        assert len(await ids.issue(2_000)) == 2_000
        asked_at_ms = clock.now_ms()
        with pytest.raises(IdUnavailable):
            await ids.issue(1)
        assert clock.now_ms() - asked_at_ms <= 50


async def test_AC_ID_004_intake_leaves_offsets_where_they_are_and_recovers_alone() -> None:
    clock = FakeClock()
    store = MemoryStore(clock)
    failing = Failing(store.state, segments_left=2)
    generator = Generator(type="G", topic="posts", plans=("echo",))
    world = World(
        [Plan("echo", tasks=[echo])],
        [generator],
        clock=clock,
        store=store,
        state=failing,
        dispatcher=DispatcherSettings(max_in_flight=256),
    )
    await world.append("posts", *(f"text {number}" for number in range(3_000)))
    async with world.running():
        await clock.sleep_ms(30_000)
        done = (await store.state.counts())["items"]
        assert 1_500 <= done <= 2_000
        lag = await store.log.lag("posts", "G")
        assert lag.undelivered + lag.in_flight + lag.waiting == 3_000 - done
        failing.segments_left = 1_000
        await world.settle("posts", "G")
    runs = await store.state.runs_between("G", after=0, limit=10_000)
    assert len(runs) == 3_000
    assert {(run.status, run.attempt) for run in runs} == {("done", 1)}


def test_AC_ID_005_a_hundred_million_ids_fit_into_a_day_in_the_order_of_their_issue() -> None:
    step, node_count, total = 1_000_000, 4, 10**8
    row: tuple[int, int] | None = None
    ends: list[list[int]] = [[] for _ in range(node_count)]
    for number in range(total // step):
        segment = decide_segment(row, day=20_261_130, step=step)
        row = (segment.day, segment.stop)
        buffer = SegmentBuffer()
        buffer.fill(segment)
        (first,) = buffer.take(1)
        ends[number % node_count] += [first, first + step - 1]
    assert row == (20_261_130, total)
    assert total < IDS_PER_DAY
    assert all(node == sorted(node) for node in ends)
    everything = [last for node in ends for last in node]
    assert len(set(everything)) == len(everything) == 2 * total // step
    assert {day_of(ItemId(last)) for last in everything} == {20_261_130}
    assert max(everything) < 2**63


async def ask_until_given(ids: SegmentIds) -> dict[str, ItemId]:
    """Resolve one new input id; ask again while the busy store cannot give ids in time, as intake does."""
    while True:
        try:
            return await ids.resolve_or_create("posts", ["new"])
        except IdUnavailable:
            continue


def test_AC_ID_006_fifty_threads_that_resolve_one_new_input_id_get_one_item_id(tmp_path: Path) -> None:
    clock = SystemClock()
    store = SqliteStore.open(tmp_path / "store.sqlite", clock=clock, owner="me")
    barrier = threading.Barrier(50)
    answers: list[dict[str, ItemId]] = []

    async def resolve() -> None:
        async with issuing(store.state, clock) as ids:
            await asyncio.to_thread(barrier.wait, 60)
            answers.append(await ask_until_given(ids))

    threads = [threading.Thread(target=lambda: asyncio.run(resolve())) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def look() -> tuple[int, dict[str, ItemId]]:
        try:
            known = await store.state.resolve("posts", ["new"])
            return len(await store.state.input_keys(list(known.values()))), known
        finally:
            await store.close()

    rows, known = asyncio.run(look())
    assert len(answers) == 50
    assert all(answer == known for answer in answers)
    assert rows == 1
