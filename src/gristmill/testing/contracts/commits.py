"""What every state must hold about guarded commits: fences, conflicts, acceptance and repetition."""

from __future__ import annotations

import msgspec
import pytest

from gristmill.domain.commit import Committed, Conflict, Fenced, Quarantine
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import Cell, Item
from gristmill.domain.log import Delivery, Lease
from gristmill.domain.run import Effect, Event
from gristmill.ports.log import Log
from gristmill.ports.state import COMMITS_PER_CALL_MAX, State
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import (
    LEASE_MS,
    Backend,
    Contract,
    claim,
    make_commit,
    records,
    run_id_of,
)

__all__ = ["ApartContract", "CommitContract"]

FIRST = Lease("t", "g", 7, "first", 1)
SECOND = Lease("t", "g", 7, "second", 2)
FAR_MS = 1 << 50


class CommitContract(Contract):
    """See `ports.state.State.commit`; with `shares_log`, commits guard and accept records of the backend's log."""

    @pytest.fixture
    async def deliveries(self, backend: Backend) -> list[Delivery]:
        """Three claimed records."""
        if "shares_log" not in backend.state.capabilities:
            pytest.skip("the state does not share its log")
        await backend.log.append("t", records("a", "b", "c"))
        return await claim(backend.log)

    async def test_no_commit_is_no_work(self, state: State) -> None:
        assert await state.commit([]) == []

    async def test_a_run_without_a_record_is_written(self, state: State) -> None:
        assert await state.commit([make_commit(1), make_commit(2)]) == [Committed(), Committed()]
        assert (await state.counts())["runs"] == 2

    async def test_a_commit_accepts_its_record(
        self, state: State, log: Log, deliveries: list[Delivery], clock: FakeClock
    ) -> None:
        commits = [make_commit(number, lease=one.lease) for number, one in enumerate(deliveries, 1)]
        assert await state.commit(commits) == [Committed()] * 3
        clock.advance(LEASE_MS)
        assert await claim(log) == []
        assert await log.accept([deliveries[0].lease]) == [False]

    async def test_a_commit_may_leave_its_record_leased(
        self, state: State, log: Log, deliveries: list[Delivery]
    ) -> None:
        lease = deliveries[0].lease
        assert await state.commit([make_commit(1, lease=lease, accept=False)]) == [Committed()]
        assert await log.accept([lease]) == [True]

    async def test_P4_a_lost_lease_fences_its_run_and_spares_the_neighbours(
        self, state: State, log: Log, deliveries: list[Delivery]
    ) -> None:
        await log.release([deliveries[1].lease])
        commits = [make_commit(number, lease=one.lease) for number, one in enumerate(deliveries, 1)]
        assert await state.commit(commits) == [Committed(), Fenced(), Committed()]
        assert await state.runs(ItemId(2)) == []
        assert await state.item(ItemId(2)) is None
        [again] = await claim(log)
        assert await state.commit([make_commit(2, lease=again.lease)]) == [Committed()]

    async def test_P4_the_former_holder_of_a_reclaimed_record_writes_nothing(
        self, state: State, log: Log, deliveries: list[Delivery], clock: FakeClock
    ) -> None:
        clock.advance(LEASE_MS)
        second = (await claim(log, owner="you"))[0]
        late = make_commit(1, lease=deliveries[0].lease, cells=(Cell("f", "late", "t", "o", "1"),))
        in_time = make_commit(1, lease=second.lease, cells=(Cell("f", "in time", "t", "o", "1"),))
        assert await state.commit([late]) == [Fenced()]
        assert await state.commit([in_time]) == [Committed()]
        assert [run.cells[0].value for run in await state.runs(ItemId(1))] == ["in time"]

    async def test_runs_of_one_record_stand_or_fall_together(
        self, state: State, log: Log, deliveries: list[Delivery]
    ) -> None:
        lease = deliveries[0].lease
        pair = [
            make_commit(1, lease=lease, accept=False),
            make_commit(1, lease=lease, run_id=run_id_of(1, "second"), plan="second"),
        ]
        await log.release([lease])
        assert await state.commit(pair) == [Fenced(), Fenced()]
        assert (await state.counts())["runs"] == 0

    async def test_several_plans_of_one_new_record_share_its_new_item(
        self, state: State, deliveries: list[Delivery]
    ) -> None:
        lease = deliveries[0].lease
        pair = [
            make_commit(1, lease=lease, accept=False, is_new_item=True),
            make_commit(1, lease=lease, run_id=run_id_of(1, "second"), plan="second", is_new_item=True),
        ]
        assert await state.commit(pair) == [Committed(), Committed()]
        assert [run.plan for run in await state.runs(ItemId(1))] == ["plan", "second"]
        assert (await state.counts())["items"] == 1

    async def test_a_new_item_is_known_by_its_input_id(self, state: State) -> None:
        await state.commit([make_commit(1, is_new_item=True), make_commit(2)])
        assert await state.resolve("src", ["in-1", "in-2", "in-3"]) == {"in-1": ItemId(1)}
        assert await state.resolve("other", ["in-1"]) == {}

    async def test_a_second_id_for_an_input_id_is_a_conflict(self, state: State) -> None:
        first = make_commit(1, is_new_item=True, item=Item(ItemId(1), source="src", input_id="same"))
        second = make_commit(2, is_new_item=True, item=Item(ItemId(2), source="src", input_id="same"))
        assert await state.commit([first]) == [Committed()]
        assert await state.commit([second, make_commit(3)]) == [Conflict(ItemId(1)), Committed()]
        assert await state.item(ItemId(2)) is None
        assert await state.commit([make_commit(1, is_new_item=True, item=first.item)]) == [Committed()]

    async def test_of_two_new_ids_in_one_call_the_first_wins(self, state: State) -> None:
        first = make_commit(1, is_new_item=True, item=Item(ItemId(1), source="src", input_id="same"))
        second = make_commit(2, is_new_item=True, item=Item(ItemId(2), source="src", input_id="same"))
        assert await state.commit([first, second]) == [Committed(), Conflict(ItemId(1))]

    async def test_a_refused_run_leaves_its_input_id_free(
        self, state: State, log: Log, deliveries: list[Delivery]
    ) -> None:
        await log.release([deliveries[0].lease])
        lost = make_commit(1, lease=deliveries[0].lease, is_new_item=True, item=Item(ItemId(1), input_id="same"))
        owned = make_commit(2, lease=deliveries[1].lease, is_new_item=True, item=Item(ItemId(2), input_id="same"))
        assert await state.commit([lost, owned]) == [Fenced(), Committed()]
        assert await state.resolve("", ["same"]) == {"same": ItemId(2)}

    async def test_a_conflict_keeps_the_record_leased(self, state: State, log: Log, deliveries: list[Delivery]) -> None:
        lease = deliveries[1].lease
        await state.commit([make_commit(1, is_new_item=True, item=Item(ItemId(1), input_id="same"))])
        late = make_commit(2, lease=lease, is_new_item=True, item=Item(ItemId(2), input_id="same"))
        assert await state.commit([late]) == [Conflict(ItemId(1))]
        again = make_commit(2, lease=lease, item=Item(ItemId(1), input_id="same", revision=2))
        assert await state.commit([again]) == [Committed()]
        assert await log.accept([lease]) == [False]

    async def test_a_repeated_run_replaces_the_first(self, state: State) -> None:
        await state.commit([make_commit(1, status="failed", error="no", cells=(Cell("f", 1, "t", "o", "1"),))])
        assert await state.ended([run_id_of(1)]) == set()
        await state.commit([make_commit(1, attempt=2, cells=(Cell("f", 2, "t", "o", "1"),))])
        assert await state.ended([run_id_of(1), run_id_of(2)]) == {run_id_of(1)}
        [run] = await state.runs(ItemId(1))
        assert (run.status, run.error, run.attempt, run.cells[0].value) == ("done", "", 2, 2)
        counts = await state.counts()
        assert (counts["runs"], counts.get("runs.done", 0), counts.get("runs.failed", 0)) == (1, 1, 0)

    async def test_only_a_run_whose_record_may_come_back_is_found_as_ended(
        self, state: State, log: Log, deliveries: list[Delivery]
    ) -> None:
        first, second = (delivery.lease for delivery in deliveries[:2])
        await state.commit([make_commit(1, lease=first), make_commit(2, lease=second, accept=False), make_commit(3)])
        asked = [run_id_of(number) for number in range(5)]
        assert await state.ended(asked) == {run_id_of(2), run_id_of(3)}
        # A later acceptance changes nothing: nobody asks for the run of a record that is gone.
        await log.accept([second])
        assert await state.ended(asked) == {run_id_of(2), run_id_of(3)}
        await state.commit([make_commit(3, status="failed")])
        assert await state.ended(asked) == {run_id_of(2)}

    async def test_of_runs_that_share_a_record_none_is_found_once_one_of_them_accepts_it(
        self, state: State, deliveries: list[Delivery]
    ) -> None:
        lease = deliveries[0].lease
        await state.commit([make_commit(1, lease=lease, accept=False), make_commit(2, lease=lease)])
        assert await state.ended([run_id_of(1), run_id_of(2)]) == set()

    async def test_a_run_id_twice_in_one_call_counts_once(self, state: State) -> None:
        twice = [make_commit(1, attempt=1), make_commit(2), make_commit(1, attempt=2)]
        assert await state.commit(twice) == [Committed()] * 3
        assert [run.attempt for run in await state.runs(ItemId(1))] == [2]
        assert (await state.counts())["runs"] == 2

    async def test_P3_effects_of_a_repeated_run_are_kept_once(self, state: State) -> None:
        first, changed = Effect("mail", "send", "a", task="t"), Effect("mail", "send", "b", task="t")
        other = Effect("mail", "send", "a", task="other")
        await state.commit([make_commit(1, effects=(first,))])
        await state.commit([make_commit(1, effects=(changed, other))])
        [run] = await state.runs(ItemId(1))
        assert run.effects == (first, other)

    async def test_events_of_a_repeated_run_are_told_once(self, state: State) -> None:
        def event(kind: str, at_ms: int, body: object = None) -> Event:
            return Event(kind, ItemId(1), run_id_of(1), at_ms, body)

        await state.commit([make_commit(1, events=(event("item.ingested", 1), event("run.ended", 2, {"s": 1})))])
        await state.commit([make_commit(1, events=(event("item.ingested", 3), event("run.ended", 4, {"s": 2})))])
        told = [(one.kind, one.at_ms, one.body) for one in await state.events(ItemId(1))]
        assert told == [("item.ingested", 1, None), ("run.ended", 2, {"s": 1}), ("run.ended", 4, {"s": 2})]

    async def test_a_quarantined_record_is_kept_raw_and_accepted(
        self, state: State, log: Log, deliveries: list[Delivery], clock: FakeClock
    ) -> None:
        one, other, _ = (delivery.lease for delivery in deliveries)
        kept = _quarantine(one.offset, lease=one)
        assert await state.commit([kept, make_commit(2, lease=other)]) == [Committed(), Committed()]
        [stored] = await state.quarantined()
        assert (stored.source, stored.generator, stored.position) == (kept.source, kept.generator, kept.position)
        assert (stored.raw, stored.reason, stored.violations) == (kept.raw, kept.reason, kept.violations)
        assert await log.accept([one]) == [False]
        assert await state.commit([kept]) == [Fenced()]
        assert (await state.counts())["quarantined"] == 1

    async def test_more_runs_than_a_turn_holds_are_all_written(self, state: State) -> None:
        numbers = range(1, COMMITS_PER_CALL_MAX + 1)
        outcomes = await state.commit([make_commit(number) for number in numbers])
        assert outcomes == [Committed()] * COMMITS_PER_CALL_MAX
        assert (await state.counts())["runs"] == COMMITS_PER_CALL_MAX

    async def test_too_many_commits_are_refused(self, state: State) -> None:
        with pytest.raises(UsageError):
            await state.commit([make_commit(number) for number in range(1, COMMITS_PER_CALL_MAX + 2)])

    @pytest.mark.parametrize("run_id", ["", "run-1", "z" * 32, "A" * 32])
    async def test_a_run_id_that_is_no_key_is_refused(self, state: State, run_id: str) -> None:
        with pytest.raises(UsageError):
            await state.commit([make_commit(1, run_id=RunId(run_id))])

    async def test_a_value_that_cannot_be_encoded_refuses_the_call(self, state: State) -> None:
        broken = make_commit(2, cells=(Cell("f", object(), "t", "o", "1"),))
        with pytest.raises(UsageError, match="plan"):
            await state.commit([make_commit(1), broken])
        assert (await state.counts())["runs"] == 0

    async def test_a_committed_run_outlives_the_process(self, backend: Backend) -> None:
        if "durable" not in backend.state.capabilities or backend.reopen is None:
            pytest.skip("the state does not claim to be durable")
        await backend.state.commit([make_commit(1, is_new_item=True)])
        again = await backend.reopen()
        assert await again.state.resolve("src", ["in-1"]) == {"in-1": ItemId(1)}
        assert len(await again.state.runs(ItemId(1))) == 1


