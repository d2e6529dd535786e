"""What every state must hold about what it gives back: items, runs, events, quarantine and id segments."""

from __future__ import annotations

import asyncio
from types import MappingProxyType

import pytest

from gristmill.domain.commit import Quarantine
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId, Segment
from gristmill.domain.item import AppliedLabel, Cell, Item
from gristmill.domain.run import Effect, Event, TaskReport
from gristmill.ports.state import State
from gristmill.testing.contracts.backend import Contract, make_commit, run_id_of

__all__ = ["StateContract"]


class StateContract(Contract):
    """See `ports.state.State`."""

    async def test_an_item_comes_back_as_it_went_in(self, state: State) -> None:
        ext = MappingProxyType({"tags": ("a", "b"), "stats": MappingProxyType({"likes": 1, "ratio": 0.5})})
        item = Item(ItemId(20_261_130 * 10**11), "comment", "src", 'i"d', 3, "téxt\x00", "author", 17, ext)
        await state.commit([make_commit(1, item=item)])
        found = await state.item(item.item_id)
        assert found == item
        assert found is not None
        with pytest.raises(TypeError):
            found.ext["tags"] = ()  # type: ignore[index]

    async def test_an_unknown_item_is_none(self, state: State) -> None:
        assert await state.item(ItemId(1)) is None
        assert await state.runs(ItemId(1)) == []
        assert await state.events(ItemId(1)) == []

    async def test_P7_an_older_revision_never_replaces_a_newer_one(self, state: State) -> None:
        def revision(number: int) -> Item:
            return Item(ItemId(1), source="src", input_id="in", revision=number, text=f"text {number}")

        await state.commit([make_commit(5, item=revision(5))])
        await state.commit([make_commit(3, item=revision(3))])
        assert await state.item(ItemId(1)) == revision(5)
        await state.commit([make_commit(number, item=revision(number)) for number in (9, 8)])
        assert await state.item(ItemId(1)) == revision(9)
        assert [run.position for run in await state.runs(ItemId(1))] == [3, 5, 8, 9]
        assert (await state.counts())["items"] == 1

    async def test_a_run_comes_back_with_plain_data(self, state: State) -> None:
        label = AppliedLabel("spam", 0.9, "too many links", ("http://a",), "task", "op", "1")
        commit = make_commit(
            1,
            status="rejected",
            reason="spam",
            attempt=2,
            tasks=(TaskReport("task", "done", 1, 5, 17), TaskReport("later", "not_started", reason="over")),
            cells=(Cell("topics", label, "task", "op", "1"), Cell("raw", (1, b"\x00"), "task", "op", "1")),
            labels=(label,),
            effects=(Effect("mail", "send", "a", {"n": [1]}, "task", "on"),),
        )
        await state.commit([commit])
        [run] = await state.runs(ItemId(1))
        assert (run.run_id, run.plan, run.plan_version, run.generator) == (run_id_of(1), "plan", 1, "gen")
        assert (run.position, run.status, run.reason, run.attempt) == (1, "rejected", "spam", 2)
        assert (run.started_at_ms, run.ended_at_ms) == (1_000, 2_000)
        assert (run.tasks, run.labels, run.effects) == (commit.tasks, commit.labels, commit.effects)
        assert run.cells[0].value["val"] == "spam"
        assert run.cells[1].value == [1, b"\x00"]

    async def test_runs_between_positions_come_whole_and_in_order(self, state: State) -> None:
        commits = [
            make_commit(number, run_id=run_id_of(number, plan), plan=plan)
            for number in (3, 1, 2)
            for plan in ("zeta", "alpha")
        ]
        await state.commit([*commits, make_commit(9, generator="other")])
        found = await state.runs_between("gen", after=0, limit=3)
        assert [(run.position, run.plan) for run in found] == [(1, "alpha"), (1, "zeta"), (2, "alpha"), (2, "zeta")]
        rest = await state.runs_between("gen", after=2, limit=3)
        assert [(run.position, run.plan) for run in rest] == [(3, "alpha"), (3, "zeta")]
        assert await state.runs_between("gen", after=3, limit=3) == []
        assert await state.runs_between("nobody", after=0, limit=3) == []

    async def test_events_come_in_the_order_of_their_commits(self, state: State) -> None:
        def event(number: int, item: int = 1) -> Event:
            return Event(f"kind.{number}", ItemId(item), run_id_of(number), number, {"n": number})

        await state.commit([make_commit(2, events=(event(2), event(3, item=7), event(4)))])
        await state.commit([make_commit(1, events=(event(1),))])
        assert await state.events(ItemId(1)) == [event(2), event(4), event(1)]
        assert await state.events(ItemId(7)) == [event(3, item=7)]

    async def test_quarantine_is_listed_by_position(self, state: State) -> None:
        for position, generator in ((3, "a"), (1, "b"), (2, "a")):
            one = Quarantine(
                lease=None,
                source="s",
                generator=generator,
                position=position,
                raw=b"x",
                reason="r",
                violations=("v",),
                at_ms=1,
            )
            await state.commit([one])
        assert [one.position for one in await state.quarantined()] == [1, 2, 3]
        assert [one.position for one in await state.quarantined("a")] == [2, 3]
        assert [one.position for one in await state.quarantined(after=1, limit=1)] == [2]

    async def test_counts_follow_what_is_stored(self, state: State) -> None:
        assert await state.counts() == {"items": 0, "runs": 0, "quarantined": 0}
        await state.commit([make_commit(1), make_commit(2, status="failed"), make_commit(3)])
        counts = {name: count for name, count in (await state.counts()).items() if count}
        assert counts == {"items": 3, "runs": 3, "runs.done": 2, "runs.failed": 1}

    async def test_AC_ID_001_segments_never_overlap(self, state: State) -> None:
        taken = await asyncio.gather(*(state.take_segment("post", day=20_261_130, step=100) for _ in range(20)))
        numbers = [number for segment in taken for number in range(segment.start, segment.stop)]
        assert sorted(numbers) == list(range(2_000))

    async def test_a_later_day_starts_again_and_an_earlier_one_does_not(self, state: State) -> None:
        await state.take_segment("post", day=20_261_130, step=10)
        assert await state.take_segment("post", day=20_261_201, step=10) == Segment(20_261_201, 0, 10)
        assert await state.take_segment("post", day=20_261_130, step=5) == Segment(20_261_201, 10, 15)
        assert await state.take_segment("other", day=20_261_130, step=5) == Segment(20_261_130, 0, 5)

    async def test_a_segment_of_nothing_is_refused(self, state: State) -> None:
        with pytest.raises(UsageError):
            await state.take_segment("post", day=20_261_130, step=0)
