"""What becomes of publications that left no run: waiting, dead, lost, or given up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.domain.outbox import LOST_AFTER_MS, OutboxRow
from gristmill.intake.outbox import OutboxMetrics, Reconciler
from gristmill.testing.clock import FakeClock
from tests.apart.outboxes import open_state, publication, pump_of
from tests.unit.intake.outbox.outlets import FakeOutlet

LOOK_MS = 80_000
"""More than the pause between two looks at a publication that is not much older than LOST_AFTER_MS."""


class Reconciled:
    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.outlet = FakeOutlet()
        self.log = MemoryStore(clock).log
        self.pump = pump_of(store.outbox, self.outlet, clock)
        self.registry = CollectorRegistry()
        self.reconciler = Reconciler(store.outbox, self.outlet, self.log, OutboxMetrics(self.registry))

    async def publish(self, text: str = "x") -> None:
        await self.store.front.inlet.publish([publication(text, 7)])
        await self.pump.run_once()

    async def left(self) -> list[OutboxRow]:
        """Return what is still watched, a long time later."""
        self.clock.advance(100 * LOST_AFTER_MS)
        rows, _ = await self.store.outbox.unsettled(limit=100)
        return rows


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Reconciled]:
    clock = FakeClock()
    store = open_state(tmp_path / "store.sqlite", clock)
    yield Reconciled(store, clock)
    await store.close()


async def test_what_is_still_in_the_log_waits_however_long_that_takes(made: Reconciled) -> None:
    await made.publish()
    for _ in range(5):
        made.clock.advance(LOST_AFTER_MS)
        assert await made.reconciler.run_once() == 0
    assert len(await made.left()) == 1


async def test_what_is_lost_is_sent_again_and_given_up_after_three_generations(made: Reconciled) -> None:
    await made.publish()
    made.outlet.gone = set(range(10))
    for generation in range(1, 4):
        made.clock.advance(LOST_AFTER_MS + 1)
        assert await made.reconciler.run_once() == 1
        assert await made.pump.run_once() == 1
        assert made.outlet.records == {"t": [b"x"] * (generation + 1)}
    made.clock.advance(LOST_AFTER_MS + 1)
    assert await made.reconciler.run_once() == 0
    assert await made.left() == []
    assert made.registry.get_sample_value("gristmill_reconciled_total") == 3


async def test_a_dead_letter_is_no_loss_and_stays_none_once_it_is_closed(made: Reconciled) -> None:
    [offset] = await made.log.append("t", [NewRecord(b"x")])
    [delivery] = await made.log.claim("t", "g", owner="me", limit=1, lease_ms=1_000)
    await made.log.reject(delivery.lease, Diagnosis("crashed", "it killed whoever had it"))
    await made.publish()
    made.outlet.gone = {offset}
    made.clock.advance(LOST_AFTER_MS + 1)
    assert await made.reconciler.run_once() == 0
    [letter] = await made.log.dead_letters()
    await made.log.drop(letter.dead_letter_id)
    assert await made.left() == []


async def test_a_dead_letter_behind_many_others_is_no_loss_either(
    made: Reconciled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.intake.outbox.reconciler.LETTERS_PER_READ", 2)
    offsets = await made.log.append("t", [NewRecord(b"x")] * 5)
    for delivery in await made.log.claim("t", "g", owner="me", limit=5, lease_ms=1_000):
        await made.log.reject(delivery.lease, Diagnosis("crashed", "it killed whoever had it"))
    await made.store.front.inlet.publish([publication(str(number), number) for number in range(5)])
    await made.pump.run_once()
    made.outlet.gone = set(offsets)
    made.clock.advance(LOST_AFTER_MS + 1)
    assert await made.reconciler.run_once() == 0
    assert await made.left() == []


async def test_a_newer_publication_of_the_item_takes_the_place_of_a_lost_one(made: Reconciled) -> None:
    await made.publish()
    again: Any = publication("y", 8, input_id="x")
    await made.store.front.inlet.publish([again])
    made.outlet.gone = {1}
    made.clock.advance(LOST_AFTER_MS + 1)
    await made.pump.run_once()
    assert await made.reconciler.run_once() == 0
    assert [row.record.value for row in await made.left()] == [b"y"]


async def test_at_most_a_page_of_losses_is_sent_again_in_one_run(made: Reconciled) -> None:
    await made.store.front.inlet.publish([publication(str(number), number) for number in range(1_000)])
    for _ in range(11):
        await made.pump.run_once()
    made.outlet.gone = set(range(1_001))
    made.clock.advance(LOST_AFTER_MS + 1)
    assert [await made.reconciler.run_once() for _ in range(3)] == [500, 500, 0]
