"""Who may work on a record, and what becomes of work whose lease is gone; over every log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from gristmill.domain.commit import Committed, Fenced
from gristmill.domain.errors import StaleRead
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Diagnosis, Lease, NewRecord
from gristmill.ports.handling import Handling
from gristmill.ports.log import Log
from gristmill.ports.state import State
from gristmill.testing.cut_proxy import CutProxy
from gristmill.testing.redis_server import RedisProcess
from tests.runners.driving import Script, append, driving, has_nothing_left, result_of, until
from tests.runners.places import KafkaPlaces, Places, RedisPlaces, SqlitePlaces

LEASE_MS = 1_000
SHORT = {"lease_ms": LEASE_MS, "workers": 1}


class Gate:
    """A handler that stands still until it is let go, and says how it ended."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun: list[Handling] = []
        self.done: list[Handling] = []
        self.cancelled_at_s: dict[int, float] = {}
        self.at_once = 0
        self.at_once_max = 0

    async def __call__(self, handling: Handling) -> None:
        self.begun.append(handling)
        self.at_once += 1
        self.at_once_max = max(self.at_once, self.at_once_max)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled_at_s[handling.delivery.lease.offset] = time.monotonic()
            raise
        finally:
            self.at_once -= 1
        self.done.append(handling)


class Deaf:
    """A log that claims to have renewed leases while it is deaf, and notes what is said of records."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.is_deaf = True
        self.said: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("accept", "release", "reject"):
            self.said.append(name)
        return getattr(self._log, name)

    async def renew(self, leases: Sequence[Lease], *, lease_ms: int) -> list[bool]:
        return [True] * len(leases) if self.is_deaf else await self._log.renew(leases, lease_ms=lease_ms)


@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_AC_EN_022_a_long_run_and_a_record_behind_it_stay_with_their_process(places: Places, log: Log) -> None:
    settings = msgspec.structs.replace(places.settings, **SHORT)
    other = await places.log()
    gate = Gate()
    await append(log, "a", "b")
    async with driving(log, gate, msgspec.structs.replace(settings, prefetch=1)):
        await until(lambda: len(gate.begun) == 1)
        async with driving(other, gate, settings):
            await asyncio.sleep(4 * LEASE_MS / 1_000)
            assert len(gate.begun) == 1
            assert (await log.lag("t", "g")).in_flight == 2
            gate.open.set()
            await until(has_nothing_left(log))
    assert [(one.delivery.value, one.attempt) for one in gate.done] == [(b"a", 1), (b"b", 1)]
    assert gate.at_once_max == 1
    assert await log.dead_letters() == []


@pytest.mark.parametrize("places", ["redis"], indirect=True)
async def test_AC_EN_023_half_a_lease_without_the_server_cancels_nothing(
    places: RedisPlaces, redis_process: RedisProcess
) -> None:
    proxy = CutProxy(redis_process.port)
    log = places.log_at(f"redis://127.0.0.1:{proxy.port}")
    lease_ms = 4_000
    gate = Gate()
    await append(log, "a")
    async with driving(log, gate, msgspec.structs.replace(places.settings, lease_ms=lease_ms)):
        await until(lambda: len(gate.begun) == 1)
        proxy.stall(is_stalled=True)
        proxy.cut()
        await asyncio.sleep(0.5 * lease_ms / 1_000)
        proxy.stall(is_stalled=False)
        await asyncio.sleep(0.5 * lease_ms / 1_000)
        assert gate.cancelled_at_s == {}
        gate.open.set()
        await until(has_nothing_left(await places.log()))
    assert [one.attempt for one in gate.begun] == [1]
    proxy.close()


async def test_AC_EN_024_work_whose_lease_went_to_another_is_cancelled_at_once(places: Places, log: Log) -> None:
    settings = msgspec.structs.replace(places.settings, workers=8, **{"lease_ms": LEASE_MS})
    deaf, gate = Deaf(log), Gate()
    waits: dict[int, bool] = {}

    async def wait_for_model(handling: Handling) -> None:
        """Wait as a client does between two tries of a model, in a thread that only the token reaches."""
        offset = handling.delivery.lease.offset
        waits[offset] = False
        try:
            await gate(handling)
        finally:
            waits[offset] = await asyncio.to_thread(handling.cancel.wait, 30.0)

    await log.append("t", [NewRecord(b"%d" % number, key=f"k{number}") for number in range(8)])
    async with driving(deaf, wait_for_model, settings):
        await until(lambda: len(gate.begun) == 8)
        other = await places.log()
        taken = await until_taken(other, 1)
        taken_at_s = time.monotonic()
        deaf.is_deaf = False
        lost = {one.offset for one in taken}
        await until(lambda: lost <= {offset for offset, is_cancelled in waits.items() if is_cancelled}, within_s=20)
        # The next beat is a third of a lease away; the rest is for a machine that has other things to do.
        assert max(gate.cancelled_at_s[offset] for offset in lost) - taken_at_s < 5
        [handling, *_] = [one for one in gate.begun if one.delivery.lease.offset in lost]
        with pytest.raises(StaleRead):
            handling.cancel.check()
        await other.release(taken, counted=False)
        gate.open.set()
        for each in gate.begun:
            each.cancel.cancel("the test is over")


async def until_taken(log: Log, count: int) -> list[Lease]:
    """Claim until so many records came, as another process."""
    taken: list[Lease] = []

    async def claim() -> bool:
        found = await log.claim("t", "g", owner="other", limit=10, lease_ms=60_000)
        taken.extend(one.lease for one in found)
        return len(taken) >= count

    await until(claim)
    return taken


@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_AC_EN_025_whoever_lost_a_record_can_do_nothing_to_it(places: Places, log: Log) -> None:
    deaf, gate, other = Deaf(log), Gate(), await places.log()
    await append(log, "a")
    async with driving(deaf, gate, msgspec.structs.replace(places.settings, **SHORT)):
        await until(lambda: len(gate.begun) == 1)
        [theirs] = await until_taken(other, 1)
        deaf.is_deaf = False
        await until(lambda: len(gate.cancelled_at_s) == 1)
    assert deaf.said == []
    [mine] = [one.delivery.lease for one in gate.begun]
    assert await log.renew([mine], lease_ms=60_000) == [False]
    assert await log.accept([mine]) == [False]
    assert await log.release([mine]) == [False]
    assert await log.reject(mine, Diagnosis("late", "late")) == "lost"
    assert await log.dead_letters() == []
    assert await other.renew([theirs], lease_ms=60_000) == [True]
    assert await other.accept([theirs]) == [True]


async def test_AC_EN_026_what_a_stopped_process_had_is_done_by_the_next(places: Places, log: Log) -> None:
    gate, script = Gate(), Script()
    await append(log, "a")
    async with driving(log, gate, msgspec.structs.replace(places.settings, drain_ms=0)):
        await until(lambda: len(gate.begun) == 1)
    assert len(gate.cancelled_at_s) == 1
    lag = await log.lag("t", "g")
    assert lag.undelivered + lag.waiting == 1
    next_log = await places.log()
    if isinstance(places, KafkaPlaces):
        await log.close()  # type: ignore[attr-defined]
    async with driving(next_log, script, places.settings):
        await until(lambda: len(script.calls) == 1)
        await until(has_nothing_left(next_log))
    assert script.calls == [("a", 1)]
    assert await next_log.dead_letters() == []


class Storing:
    """A handler that stores a result under its fence, whenever it is told to, even if it was cancelled meanwhile."""

    def __init__(self, state: State, name: str, *, is_open: bool) -> None:
        self._state = state
        self._name = name
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        if is_open:
            self.open.set()
        self.answers: list[object] = []

    async def __call__(self, handling: Handling) -> None:
        lease = handling.delivery.lease
        await self._state.fence([lease], until_ms=handling.delivery.appended_at_ms + 3_600_000)
        self.begun.set()
        with suppress(asyncio.CancelledError):
            await self.open.wait()
        self.answers += await self._state.commit([result_of(lease, self._name)])


async def test_AC_EN_027_a_late_run_leaves_what_is_done_as_it_is(places: Places) -> None:
    (late_log, late_state), (log, state) = [await open_both(places) for _ in range(2)]
    deaf = Deaf(late_log)
    late, prompt = Storing(late_state, "late", is_open=False), Storing(state, "prompt", is_open=True)
    await append(late_log, "a")
    settings = msgspec.structs.replace(places.settings, **SHORT)
    async with driving(deaf, late, settings):
        await late.begun.wait()
        if isinstance(places, KafkaPlaces):
            await late_log.close()  # type: ignore[attr-defined]
        async with driving(log, prompt, settings):
            await until(lambda: len(prompt.answers) == 1)
            await until(has_nothing_left(log))
        deaf.is_deaf = False
        await until(lambda: len(late.answers) == 1)
    assert (prompt.answers, late.answers) == ([Committed()], [Fenced()])
    [run] = await state.runs(ItemId(7))
    assert (run.status, run.reason) == ("done", "prompt")


async def open_both(places: Places) -> tuple[Log, State]:
    """Open log and state as one process: one file where there is one."""
    if isinstance(places, SqlitePlaces):
        store = await places.store()
        return store.log, store.state
    return await places.log(), await places.state()
