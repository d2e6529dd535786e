"""What every source of changes and every memory of deliveries must hold."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from gristmill.domain.delivery import Attempt, Progress
from gristmill.domain.errors import StaleRead
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.run import Event
from gristmill.ports.delivery import ATTEMPTS_KEPT, Changes, Deliveries
from gristmill.ports.front import LabelFacts
from gristmill.ports.state import State
from gristmill.testing.contracts.backend import make_commit, run_id_of

__all__ = ["DeliveryContract", "DeliveryPorts"]


class DeliveryPorts(msgspec.Struct):
    """The ports of one store."""

    state: State
    facts: LabelFacts
    changes: Changes
    deliveries: Deliveries


def _told(number: int, *, at_ms: int = 1_000, status: str = "done") -> tuple[Event, ...]:
    return (Event("run.ended", ItemId(number), run_id_of(number), at_ms, {"status": status}),)


def _attempt(number: int) -> Attempt:
    return Attempt(at_ms=number, request_id=f"r{number}", message_count=1, position=number, status=200, took_ms=1)


class DeliveryContract:
    """See `ports.delivery`. A subclass gives it a `ports` fixture."""

    @pytest.fixture
    async def ports(self) -> DeliveryPorts:
        """Overridden by the test class of a backend."""
        raise NotImplementedError("give the subclass a fixture named ports")

    async def test_changes_come_in_the_order_of_commits_and_once(self, ports: DeliveryPorts) -> None:
        assert (await ports.changes.end(), await ports.changes.read(after=0, limit=10)) == (0, [])
        for number in (3, 1, 2):
            await ports.state.commit([make_commit(number, events=_told(number))])
        seen = await ports.changes.read(after=0, limit=2)
        seen += await ports.changes.read(after=seen[-1].position, limit=2)
        assert [change.item_id for change in seen] == [3, 1, 2]
        assert sorted({change.position for change in seen}) == [change.position for change in seen]
        assert await ports.changes.end() == seen[-1].position
        assert await ports.changes.read(after=seen[-1].position, limit=2) == []

    async def test_a_reader_that_follows_many_writers_misses_nothing(self, ports: DeliveryPorts) -> None:
        async def write(numbers: range) -> None:
            for number in numbers:
                await ports.state.commit([make_commit(number, events=_told(number))])

        async def follow() -> list[int]:
            place, found = 0, list[int]()
            while len(found) < 120:
                for change in await ports.changes.read(after=place, limit=7):
                    place, found = change.position, [*found, change.item_id]
                await asyncio.sleep(0)
            return found

        writing = [asyncio.create_task(write(range(start, 121, 4))) for start in range(1, 5)]
        found = await follow()
        await asyncio.gather(*writing)
        assert sorted(found) == list(range(1, 121))

    async def test_what_a_repeated_run_tells_anew_and_what_people_say_are_changes(self, ports: DeliveryPorts) -> None:
        await ports.state.commit([make_commit(1, status="failed", events=_told(1, status="failed"))])
        first = await ports.changes.end()
        await ports.state.commit([make_commit(1, events=_told(1))])
        second = await ports.changes.end()
        fact = LabelFact(item_id=ItemId(1), val="spam", is_negated=False, actor="eve", reason="so", at_ms=7)
        await ports.facts.add(fact)
        third = await ports.changes.end()
        assert first < second < third
        known = (await ports.changes.look_up([ItemId(1), ItemId(9)]))[ItemId(1)]
        assert (known.position, known.item.text, known.runs[0].status) == (third, "text 1", "done")
        assert [one.val for one in known.facts] == ["spam"]

    async def test_a_time_leads_to_the_position_before_it(self, ports: DeliveryPorts) -> None:
        for number in range(1, 10):
            await ports.state.commit([make_commit(number, events=_told(number, at_ms=number * 1_000))])
        after = await ports.changes.position_at(5_000)
        assert [change.item_id for change in await ports.changes.read(after=after, limit=1)] == [5]
        assert await ports.changes.position_at(0) == await ports.changes.beginning()
        assert await ports.changes.position_at(10_000) == await ports.changes.end()

    async def test_a_subscription_begins_once(self, ports: DeliveryPorts) -> None:
        first = await ports.deliveries.add(Progress(tenant="main", name="desk", position=7))
        again = await ports.deliveries.add(Progress(tenant="main", name="desk", position=9))
        other = await ports.deliveries.add(Progress(tenant="acme", name="desk"))
        assert (first, first.position, first.version) == (again, 7, 1)
        assert first.subscription_id != other.subscription_id
        assert await ports.deliveries.all() == [other, first]
        assert await ports.deliveries.find("desk", tenant="main") == first
        assert await ports.deliveries.find("none", tenant="main") is None

    async def test_whoever_writes_has_seen_the_last_version(self, ports: DeliveryPorts) -> None:
        first = await ports.deliveries.add(Progress(tenant="main", name="desk"))
        paused = msgspec.structs.replace(first, status="paused", why="by eve")
        second = await ports.deliveries.save(paused)
        assert (second.version, second.status) == (first.version + 1, "paused")
        with pytest.raises(StaleRead, match="desk"):
            await ports.deliveries.save(first, sent={ItemId(1): {"text": "a"}}, attempts=[_attempt(1)])
        assert await ports.deliveries.sent(first.subscription_id, [ItemId(1)]) == {}
        assert await ports.deliveries.attempts(first.subscription_id) == []
        assert await ports.deliveries.find("desk", tenant="main") == second

    async def test_what_was_sent_is_remembered_for_each_subscription(self, ports: DeliveryPorts) -> None:
        one = await ports.deliveries.add(Progress(tenant="main", name="one"))
        two = await ports.deliveries.add(Progress(tenant="main", name="two"))
        one = await ports.deliveries.save(one, sent={ItemId(1): {"text": "a"}, ItemId(2): {}})
        one = await ports.deliveries.save(one, sent={ItemId(1): {"text": "b"}, ItemId(2): None, ItemId(3): None})
        items = [ItemId(1), ItemId(2), ItemId(3)]
        assert await ports.deliveries.sent(one.subscription_id, items) == {1: {"text": "b"}}
        assert await ports.deliveries.sent(two.subscription_id, items) == {}

    async def test_the_newest_attempts_are_kept(self, ports: DeliveryPorts) -> None:
        one = await ports.deliveries.add(Progress(tenant="main", name="one"))
        numbers = range(ATTEMPTS_KEPT + 20)
        for start in range(0, len(numbers), 50):
            one = await ports.deliveries.save(
                one, attempts=[_attempt(number) for number in numbers[start : start + 50]]
            )
        kept = await ports.deliveries.attempts(one.subscription_id, limit=1_000)
        assert [attempt.at_ms for attempt in kept] == list(reversed(numbers))[:ATTEMPTS_KEPT]
        assert await ports.deliveries.attempts(one.subscription_id, limit=2) == kept[:2]
