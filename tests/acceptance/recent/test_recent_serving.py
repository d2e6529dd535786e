"""Serving: catching up, readiness, staleness and faults (specification, sections 2, 6, 7, 8 and 19)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import google_crc32c
import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import NewRecord, StoredRecord
from gristmill.ports.log import Log
from gristmill.recent import Event, EventKind, encode_frame, rows_of
from gristmill.recent import serving as serving_module
from gristmill.recent.core.gate import Gate
from gristmill.recent.serving import RecentServing
from gristmill.testing.clock import FakeClock
from tests.recent.making import ENGINES, ids
from tests.recent.stage import ITEMS, Instead, append_frames, asked, make_serving, running, until

CLOCK = SystemClock()
over_engines = pytest.mark.parametrize("engine", ENGINES)


def items(count: int, *, author: int = 7, first: int = 1, at_ms: int | None = None) -> list[Event]:
    """Items of one author, the last of them the newest."""
    now_ms = (CLOCK.now_ms() if at_ms is None else at_ms) - 1_000
    return [Event(item=first + n, author=author, at_ms=now_ms - count + n) for n in range(count)]


@over_engines
async def test_AC_RS_001_two_servers_hold_everything_and_leave_no_group_behind(log: Log, engine: str) -> None:
    await append_frames(log, items(300), size=30)
    serving, other = make_serving(log, CLOCK, engine=engine), make_serving(log, CLOCK, engine=engine)
    async with running(serving), running(other):
        assert [one.store.sizes().items for one in (serving, other)] == [300, 300]
    assert await log.trim(ITEMS, upto=10**9) == 0, "a topic that has a group would be trimmed"


@over_engines
async def test_AC_RS_004_a_server_that_starts_again_ends_with_the_same_items(log: Log, engine: str) -> None:
    await append_frames(log, items(120))
    answers = []
    for _ in range(2):
        serving = make_serving(log, CLOCK, engine=engine)
        async with running(serving):
            answers.append(asked(serving, 7))
    assert answers[0] == answers[1] == list(range(120, 70, -1))


async def test_AC_RS_014_a_part_that_ends_ends_the_server_and_says_where(log: Log) -> None:
    async def break_down(topic: str, **further: Any) -> AsyncIterator[list[StoredRecord]]:
        if topic == ITEMS:
            raise ValueError(f"partition of {topic} is broken")
        yield []

    broken: Any = Instead(log, read_all=break_down)
    serving = make_serving(broken, CLOCK)
    with pytest.raises(ValueError, match=r"recent\.items is broken"):
        await serving.run()


async def test_AC_RS_046_a_server_ends_though_its_client_library_loses_a_cancellation() -> None:
    clock = FakeClock()
    memory, lost = MemoryStore(clock).log, 0

    async def read_all(topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        nonlocal lost
        async for records in memory.read_all(topic, after=after):
            yield records
        while not until_end:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost += 1
                if lost == 2:
                    raise

    log: Any = Instead(memory, read_all=read_all)
    async with running(make_serving(log, clock)) as task:
        await until_still()
    assert (task.done(), lost) == (True, 2)


async def test_AC_RS_015_a_lag_that_cannot_be_looked_up_stops_nothing() -> None:
    clock = FakeClock()
    memory, looks = MemoryStore(clock).log, 0

    async def end(topic: str) -> int:
        nonlocal looks
        looks += 1
        if 1 < looks < 5:
            raise Unavailable("log", advice="broken on purpose")
        return await memory.end(topic)

    log: Any = Instead(memory, end=end)
    serving = make_serving(log, clock)
    async with running(serving) as task:
        await append_frames(memory, items(5, at_ms=clock.now_ms()))
        for seen in range(2, 7):
            clock.advance(1_000)
            await until(lambda seen=seen: looks >= seen)  # type: ignore[misc]
        await until(lambda: serving.store.sizes().items == 5)
        assert not task.done()


@over_engines
async def test_AC_RS_016_what_cannot_be_used_is_skipped_and_counted(log: Log, engine: str) -> None:
    good = [encode_frame(rows_of([one])) for one in items(991)]
    unknown = bytearray(encode_frame(rows_of([Event(item=9_999, author=7, at_ms=CLOCK.now_ms())])))
    unknown[16 + 22] |= 6
    frame = bytes(unknown[:-4])
    odd = [b"broken %d" % number for number in range(7)] + [
        b"",
        frame + google_crc32c.value(frame).to_bytes(4, "little"),
    ]
    draw = random.Random(16)
    values = good + odd
    draw.shuffle(values)
    await log.append(ITEMS, [NewRecord(value) for value in values])
    serving = make_serving(log, CLOCK, engine=engine)
    async with running(serving):
        counts = serving.store.tally.counts
        assert counts["inserted"] == 991
        assert (counts["decode_failed"], counts["unknown_kind"], counts["empty"]) == (7, 1, 1)
        assert serving.store.tally.outcomes == serving.store.tally.read == 1_000
        assert len(serving.bad.kept) == 8
        assert sum(bad.value.startswith(b"broken") for bad in serving.bad.kept) == 7


async def test_AC_RS_018_an_empty_topic_is_ready_at_once(log: Log) -> None:
    serving = make_serving(log, CLOCK)
    async with running(serving):
        assert asked(serving, 7) == []
        assert state_of(serving) == "ready"


async def test_AC_RS_019_a_few_events_are_not_kept_back_until_a_batch_is_full(log: Log) -> None:
    await append_frames(log, items(10), size=3)
    serving = make_serving(log, CLOCK)
    async with running(serving):
        assert asked(serving, 7) == list(range(10, 0, -1))
        await append_frames(log, items(1, first=11))
        await until(lambda: serving.store.sizes().items == 11)


async def test_AC_RS_024_answers_are_stale_while_something_newer_is_known_to_wait() -> None:
    clock = FakeClock()
    memory = MemoryStore(clock).log
    stalled = asyncio.Event()
    stalled.set()

    async def read_all(topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        async for records in memory.read_all(topic, after=after, until_end=until_end):
            await stalled.wait()
            yield records

    log: Any = Instead(memory, read_all=read_all)
    serving = make_serving(log, clock)

    async def pass_time(seconds: int) -> None:
        for _ in range(seconds):
            clock.advance(1_000)
            for _ in range(10):
                await asyncio.sleep(0)

    await append_frames(memory, items(3, at_ms=clock.now_ms()))
    async with running(serving):
        await pass_time(200)
        assert state_of(serving) == "ready", "nothing is known to wait"
        stalled.clear()
        await append_frames(memory, items(1, first=4, at_ms=clock.now_ms()))
        await pass_time(55)
        assert state_of(serving) == "ready"
        await pass_time(10)
        assert state_of(serving) == "stale"
        assert serving.gate.behind == 1
        assert asked(serving, 7) == [3, 2, 1], "answers go on"
        stalled.set()
        await pass_time(3)
        assert state_of(serving) == "ready"
        assert asked(serving, 7) == [4, 3, 2, 1]


async def test_AC_RS_037_a_clock_that_jumps_brings_one_sweep_and_not_thirty(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    serving = make_serving(MemoryStore(clock).log, clock)
    sweeps: list[int] = []
    async with running(serving):
        monkeypatch.setattr(serving.store, "sweep", lambda: sweeps.append(clock.now_ms()))
        clock.advance(119_000)
        await until_still()
        assert sweeps == [], "the first comes one interval after the start"
        clock.advance(3_600_000)
        await until_still()
        assert len(sweeps) == 1


def state_of(serving: RecentServing) -> str:
    return serving.gate.state


async def until_still() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(40))
async def test_AC_RS_061_no_fault_of_a_log_brings_a_wrong_answer(seed: int) -> None:
    """Errors, stalls, duplicates and reordering; then: nothing deleted, doubled or expired, and nothing missing."""
    draw, clock = random.Random(seed), FakeClock(is_jumping=True)
    memory = MemoryStore(clock).log
    now_ms = clock.now_ms()
    events = [
        Event(item=number, author=number % 5, at_ms=now_ms - draw.randrange(172_900_000)) for number in range(1, 120)
    ]
    dead = set(draw.sample(range(1, 120), 20))
    events += [Event(kind=EventKind.DELETE, item=item, at_ms=now_ms) for item in dead]
    events += draw.choices(events, k=60)
    draw.shuffle(events)
    await append_frames(memory, events, size=draw.randrange(1, 40))
    faults = [Unavailable("log", advice="broken on purpose") for _ in range(4)]

    async def read_all(topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        async for records in memory.read_all(topic, after=after, until_end=until_end):
            for record in records:
                if faults and after and draw.random() < 0.4:
                    raise faults.pop()
                yield [record, record] if draw.random() < 0.2 else [record]
                after = record.offset

    log: Any = Instead(memory, read_all=read_all)
    serving = make_serving(log, clock)
    async with running(serving):
        fresh = {one.item: one for one in events if one.kind == EventKind.CREATE}
        expected = {
            item for item, one in fresh.items() if item not in dead and one.at_ms >= clock.now_ms() - 172_800_000
        }
        found = asked(serving, *range(5), results=5_000)
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert serving.store.tally.outcomes == serving.store.tally.read


class Watched:
    """Says of every batch that is applied whether the server was ready before it."""

    def __init__(self, gate: Gate, target: int) -> None:
        self.gate = gate
        self.target = target
        self.early: list[int] = []

    def check(self, applied: int) -> None:
        if self.gate.is_open and applied < self.target:
            self.early.append(applied)


@pytest.mark.parametrize("seed", range(20))
async def test_P11_no_server_is_ready_before_it_has_applied_what_the_log_held_at_its_start(seed: int) -> None:
    draw, clock = random.Random(seed), FakeClock(is_jumping=True)
    memory = MemoryStore(clock).log
    count = draw.choice([0, 1, 7, 40])
    await append_frames(memory, items(count, at_ms=clock.now_ms()), size=1)
    extra = iter(items(30, first=1_000, at_ms=clock.now_ms()))
    failures = [2] if count else [0]

    async def read_all(topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        async for records in memory.read_all(topic, after=after, until_end=until_end):
            for record in records:
                watched.check(serving.store.sizes().items)
                if draw.random() < 0.3:
                    await append_frames(memory, [one for _, one in zip(range(2), extra, strict=False)])
                if after and failures[0] and draw.random() < 0.3:
                    failures[0] -= 1
                    raise Unavailable("log", advice="broken on purpose")
                await clock.sleep_ms(draw.randrange(400))
                yield [record]
                after = record.offset

    log: Any = Instead(memory, read_all=read_all)
    serving = make_serving(log, clock)
    watched = Watched(serving.gate, count)
    with pytest.raises(Unavailable, match="not ready"):
        asked(serving, 7)
    async with running(serving):
        watched.check(serving.store.sizes().items)
        held: Sequence[int] = serving.store.get(ids(*range(1, count + 1)), now_ms=clock.now_ms())["item"].tolist()
        assert list(held) == list(range(1, count + 1))
    assert watched.early == []


async def test_P11_a_log_that_cannot_be_read_at_the_start_ends_the_server() -> None:
    clock = FakeClock()

    async def refuse(topic: str, **further: Any) -> AsyncIterator[list[StoredRecord]]:
        if topic == ITEMS:
            raise Unavailable("log", advice="broken on purpose")
        yield []

    log: Any = Instead(MemoryStore(clock).log, read_all=refuse)
    serving = make_serving(log, clock)
    with pytest.raises(Unavailable, match="broken on purpose"):
        await serving.run()
    assert not serving.gate.is_open


async def test_AC_RS_061_a_log_that_stays_away_for_long_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serving_module.GIVE_UP_MS == 600_000
    monkeypatch.setattr(serving_module, "GIVE_UP_MS", 20_000)
    clock = FakeClock(is_jumping=True)
    memory, is_away = MemoryStore(clock).log, False
    await append_frames(memory, items(1, at_ms=clock.now_ms()))

    async def read_all(topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        nonlocal is_away
        if is_away:
            raise Unavailable("log", advice="broken on purpose")
        async for records in memory.read_all(topic, after=after):
            yield records
        is_away = True

    log: Any = Instead(memory, read_all=read_all)
    serving = make_serving(log, clock)
    began_ms = clock.now_ms()
    with pytest.raises(Unavailable):
        await serving.run()
    assert 20_000 < clock.now_ms() - began_ms < 30_000


async def test_a_log_that_fails_now_and_then_is_read_on() -> None:
    clock = FakeClock(is_jumping=True)
    memory, reads = MemoryStore(clock).log, 0
    await append_frames(memory, items(1, at_ms=clock.now_ms()))

    async def read_all(topic: str, *, after: int = 0, until_end: bool = True) -> AsyncIterator[list[StoredRecord]]:
        nonlocal reads
        reads += 1
        async for records in memory.read_all(topic, after=after):
            yield records
        if reads > 5:
            raise RuntimeError("seen enough")
        if reads > 1:
            await clock.sleep_ms(serving_module.GIVE_UP_MS + 1)
            raise Unavailable("log", advice="broken on purpose")

    log: Any = Instead(memory, read_all=read_all)
    with pytest.raises(RuntimeError, match="seen enough"):
        await make_serving(log, clock).run()
