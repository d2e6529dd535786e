"""Numbers of events are positions that receivers remember: none is ever given twice."""

from __future__ import annotations

from pathlib import Path

from gristmill.adapters.sqlite import SqliteStore
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.upkeep import fit_restored
from gristmill.domain.ids import IDS_PER_DAY, ItemId
from gristmill.domain.upkeep.loss import Loss
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.testing.clock import FakeClock
from tests.delivery.desk import change

DAY_MS = 86_400_000
OLD = 20_200_101 * IDS_PER_DAY


async def test_the_highest_number_outlives_its_item(tmp_path: Path) -> None:
    clock = FakeClock(is_jumping=True)
    store = SqliteStore.open(tmp_path / "store.sqlite", clock=clock, owner="me", synchronous="NORMAL")
    await store.state.commit([change(OLD + 1, 1)])
    await store.state.commit([change(OLD + 2, 2)])
    rules = RetentionRules(items_ms=DAY_MS)
    await store.upkeep.sweep(rules, now_ms=clock.now_ms())
    assert await store.state.item(ItemId(OLD + 2)) is None
    assert [one.position for one in await store.changes.read(after=0, limit=10)] == [2]
    await store.state.commit([change(OLD + 3, 3)])
    assert await store.changes.end() == 3
    await store.close()


async def test_a_restored_store_tells_changes_above_what_was_told_before(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path, clock=FakeClock(), owner="me", synchronous="NORMAL")
    await store.state.commit([change(1, 1)])
    await store.close()
    loss = Loss(elapsed_ms=60_000, day=20_261_130, since_midnight_ms=1_000, namespaces=())
    fit_restored(StoreFile(path), loss)
    store = SqliteStore.open(path, clock=FakeClock(), owner="me", synchronous="NORMAL")
    await store.state.commit([change(1, 2)])
    changes = await store.changes.read(after=0, limit=10)
    assert [len(one.events) for one in changes] == [2, 0, 2]
    assert changes[-1].position > 60_000 * 1_000
    assert await store.changes.position_at(1) == 0
    await store.close()
