"""Contributions resolve to connected components and windowed counts, in memory, on disk and in a naive model alike."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.domain.commit import Contributed
from gristmill.domain.contribution import Contribution, Count, Join
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.ports.state import State
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit
from tests.contract.backends import SqliteBackends, memory_backend

KEYS = st.sampled_from(["a", "b", "c", "d", "e"])
JOINS = st.builds(
    lambda space, keys: Join(space, tuple(keys), "label", "reason"),
    st.sampled_from(["near", "exact"]),
    st.lists(KEYS, min_size=1, max_size=3, unique=True),
)
COUNTS = st.builds(lambda key, at_ms: Count("rate", key, at_ms, 20, 3, "label", "reason"), KEYS, st.integers(0, 60))
SIGHTED = st.tuples(st.integers(1, 8), st.lists(JOINS | COUNTS, max_size=2))
"""An item with what one revision of it contributes; its place in the list is its log position."""


@given(sighted=st.lists(SIGHTED, min_size=1, max_size=14), order=st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_every_backend_resolves_like_the_model_whatever_the_order(sighted, order) -> None:  # type: ignore[no-untyped-def]
    commits = list(enumerate(sighted, start=1))
    order.shuffle(commits)
    asyncio.run(_compare(sighted, commits))


async def _compare(sighted: Sequence[_Sighted], commits: Sequence[tuple[int, _Sighted]]) -> None:
    expected = _naive(sighted)
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as folder:
        backends = SqliteBackends(Path(folder) / "store.sqlite", clock)
        for state in (memory_backend(clock).state, (await backends.open()).state):
            assert await _resolve_all(state, commits) == expected
        await backends.close()


_Sighted = tuple[int, Sequence[Contribution]]
_Answer = dict[int, list[tuple[str, int, int | None]]]


async def _resolve_all(state: State, commits: Sequence[tuple[int, _Sighted]]) -> _Answer:
    """Commit in pairs and return (space, size, leader) of everything."""
    made = []
    for position, (item_id, contributions) in commits:
        item = Item(ItemId(item_id), source="src", input_id=f"in-{item_id}", revision=position)
        by_task = tuple(Contributed(one, f"task {index}", "op", "1") for index, one in enumerate(contributions))
        made.append(make_commit(position, item=item, contributions=by_task))
    for start in range(0, len(made), 2):
        await state.commit(made[start : start + 2])
    found = await state.contributions([ItemId(number) for number in range(1, 9)])
    return {
        item_id: sorted({(one.contribution.space, one.size, one.leader) for one in resolved}, key=repr)
        for item_id, resolved in found.items()
    }


def _naive(sighted: Sequence[_Sighted]) -> _Answer:
    """Work it out from the definition, with the whole history at hand."""
    first = {item: position for position, (item, _) in reversed(list(enumerate(sighted, start=1)))}
    joins = [(item, one) for item, contributions in sighted for one in contributions if isinstance(one, Join)]
    counts: dict[tuple[int, int, str], tuple[int, Count]] = {}
    sightings: dict[tuple[str, int], tuple[int, int]] = {}
    for position, (item, contributions) in enumerate(sighted, start=1):
        for index, one in enumerate(contributions):
            if isinstance(one, Count):
                counts.setdefault((item, index, one.key), (position, one))
                place = (position, one.at_ms)
                sightings[one.key, item] = min(sightings.get((one.key, item), place), place)
    answer: dict[int, set[tuple[str, int, int | None]]] = {}
    for item, join in joins:
        group = _component(item, join.space, joins)
        joined = {member: _first_join(member, join.space, sighted) for member in group}
        leader = min(group, key=lambda member: (joined[member], member))
        answer.setdefault(item, set()).add((join.space, len(group), leader))
    for (item, _, key), (_, count) in counts.items():
        own = sightings[key, item][0]
        earlier = [
            at_ms
            for (other_key, _), (position, at_ms) in sightings.items()
            if other_key == key and position < own and count.at_ms - count.window_ms < at_ms <= count.at_ms
        ]
        answer.setdefault(item, set()).add(("rate", min(len(earlier) + 1, count.threshold), None))
    assert set(answer) <= set(first)
    return {item: sorted(resolved, key=repr) for item, resolved in answer.items()}


def _component(item: int, space: str, joins: Sequence[tuple[int, Join]]) -> set[int]:
    members, keys = {item}, set[str]()
    while True:
        keys |= {key for member, join in joins if member in members and join.space == space for key in join.keys}
        grown = {member for member, join in joins if join.space == space and keys & set(join.keys)}
        if grown <= members:
            return members
        members |= grown


def _first_join(item: int, space: str, sighted: Sequence[_Sighted]) -> int:
    return next(
        position
        for position, (member, contributions) in enumerate(sighted, start=1)
        if member == item and any(isinstance(one, Join) and one.space == space for one in contributions)
    )
