"""What every outbox must hold; see `ports.outbox`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gristmill.domain.errors import Unavailable, UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.domain.outbox import (
    LOST_AFTER_MS,
    NewOutboxRow,
    OutboxRow,
    OutboxStanding,
    Refused,
    SendOutcome,
    Sent,
    Unsent,
)
from gristmill.ports.outbox import Outbox
from gristmill.testing.clock import FakeClock

__all__ = ["OutboxBackend", "OutboxContract", "Sender", "outbox_rows"]

WITHIN_S = 20.0


@dataclass
class OutboxBackend:
    """One outbox, seen by two processes.

    Attributes:
        store_run: makes it known that a run of an item at this position is stored.
    """

    outbox: Outbox
    other: Outbox
    clock: FakeClock
    store_run: Callable[[ItemId, int], Coroutine[Any, Any, None]]


class Sender:
    """Takes rows; what it finds in `answers` under a value becomes of it, else it is sent under the next position."""

    def __init__(self, answers: dict[bytes, SendOutcome] | None = None) -> None:
        self.answers = answers or {}
        self.rows: list[OutboxRow] = []

    @property
    def values(self) -> list[bytes]:
        """What was handed over, in its order."""
        return [row.record.value for row in self.rows]

    async def __call__(self, rows: Sequence[OutboxRow]) -> list[SendOutcome]:
        outcomes = []
        for row in rows:
            self.rows.append(row)
            outcomes.append(self.answers.get(row.record.value, Sent(len(self.rows))))
        return outcomes


class OutboxContract:
    """Subclass it and give it a fixture `backend` that yields an `OutboxBackend`."""

    @pytest.fixture
    def outbox(self, backend: OutboxBackend) -> Outbox:
        """The outbox as one process sees it."""
        return backend.outbox

    async def test_rows_are_handed_out_once_in_order_with_all_they_carry(self, outbox: Outbox) -> None:
        record = NewRecord(b"a\x00", key="k", headers={"x": "ü"}, due_at_ms=7)
        ids = await outbox.add([NewOutboxRow("t", record, ItemId(1)), *outbox_rows("b", "c", topic="u")])
        sender = Sender()
        assert await outbox.dispatch(sender) == 3
        assert [row.outbox_id for row in sender.rows] == ids
        assert len(set(ids)) == 3
        assert [(row.topic, row.item_id, row.attempts) for row in sender.rows] == [
            ("t", 1, 0),
            ("u", None, 0),
            ("u", None, 0),
        ]
        assert sender.rows[0].record == record
        assert await outbox.dispatch(sender) == 0

    async def test_a_batch_is_no_larger_than_asked_for(self, outbox: Outbox) -> None:
        await outbox.add(outbox_rows("a", "b", "c"))
        sender = Sender()
        assert [await outbox.dispatch(sender, limit=2) for _ in range(3)] == [2, 1, 0]
        assert sender.values == [b"a", b"b", b"c"]
        with pytest.raises(UsageError):
            await outbox.dispatch(sender, limit=0)

    async def test_a_sender_that_fails_leaves_rows_as_they_were(self, outbox: Outbox) -> None:
        [first] = await outbox.add(outbox_rows("a"))

        async def fail(rows: Sequence[OutboxRow]) -> list[SendOutcome]:
            raise Unavailable("log")

        with pytest.raises(Unavailable):
            await outbox.dispatch(fail)
        sender = Sender()
        assert await outbox.dispatch(sender) == 1
        assert [(row.outbox_id, row.attempts) for row in sender.rows] == [(first, 0)]

    async def test_what_was_not_sent_comes_again_at_once(self, outbox: Outbox) -> None:
        await outbox.add(outbox_rows("a", "b"))
        assert await outbox.dispatch(Sender({b"a": Unsent()})) == 1
        sender = Sender()
        assert await outbox.dispatch(sender) == 1
        assert (sender.values, sender.rows[0].attempts) == ([b"a"], 0)

    async def test_a_refused_row_waits_for_its_time_and_holds_nobody_up(self, backend: OutboxBackend) -> None:
        outbox, clock = backend.outbox, backend.clock
        await outbox.add(outbox_rows("bad", "good"))
        assert await outbox.dispatch(Sender({b"bad": Refused("too large", clock.now_ms() + 1_000)})) == 2
        assert await outbox.dispatch(Sender()) == 0
        assert await outbox.standing() == OutboxStanding(1, clock.now_ms(), "too large")
        clock.advance(1_000)
        sender = Sender()
        assert await outbox.dispatch(sender) == 1
        assert (sender.values, sender.rows[0].attempts) == ([b"bad"], 1)
        assert sender.rows[0].last_error == "too large"
        assert await outbox.standing() == OutboxStanding()

    async def test_what_shares_a_key_is_sent_in_order_whatever_is_refused(self, backend: OutboxBackend) -> None:
        outbox, clock = backend.outbox, backend.clock
        await outbox.add(outbox_rows("a1", "a2", key="a"))
        await outbox.add(outbox_rows("b1", key="b"))
        await outbox.add(outbox_rows("a1", topic="u", key="a"))
        sender = Sender({b"a1": Refused("no", clock.now_ms() + 1_000)})
        await outbox.dispatch(sender)
        assert sorted(sender.values) == [b"a1", b"a1", b"b1"]
        assert await outbox.dispatch(Sender()) == 0
        clock.advance(1_000)
        sender = Sender()
        while await outbox.dispatch(sender):
            continue
        assert [row.record.value for row in sender.rows if row.topic == "t"] == [b"a1", b"a2"]

    async def test_what_another_is_sending_is_passed_over_and_not_waited_for(self, backend: OutboxBackend) -> None:
        await backend.outbox.add(outbox_rows("a", "b"))
        is_sending, may_go_on = asyncio.Event(), asyncio.Event()
        slow = Sender()

        async def send(rows: Sequence[OutboxRow]) -> list[SendOutcome]:
            is_sending.set()
            await may_go_on.wait()
            return await slow(rows)

        sending = asyncio.create_task(backend.outbox.dispatch(send))
        async with asyncio.timeout(WITHIN_S):
            await is_sending.wait()
            assert await backend.other.dispatch(Sender()) == 0
            may_go_on.set()
            assert await sending == 2
            assert await backend.other.dispatch(Sender()) == 0
        assert slow.values == [b"a", b"b"]

    async def test_confirmed_rows_are_forgotten_before_they_go(self, outbox: Outbox) -> None:
        await outbox.add(outbox_rows("a", "b", "c"))
        await outbox.dispatch(Sender({b"c": Unsent()}))
        forgotten: list[bytes] = []

        async def fail(rows: Sequence[OutboxRow]) -> None:
            raise Unavailable("log")

        async def forget(rows: Sequence[OutboxRow]) -> None:
            forgotten.extend(row.record.value for row in rows)

        with pytest.raises(Unavailable):
            await outbox.clean_up(fail, limit=100)
        assert [await outbox.clean_up(forget, limit=1) for _ in range(3)] == [1, 1, 0]
        assert forgotten == [b"a", b"b"]
        sender = Sender()
        assert await outbox.dispatch(sender) == 1
        assert sender.values == [b"c"]

    async def test_a_publication_is_looked_at_until_a_run_of_it_is_stored(self, backend: OutboxBackend) -> None:
        outbox, clock = backend.outbox, backend.clock
        await _send_publications(outbox, 1, 2)
        assert await outbox.unsettled(limit=100) == ([], 0)
        await backend.store_run(ItemId(1), 1)
        clock.advance(11_000)
        assert await outbox.unsettled(limit=100) == ([], 2)
        clock.advance(LOST_AFTER_MS)
        [late], count = await outbox.unsettled(limit=100)
        assert (late.item_id, late.position, late.generation, count) == (2, 2, 0, 1)
        # Looked at again after a while only.
        assert await outbox.unsettled(limit=100) == ([], 0)
        clock.advance(LOST_AFTER_MS)
        [late], _ = await outbox.unsettled(limit=100)
        await outbox.drop([late])
        clock.advance(LOST_AFTER_MS)
        assert await outbox.unsettled(limit=100) == ([], 0)

    async def test_a_run_of_an_earlier_record_settles_nothing_and_one_of_a_later_does(
        self, backend: OutboxBackend
    ) -> None:
        outbox, clock = backend.outbox, backend.clock
        await _send_publications(outbox, 1, 2)
        await backend.store_run(ItemId(1), 0)
        await backend.store_run(ItemId(2), 7)
        clock.advance(LOST_AFTER_MS + 1)
        late, count = await outbox.unsettled(limit=100)
        assert ([row.item_id for row in late], count) == ([1], 2)

    async def test_what_was_lost_is_sent_again_as_the_next_generation(self, backend: OutboxBackend) -> None:
        outbox, clock = backend.outbox, backend.clock
        await _send_publications(outbox, 5)
        clock.advance(LOST_AFTER_MS + 1)
        [late], _ = await outbox.unsettled(limit=100)
        assert await outbox.send_again([late]) == 1
        assert await outbox.send_again([late]) == 0
        sender = Sender()
        assert await outbox.dispatch(sender) == 1
        [again] = sender.rows
        assert (again.record, again.item_id, again.generation) == (late.record, 5, 1)
        assert again.outbox_id != late.outbox_id

    async def test_whoever_waits_is_woken_by_a_row(self, backend: OutboxBackend) -> None:
        waiting = asyncio.create_task(backend.other.wait(timeout_ms=3_600_000))
        async with asyncio.timeout(WITHIN_S):
            while not waiting.done():
                await backend.outbox.add(outbox_rows("a"))
                await asyncio.wait([waiting], timeout=0.05)


def outbox_rows(*texts: str, topic: str = "t", key: str = "") -> list[NewOutboxRow]:
    """Make rows with these values that publish no item."""
    return [NewOutboxRow(topic, NewRecord(text.encode(), key=key)) for text in texts]


async def _send_publications(outbox: Outbox, *item_ids: int) -> None:
    """Publish items and have them sent and forgotten; the first stands at position 1, and so on."""
    await outbox.add([NewOutboxRow("t", NewRecord(b"%d" % one), ItemId(one)) for one in item_ids])
    await outbox.dispatch(Sender())

    async def forget(rows: Sequence[OutboxRow]) -> None:
        assert [row.item_id for row in rows] == list(item_ids)

    await outbox.clean_up(forget, limit=100)
    assert await outbox.clean_up(forget, limit=100) == 0
