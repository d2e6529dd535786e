"""What only the outbox of a SQLite store knows: its own inlet, places of records that came in twice, and quarantine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.commit import Quarantine
from gristmill.domain.front.publication import KeyTaken, Once, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.outbox import LOST_AFTER_MS
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit
from gristmill.testing.contracts.outbox import Sender
from tests.apart.outboxes import open_state, publication

DAY_MS = 86_400_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(is_jumping=True)


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    store = open_state(tmp_path / "store.sqlite", clock)
    yield store
    await store.close()


async def send_all(store: SqliteStore) -> Sender:
    """Have everything sent and forgotten."""
    sender = Sender()
    while await store.outbox.dispatch(sender):
        continue

    async def forget(rows: object) -> None:
        return None

    await store.outbox.clean_up(forget, limit=100)
    return sender


async def test_what_is_published_is_a_row_with_the_item_and_a_key_of_its_own(store: SqliteStore) -> None:
    await store.front.inlet.publish([publication("a", 1), publication("b", 2, topic="u", input_id="a")])
    sender = await send_all(store)
    assert [(row.topic, row.record.value, row.record.key, row.item_id) for row in sender.rows] == [
        ("t", b"a", "main/s/a", 1),
        ("u", b"b", "main/s/a", 1),
    ]
    assert await store.log.topics() == []


async def test_a_repeated_call_adds_no_second_row(store: SqliteStore, clock: FakeClock) -> None:
    once = Once("key", "print", clock.now_ms() + 1_000)
    assert await store.front.inlet.publish([publication("a", 1)], once=once) == Published((ItemId(1),))
    again = await store.front.inlet.publish([publication("a", 1)], once=once)
    assert again == Published((ItemId(1),), is_replay=True)
    other = Once("key", "other", once.until_ms)
    assert await store.front.inlet.publish([publication("b", 2)], once=other) == KeyTaken()
    assert (await store.outbox.standing()).pending == 1


async def test_a_run_where_a_record_stood_first_settles_a_publication_that_was_sent_twice(
    store: SqliteStore, clock: FakeClock
) -> None:
    await store.front.inlet.publish([publication("a", 1), publication("b", 2)])
    sender = await send_all(store)
    second = sender.rows[1].outbox_id
    assert await store.origins.settle("t", "g", {second: 1}) == {second: 1}
    assert await store.origins.settle("t", "g", {second: 2}) == {second: 1}
    assert await store.origins.settle("t", "h", {second: 2}) == {second: 2}
    for item_id in (1, 2):
        await store.state.commit([make_commit(item_id, position=1)])
    clock.advance(LOST_AFTER_MS + 1)
    assert await store.outbox.unsettled(limit=100) == ([], 2)


async def test_a_publication_in_quarantine_has_come_to_something(store: SqliteStore, clock: FakeClock) -> None:
    await store.front.inlet.publish([publication("bad", 1), publication("other", 2)])
    await send_all(store)
    refused = [
        Quarantine(
            lease=None,
            source="s",
            generator="g",
            position=position,
            raw=b"bad",
            reason="invalid",
            violations=("text: missing",),
            at_ms=clock.now_ms(),
        )
        for position in (1, 2)
    ]
    await store.state.commit(refused)
    clock.advance(LOST_AFTER_MS + 1)
    late, count = await store.outbox.unsettled(limit=100)
    assert ([row.item_id for row in late], count) == ([2], 2)


async def test_origins_are_kept_as_long_as_topics_keep_records(store: SqliteStore, clock: FakeClock) -> None:
    await store.origins.settle("t", "g", {"a": 1})
    clock.advance(6 * DAY_MS)
    await store.origins.settle("t", "g", {"b": 2})
    clock.advance(2 * DAY_MS)
    deleted = await store.upkeep.sweep(RetentionRules(), now_ms=clock.now_ms(), is_clock_right=True)
    assert deleted["origin"] == 1
    assert await store.origins.settle("t", "g", {"a": 9, "b": 9}) == {"a": 9, "b": 2}
