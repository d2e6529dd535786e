"""Acceptance checks of the outbox over a log apart, written once for every log; see the files beside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.postgres import PostgresOutbox, PostgresServer
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.front.publication import Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Delivery
from gristmill.domain.outbox import LOST_AFTER_MS, OutboxRow
from gristmill.intake.outbox import OutboxMetrics, Reconciler
from gristmill.ports.log import Log
from gristmill.ports.outbox import Outlet
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit
from gristmill.testing.contracts.outbox import outbox_rows
from tests.apart.outboxes import open_state, publication, pump_of
from tests.on_postgres.servers import fresh_server

__all__ = ["ApartLog", "Group", "OutboxChecks", "SlowOutlet", "claim", "values_of"]

WITHIN_S = 60.0
LEASE_MS = 30_000


class Group(Log, Protocol):
    """A log that can be closed."""

    async def close(self) -> None: ...


Act = Callable[[], Coroutine[Any, Any, None]]


@dataclass
class ApartLog:
    """A log on a server that a test can take away.

    Attributes:
        open_group: returns the log as another process sees it that works for the group.
        down, up: end the server, start it again with what it had.
        lose: delete all records of topic `t`, whoever needs them.
    """

    log: Log
    outlet: Outlet
    open_group: Callable[[], Group]
    down: Act
    up: Act
    lose: Act


class SlowOutlet:
    """Waits before it appends, until it may go on."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self.is_sending = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.forget = outlet.forget
        self.present = outlet.present

    async def append(self, topic: str, rows: Sequence[OutboxRow]) -> list[int]:
        self.is_sending.set()
        await self.may_go_on.wait()
        return await self._outlet.append(topic, rows)


async def values_of(log: Log) -> list[bytes]:
    """Return the values of all records of topic `t`."""
    return [one.value async for batch in log.read_all("t") for one in batch]


async def claim(log: Log) -> list[Delivery]:
    """Return what a group gets, waiting for it."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if found := await log.claim("t", "g", owner="me", limit=10, lease_ms=LEASE_MS):
                return found
            await asyncio.sleep(0.02)


class OutboxChecks:
    """Subclass it and give it fixtures `clock` and `apart`."""

    @pytest.fixture
    async def state(self, tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
        store = open_state(tmp_path / "store.sqlite", clock)
        yield store
        await store.close()

    async def test_AC_EN_006_what_is_published_while_the_log_is_away_is_sent_once_it_is_back(
        self, apart: ApartLog, state: SqliteStore, clock: FakeClock
    ) -> None:
        pump = pump_of(state.outbox, apart.outlet, clock)
        await state.front.inlet.publish([publication("before", 1)])
        assert await pump.run_once() == 1
        await apart.down()
        assert await state.front.inlet.publish([publication("x", 2)]) == Published((ItemId(2),))
        assert await pump.run_once() == 0
        assert (await state.outbox.standing()).pending == 1
        await apart.up()
        async with asyncio.timeout(WITHIN_S):
            sent = 0
            while not sent:
                sent = await pump.run_once()
                await asyncio.sleep(0.05)
        assert sent == 1
        assert await pump.run_once() == 0
        assert await values_of(apart.log) == [b"before", b"x"]
        assert (await state.outbox.standing()).pending == 0

    async def test_AC_EN_007_a_row_that_another_is_sending_is_passed_over(
        self, apart: ApartLog, clock: FakeClock
    ) -> None:
        server = fresh_server()
        outboxes = [PostgresOutbox(one, clock) for one in (server, PostgresServer(server.target))]
        await outboxes[0].add(outbox_rows("x"))
        slow = SlowOutlet(apart.outlet)
        sending = asyncio.create_task(pump_of(outboxes[0], slow, clock).run_once())
        async with asyncio.timeout(WITHIN_S):
            await slow.is_sending.wait()
            other = pump_of(outboxes[1], apart.outlet, clock)
            assert await other.run_once() == 0
            slow.may_go_on.set()
            assert await sending == 1
            assert await other.run_once() == 0
        assert await values_of(apart.log) == [b"x"]
        for outbox in outboxes:
            await outbox.close()
            await outbox.server.close()

    async def test_AC_EN_010_an_item_without_a_row_is_not_sent(
        self, apart: ApartLog, state: SqliteStore, clock: FakeClock
    ) -> None:
        pump = pump_of(state.outbox, apart.outlet, clock)
        await state.state.map_ids("s", {"pending": ItemId(1)})
        await state.front.inlet.publish([publication("x", 2)])
        assert await pump.run_once() == 1
        assert await values_of(apart.log) == [b"x"]

    async def test_AC_EN_012_what_the_log_has_lost_is_sent_again_and_done_once(
        self, apart: ApartLog, state: SqliteStore, clock: FakeClock
    ) -> None:
        pump = pump_of(state.outbox, apart.outlet, clock)
        metrics = OutboxMetrics(registry := CollectorRegistry())
        reconciler = Reconciler(state.outbox, apart.outlet, apart.log, metrics)
        await state.front.inlet.publish([publication("kept", 1)])
        await pump.run_once()
        await _do_next(state, apart.open_group(), expected=b"kept")
        await state.front.inlet.publish([publication("lost", 2)])
        await pump.run_once()
        await apart.lose()
        clock.advance(LOST_AFTER_MS - 1_000)
        assert await reconciler.run_once() == 0
        again = 0
        for _ in range(6):
            clock.advance(12_000)
            again += await reconciler.run_once()
        assert again == 1
        assert registry.get_sample_value("gristmill_reconciled_total") == 1
        assert await pump.run_once() == 1
        await _do_next(state, apart.open_group(), expected=b"lost")
        for _ in range(20):
            clock.advance(60_000)
            assert await reconciler.run_once() == 0
        assert await pump.run_once() == 0
        for item_id in (ItemId(1), ItemId(2)):
            assert [run.status for run in await state.state.runs(item_id)] == ["done"]


async def _do_next(state: SqliteStore, log: Group, *, expected: bytes) -> None:
    """Do what a group does with the one record that there is for it, and end the group."""
    [delivery] = await claim(log)
    assert delivery.value == expected
    item_id = (await state.state.resolve("s", [delivery.value.decode()])).popitem()[1]
    lease = delivery.lease
    await state.state.commit([make_commit(item_id, lease=lease, position=lease.offset)])
    assert await log.accept([lease]) == [True]
    await log.close()
