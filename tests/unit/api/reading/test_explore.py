"""Pages of found items with counts that say how far they reach."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from gristmill.api.reading import ItemFilter, explore_items, search_items
from gristmill.api.reading.search import CLOSER_PER_READ, SCANNED_MAX, Coverage
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.testing.contracts.backend import run_id_of
from tests.faces import Face, face

SPAM = AppliedLabel("spam", 0.9, "too many links", (), "rules", "screening", "1")


@pytest.fixture
async def faced() -> AsyncIterator[Face]:
    async with face() as made:
        yield made


def everything(tenant: str) -> bool:
    return True


async def found(faced: Face, *, sees: Callable[[str], bool] = everything, **wanted: Any) -> list[int]:
    page = await search_items(faced.store.state, faced.store.front, ItemFilter(**wanted), sees=sees)
    return [entry.item.item_id for entry in page.items]


async def add_many(faced: Face, count: int) -> None:
    """Store items 1 .. count."""
    for start in range(1, count + 1, 1_000):
        await faced.add_items(*range(start, min(start + 1_000, count + 1)))


async def say(faced: Face, number: int, val: str, *, is_negated: bool) -> None:
    fact = LabelFact(item_id=ItemId(number), val=val, is_negated=is_negated, actor="ann", reason="why", at_ms=5)
    await faced.store.front.facts.add(fact)


async def test_a_plan_narrows_to_items_that_went_through_it_and_status_is_then_its_own(faced: Face) -> None:
    await faced.add_items(1, 2)
    await faced.add_items(2, run_id=run_id_of(2, "other"), plan="other", status="failed")
    assert await found(faced, plan="plan") == [2, 1]
    assert await found(faced, plan="other") == [2]
    assert await found(faced, status="failed") == [2]
    assert await found(faced, plan="plan", status="failed") == []
    assert await found(faced, plan="nowhere") == []


async def test_a_tenant_narrows_but_never_widens(faced: Face) -> None:
    await faced.add_items(1)
    await faced.add_items(2, item=Item(ItemId(2), tenant="acme"))
    assert await found(faced, tenant="acme") == [2]
    assert await found(faced, tenant="acme", sees=lambda tenant: tenant == "main") == []


async def test_what_people_negated_is_found_however_long_ago_it_came(faced: Face) -> None:
    await add_many(faced, SCANNED_MAX + 99)
    await faced.add_items(1, labels=(SPAM,))
    await say(faced, 1, "spam", is_negated=True)
    await say(faced, 2, "spam", is_negated=False)
    assert await found(faced, label="-spam") == [1]
    assert await found(faced, label="-loud") == []
    page = await search_items(faced.store.state, faced.store.front, ItemFilter(label="spam"), sees=everything)
    assert (page.items, page.next_before) == ([], 100)
    assert page.coverage == Coverage(SCANNED_MAX, ItemId(SCANNED_MAX + 99), ItemId(100))


async def test_counts_reach_beyond_the_page_and_say_how_far(faced: Face) -> None:
    await faced.add_items(*range(1, 251), labels=(SPAM,))
    await faced.add_items(
        251, item=Item(ItemId(251), kind="comment", source="other", author="ann", created_at_ms=5_000)
    )
    await say(faced, 250, "spam", is_negated=True)
    explored = await explore_items(faced.store.state, faced.store.front, ItemFilter(), sees=everything, limit=10)
    assert [entry.item.item_id for entry in explored.page.items] == list(range(251, 241, -1))
    assert explored.page.next_before == 242
    assert explored.page.coverage == Coverage(10, ItemId(251), ItemId(242))
    assert explored.surveyed == Coverage(251, ItemId(251), ItemId(1))
    assert explored.is_whole
    counts = explored.summary.counts
    assert counts["kind"] == [("post", 250), ("comment", 1)]
    assert counts["label"] == [("spam", 249)]
    assert counts["negated"] == [("spam", 1)]
    assert counts["author"] == [("ann", 1)]
    assert [(bar.start_ms, bar.count) for bar in explored.summary.bars][:1] == [(1_000, 250)]


async def test_pages_that_follow_one_another_hold_every_item_once(faced: Face) -> None:
    await faced.add_items(*range(1, 2 * CLOSER_PER_READ + 7))
    seen: list[int] = []
    before: ItemId | None = None
    while True:
        explored = await explore_items(
            faced.store.state, faced.store.front, ItemFilter(), sees=everything, before=before, limit=50
        )
        seen += [entry.item.item_id for entry in explored.page.items]
        before = explored.page.next_before
        if before is None:
            break
    assert seen == list(range(2 * CLOSER_PER_READ + 6, 0, -1))


async def test_a_search_that_finds_little_stops_and_says_where(faced: Face) -> None:
    await add_many(faced, SCANNED_MAX + 2)
    wanted = ItemFilter(text="no such text")
    explored = await explore_items(faced.store.state, faced.store.front, wanted, sees=everything)
    assert (explored.page.items, explored.page.next_before, explored.is_whole) == ([], 3, False)
    assert explored.surveyed.count == SCANNED_MAX


async def test_a_full_page_ends_the_look_once_enough_was_counted(faced: Face) -> None:
    await add_many(faced, 1_300)
    explored = await explore_items(faced.store.state, faced.store.front, ItemFilter(), sees=everything, limit=5)
    assert (explored.surveyed.count, explored.is_whole, explored.summary.count) == (1_000, False, 1_000)


async def test_nothing_is_covered_where_there_is_nothing(faced: Face) -> None:
    explored = await explore_items(faced.store.state, faced.store.front, ItemFilter(), sees=everything)
    assert (explored.surveyed, explored.page.coverage, explored.summary.bars) == (Coverage(), Coverage(), [])
