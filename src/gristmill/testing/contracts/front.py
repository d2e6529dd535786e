"""What every front must hold about label facts, tokens and lists of items."""

from __future__ import annotations

import pytest

from gristmill.domain.commit import Contributed
from gristmill.domain.contribution import Join
from gristmill.domain.errors import StaleRead, UsageError
from gristmill.domain.front.access import StoredToken
from gristmill.domain.front.label_fact import ITEM_WITHOUT_FACTS, LabelFact
from gristmill.domain.front.traffic import Interval
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.log import Delivery, Hold, NewRecord
from gristmill.ports.front import INTERVALS_PER_READ_MAX, ITEMS_PER_READ_MAX, Front
from gristmill.testing.contracts.backend import LEASE_MS, Backend, Contract, claim, make_commit, records, run_id_of

__all__ = ["FrontContract"]


class FrontContract(Contract):
    """See `ports.front`."""

    @pytest.fixture
    def front(self, backend: Backend) -> Front:
        """The backend's front."""
        assert backend.front is not None
        return backend.front

    async def test_facts_are_kept_in_their_order(self, front: Front) -> None:
        first = await front.facts.add(_fact(1, is_negated=True))
        second = await front.facts.add(_fact(1))
        other = await front.facts.add(_fact(2))
        assert 0 < first.fact_id < second.fact_id < other.fact_id
        found = await front.facts.of([ItemId(1), ItemId(2), ItemId(3)])
        assert found == {ItemId(1): [first, second], ItemId(2): [other]}

    async def test_a_fact_is_told_as_an_event_of_its_item(self, backend: Backend, front: Front) -> None:
        await backend.state.commit([make_commit(1)])
        fact = await front.facts.add(_fact(1, is_negated=True))
        [event] = [event for event in await backend.state.events(ItemId(1)) if event.kind == "label.negated"]
        assert (event.at_ms, event.body["actor"], event.body["fact_id"]) == (5, "ann", fact.fact_id)

    async def test_a_fact_of_somebody_who_has_not_seen_the_newest_is_refused(
        self, backend: Backend, front: Front
    ) -> None:
        first = await front.facts.add(_fact(1), last_fact_id=ITEM_WITHOUT_FACTS)
        with pytest.raises(StaleRead):
            await front.facts.add(_fact(1, is_negated=True), last_fact_id=ITEM_WITHOUT_FACTS)
        await front.facts.add(_fact(2), last_fact_id=ITEM_WITHOUT_FACTS)
        second = await front.facts.add(_fact(1, is_negated=True), last_fact_id=first.fact_id)
        assert await front.facts.of([ItemId(1)]) == {ItemId(1): [first, second]}
        assert len(await backend.state.events(ItemId(1))) == 2

    async def test_a_token_is_found_until_and_after_it_is_revoked(self, front: Front) -> None:
        token = _token("a", at_ms=2)
        assert await front.tokens.add(token)
        assert await front.tokens.add(_token("b", at_ms=1))
        assert await front.tokens.find("a") == token
        assert await front.tokens.find("nobody") is None
        assert await front.tokens.revoke("a", at_ms=9)
        assert not await front.tokens.revoke("a", at_ms=10)
        assert not await front.tokens.revoke("nobody", at_ms=10)
        assert [(one.token_id, one.revoked_at_ms) for one in await front.tokens.all()] == [("b", None), ("a", 9)]

    async def test_the_first_token_is_stored_once(self, front: Front) -> None:
        assert await front.tokens.add(_token("a", at_ms=1), only_first=True)
        await front.tokens.revoke("a", at_ms=2)
        assert not await front.tokens.add(_token("b", at_ms=3), only_first=True)
        assert [token.token_id for token in await front.tokens.all()] == ["a"]

    async def test_items_are_listed_from_the_newest(self, backend: Backend, front: Front) -> None:
        await backend.state.commit([make_commit(number) for number in (3, 1, 4, 2)])
        assert [item.item_id for item in await front.listing.items_before(None, limit=3)] == [4, 3, 2]
        assert [item.item_id for item in await front.listing.items_before(ItemId(2), limit=3)] == [1]
        assert await front.listing.items_before(ItemId(1), limit=3) == []
        with pytest.raises(UsageError, match="limit is out of range"):
            await front.listing.items_before(None, limit=ITEMS_PER_READ_MAX + 1)

    async def test_runs_of_many_items_come_as_they_do_one_by_one(self, backend: Backend, front: Front) -> None:
        other = make_commit(1, run_id=run_id_of(1, "other"), plan="other")
        await backend.state.commit([make_commit(2), make_commit(1), other])
        found = await front.listing.runs_of([ItemId(1), ItemId(2), ItemId(3)])
        assert found == {ItemId(number): await backend.state.runs(ItemId(number)) for number in (1, 2)}

    async def test_items_that_somebody_judged_are_listed_once_from_the_newest(self, front: Front) -> None:
        assert await front.facts.judged_before(None, limit=2) == []
        for number in (2, 1, 3, 1):
            await front.facts.add(_fact(number))
        assert await front.facts.judged_before(None, limit=2) == [3, 2]
        assert await front.facts.judged_before(ItemId(2), limit=2) == [1]

    async def test_items_come_by_their_ids_as_they_are_now(self, backend: Backend, front: Front) -> None:
        await backend.state.commit([make_commit(1), make_commit(2)])
        found = await front.listing.items_of([ItemId(1), ItemId(3), ItemId(2)])
        assert [item.text for item in found] == ["text 2", "text 1"]

    async def test_a_run_leads_to_its_item(self, backend: Backend, front: Front) -> None:
        other = make_commit(3, generator="other")
        await backend.state.commit([make_commit(1), make_commit(2), other])
        lease = (await _claimed(backend)).lease
        await backend.state.commit([make_commit(4, lease=lease)])
        for number in (1, 2, 3, 4):
            assert await front.listing.item_of_run(run_id_of(number)) == number
        assert await front.listing.item_of_run(run_id_of(9)) is None
        with pytest.raises(UsageError, match="run id"):
            await front.listing.item_of_run(RunId("no run"))

    async def test_a_record_is_followed_until_its_group_is_done_with_it(self, backend: Backend, front: Front) -> None:
        log, look = backend.log, front.listing.hold_of
        [offset] = await log.append("t", records("a"))
        later_ms = backend.clock.now_ms() + 5_000
        [delayed] = await log.append("t", [NewRecord(b"b", due_at_ms=later_ms)])
        assert await look("t", "g", offset) == Hold("", 0, 0)
        assert await look("t", "g", delayed) == Hold("", 0, later_ms)
        [delivery] = await claim(log)
        assert await look("t", "g", offset) == Hold("me", 1, backend.clock.now_ms() + LEASE_MS)
        await log.release([delivery.lease], delay_ms=1_000)
        assert await look("t", "g", offset) == Hold("", 1, backend.clock.now_ms() + 1_000)
        assert await look("t", "others", offset) == Hold("", 0, 0)
        backend.clock.advance(1_000)
        [again] = await claim(log)
        await log.accept([again.lease])
        assert await look("t", "g", offset) is None
        assert await look("t", "g", 10**6) is None
        assert await look("nowhere", "g", offset) is None

    async def test_members_of_a_group_find_each_other(self, backend: Backend, front: Front) -> None:
        await backend.state.commit(
            [
                make_commit(1, contributions=(_joined("exact", "a"),)),
                make_commit(2, contributions=(_joined("exact", "a", "b"), _joined("near", "z"))),
                make_commit(3, contributions=(_joined("exact", "c"), _joined("near", "z"))),
                make_commit(4, contributions=(_joined("exact", "b"),)),
                make_commit(5),
            ]
        )
        listing = front.listing
        assert await listing.peers_of(ItemId(1), space="exact", limit=9) == [4, 2]
        assert await listing.peers_of(ItemId(4), space="exact", limit=1) == [2]
        assert await listing.peers_of(ItemId(3), space="near", limit=9) == [2]
        assert await listing.peers_of(ItemId(3), space="exact", limit=9) == []
        assert await listing.peers_of(ItemId(5), space="exact", limit=9) == []
        assert await listing.peers_of(ItemId(1), space="nowhere", limit=9) == []

    async def test_the_newest_facts_of_all_items_come_first(self, front: Front) -> None:
        facts = [await front.facts.add(_fact(number)) for number in (2, 1, 2)]
        assert await front.facts.newest(limit=2) == [facts[2], facts[1]]
        with pytest.raises(UsageError, match="limit is out of range"):
            await front.facts.newest(limit=ITEMS_PER_READ_MAX + 1)

    async def test_an_empty_store_had_no_traffic(self, front: Front) -> None:
        assert await front.traffic.count(since_ms=0, step_ms=10, limit=2) == [Interval(0, 0, 0), Interval(10, 0, 0)]

    async def test_traffic_is_counted_in_the_interval_of_its_time(self, backend: Backend, front: Front) -> None:
        start_ms = backend.clock.now_ms()
        for topic, pause_ms in (("t", 60_000), ("u", 60_000), ("t", 0)):
            await backend.log.append(topic, records("a", "b"))
            backend.clock.advance(pause_ms)
        ends = [start_ms, start_ms + 1, start_ms + 59_999, start_ms + 60_000, start_ms + 180_000]
        await backend.state.commit([make_commit(number, ended_at_ms=at) for number, at in enumerate(ends, start=1)])
        assert await front.traffic.count(since_ms=start_ms - 60_000, step_ms=60_000, limit=4) == [
            Interval(start_ms - 60_000, 0, 0),
            Interval(start_ms, 2, 3),
            Interval(start_ms + 60_000, 2, 1),
            Interval(start_ms + 120_000, 2, 0),
        ]
        without_t = await front.traffic.count(since_ms=start_ms, step_ms=60_000, limit=2, without=["t", "nowhere"])
        assert [one.appended for one in without_t] == [0, 2]
        with pytest.raises(UsageError, match="limit is out of range"):
            await front.traffic.count(since_ms=0, step_ms=1, limit=INTERVALS_PER_READ_MAX + 1)


async def _claimed(backend: Backend) -> Delivery:
    await backend.log.append("t", records("a"))
    return (await claim(backend.log))[0]


def _fact(number: int, *, is_negated: bool = False) -> LabelFact:
    return LabelFact(item_id=ItemId(number), val="spam", is_negated=is_negated, actor="ann", reason="why", at_ms=5)


def _token(token_id: str, *, at_ms: int) -> StoredToken:
    return StoredToken(token_id, b"\x00hash", "desk", "reviewer", "main", at_ms)


def _joined(space: str, *keys: str) -> Contributed:
    return Contributed(Join(space, keys, "duplicate", "same"), "task", "operator", "1")
