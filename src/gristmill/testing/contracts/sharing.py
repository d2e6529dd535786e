"""What every state must hold about contributions: groups and counts do not depend on the order of commits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from gristmill.domain.commit import Contributed
from gristmill.domain.contribution import Contribution, Count, Join, Resolved
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.ports.state import State
from gristmill.testing.contracts.backend import Contract, make_commit, run_id_of

__all__ = ["SharingContract"]


def _join(*keys: str, space: str = "exact") -> Join:
    """Make a membership."""
    return Join(space, keys, "duplicate", "like {leader}")


def _count(key: str, at_ms: int, *, window_ms: int = 100, threshold: int = 3) -> Count:
    """Make a sighting."""
    return Count("rate", key, at_ms, window_ms, threshold, "spam", "{count} of {key}")


class SharingContract(Contract):
    """See `domain.contribution`."""

    async def test_an_item_alone_leads_itself(self, state: State) -> None:
        await _contribute(state, 1, _join("a"))
        [resolved] = await _resolved(state, 1)
        assert (resolved.leader, resolved.leader_input_id, resolved.size) == (1, "in-1", 1)
        assert (resolved.task, resolved.operator, resolved.revision) == ("task", "op", "1")
        assert resolved.contribution == _join("a")

    async def test_items_without_contributions_are_absent(self, state: State) -> None:
        await state.commit([make_commit(1)])
        assert await state.contributions([ItemId(1), ItemId(2)]) == {}

    @pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
    async def test_the_lowest_position_leads_whatever_came_first(self, state: State, order: Sequence[int]) -> None:
        for number in order:
            await _contribute(state, number, _join("same"))
        for number in order:
            [resolved] = await _resolved(state, number)
            assert (resolved.leader, resolved.leader_input_id, resolved.size) == (1, "in-1", 3)

    @pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
    async def test_a_shared_member_joins_two_groups(self, state: State, order: Sequence[int]) -> None:
        keys = {1: ("a",), 2: ("b",), 3: ("b", "a")}
        for number in order:
            await _contribute(state, number, _join(*keys[number]))
        assert [(await _resolved(state, number))[0].leader for number in (1, 2, 3)] == [1, 1, 1]
        assert {(await _resolved(state, number))[0].size for number in (1, 2, 3)} == {3}

    async def test_long_chains_of_groups_end_in_one(self, state: State) -> None:
        for number in range(0, 40, 2):
            await _contribute(state, number + 1, _join(f"k{number}", f"k{number + 1}"))
        for number in range(1, 39, 2):
            await _contribute(state, number + 101, _join(f"k{number}", f"k{number + 1}"))
        found = await state.contributions([ItemId(number) for number in (1, 39, 102, 138)])
        assert {(one.leader, one.size) for [one] in found.values()} == {(1, 39)}

    async def test_spaces_are_apart(self, state: State) -> None:
        await _contribute(state, 1, _join("a"))
        await _contribute(state, 2, _join("a", space="near"))
        assert [one.leader for one in await _resolved(state, 2)] == [2]

    async def test_many_runs_of_one_call_share_keys(self, state: State) -> None:
        commits = [
            make_commit(number, contributions=(_by_task(_join(f"k{number % 3}", f"z{number}")),))
            for number in range(1, 31)
        ]
        await state.commit(commits)
        found = await state.contributions([ItemId(number) for number in range(1, 31)])
        assert {(one.leader, one.size) for [one] in found.values()} == {(1, 10), (2, 10), (3, 10)}

    async def test_a_repeated_run_contributes_nothing_more(self, state: State) -> None:
        for _ in range(3):
            await _contribute(state, 1, _join("a"), _count("k", 10))
            await _contribute(state, 2, _join("a"), _count("k", 20))
        sighted, joined = await _resolved(state, 2)
        assert (joined.size, sighted.size) == (2, 2)

    @pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)])
    async def test_only_lower_positions_within_the_window_count(self, state: State, order: Sequence[int]) -> None:
        at_ms = {1: 100, 2: 150, 3: 199, 4: 200}
        for number in order:
            await _contribute(state, number, _count("k", at_ms[number], threshold=9))
        assert [(await _resolved(state, number))[0].size for number in (1, 2, 3, 4)] == [1, 2, 3, 3]

    async def test_a_later_sighting_at_a_lower_position_does_not_count(self, state: State) -> None:
        await _contribute(state, 1, _count("k", 500))
        await _contribute(state, 2, _count("k", 490))
        assert [(await _resolved(state, number))[0].size for number in (1, 2)] == [1, 1]

    async def test_a_count_stops_at_its_threshold(self, state: State) -> None:
        for number in range(1, 8):
            await _contribute(state, number, _count("k", number, threshold=3))
        assert [(await _resolved(state, number))[0].size for number in range(1, 8)] == [1, 2, 3, 3, 3, 3, 3]

    @pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
    async def test_another_revision_is_the_same_item_at_its_lowest_position(
        self, state: State, order: Sequence[int]
    ) -> None:
        revisions = [(10, 4, 40), (10, 7, 70), (20, 5, 50)]
        for index in order:
            item_id, position, at_ms = revisions[index]
            await _contribute_as(state, item_id, position, (_count("k", at_ms), _join("a")))
        sighted, joined = await _resolved(state, 10)
        assert (sighted.size, joined.leader, joined.size) == (1, 10, 2)
        assert isinstance(sighted.contribution, Count)
        assert sighted.contribution.at_ms == 40
        assert [one.size for one in await _resolved(state, 20)] == [2, 2]

    async def test_two_tasks_of_an_item_count_a_key_once(self, state: State) -> None:
        both = tuple(Contributed(_count("k", 10), task, "op", "1") for task in ("a", "b"))
        await state.commit([make_commit(1, contributions=both)])
        await _contribute(state, 2, _count("k", 20))
        assert [one.size for one in await _resolved(state, 1)] == [1, 1]
        assert [one.size for one in await _resolved(state, 2)] == [2]


def _by_task(contribution: Contribution) -> Contributed:
    return Contributed(contribution, "task", "op", "1")


async def _contribute(state: State, number: int, *contributions: Contribution) -> None:
    await state.commit([make_commit(number, contributions=tuple(_by_task(one) for one in contributions))])


async def _contribute_as(state: State, item_id: int, position: int, contributions: Sequence[Contribution]) -> None:
    """Commit another revision of an item."""
    item = Item(ItemId(item_id), source="src", input_id=f"in-{item_id}", revision=position)
    given = tuple(_by_task(one) for one in contributions)
    await state.commit([make_commit(position, run_id=run_id_of(position), item=item, contributions=given)])


async def _resolved(state: State, number: int) -> list[Resolved]:
    return (await state.contributions([ItemId(number)]))[ItemId(number)]