def _quarantine(position: int, **changes: object) -> Quarantine:
    fields: dict[str, object] = {
        "lease": None,
        "source": "src",
        "generator": "gen",
        "position": position,
        "raw": b"\xff{",
        "reason": "not JSON",
        "violations": ("$: not JSON", "$.id: missing"),
        "at_ms": 5,
    }
    return Quarantine(**{**fields, **changes})  # type: ignore[arg-type]


class ApartContract(Contract):
    """See `ports.state.State.fence`; the backend's state must not claim `shares_log`."""

    @pytest.fixture
    def state(self, backend: object) -> State:
        """The backend's state."""
        state: State = backend.state  # type: ignore[attr-defined]
        assert "shares_log" not in state.capabilities
        return state

    async def test_a_commit_asks_no_log(self, state: State) -> None:
        assert await state.commit([make_commit(1, lease=FIRST, accept=False)]) == [Committed()]
        assert await state.ended([run_id_of(1)]) == {run_id_of(1)}

    async def test_P4_a_late_holder_writes_nothing_once_the_next_one_has_begun(self, state: State) -> None:
        await state.fence([SECOND], until_ms=FAR_MS)
        neighbour = make_commit(2, lease=Lease("t", "g", 8, "first", 1), accept=False)
        late = make_commit(1, lease=FIRST, accept=False)
        assert await state.commit([late, neighbour]) == [Fenced(), Committed()]
        assert await state.item(ItemId(1)) is None
        assert await state.commit([make_commit(1, lease=SECOND, accept=False)]) == [Committed()]

    async def test_P4_a_fence_is_never_lowered(self, state: State) -> None:
        await state.fence([SECOND], until_ms=FAR_MS)
        await state.fence([FIRST], until_ms=FAR_MS)
        assert await state.commit([make_commit(1, lease=FIRST, accept=False)]) == [Fenced()]

    async def test_what_was_written_before_the_fence_is_found_after_it(self, state: State) -> None:
        await state.commit([make_commit(1, lease=FIRST, accept=False)])
        await state.fence([SECOND], until_ms=FAR_MS)
        assert await state.ended([run_id_of(1)]) == {run_id_of(1)}

    async def test_fences_of_other_topics_and_groups_are_strangers(self, state: State) -> None:
        others = [msgspec.structs.replace(SECOND, topic="u"), msgspec.structs.replace(SECOND, group="h")]
        await state.fence(others, until_ms=FAR_MS)
        assert await state.commit([make_commit(1, lease=FIRST, accept=False)]) == [Committed()]

    async def test_a_record_that_comes_again_is_in_quarantine_once(self, state: State) -> None:
        odd = Quarantine(
            lease=FIRST, source="s", generator="g", position=7, raw=b"x", reason="r", violations=(), at_ms=1
        )
        again = msgspec.structs.replace(odd, lease=SECOND)
        assert await state.commit([odd]) == [Committed()]
        assert await state.commit([again]) == [Committed()]
        assert len(await state.quarantined()) == 1
        assert (await state.counts())["quarantined"] == 1
