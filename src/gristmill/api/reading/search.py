"""Finds items by what is known of them, newest first.

Items are looked through in the order of their ids, a bounded number for each page: a page may be short or even empty
while there are more, and says where to go on. So a filter that matches nothing never holds up the store, and commits
pay for no index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from gristmill.api.reading.dossier import Standing, decide_status, latest_runs, stand
from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import decide_labels
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.ports.front import Front
from gristmill.ports.state import State

__all__ = ["FoundItem", "ItemFilter", "ItemPage", "search_items"]

SCANNED_MAX = 4_000
"""Items looked at for one page."""

SCANNED_PER_READ = 400
"""About 10 ms of the reading thread, which others need too."""


class ItemFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What an item must be; an empty value stands for any.

    Attributes:
        label: one that holds; with `-` in front one that a person has negated.
        text: part of the text, whatever the case.
        since_ms, until_ms: bounds of its time, which is `created_at_ms` or else the start of its first run.
    """

    label: str = ""
    status: Standing | None = None
    kind: str = ""
    author: str = ""
    source: str = ""
    text: str = ""
    since_ms: int | None = None
    until_ms: int | None = None


class FoundItem(msgspec.Struct, frozen=True):
    """An item with what a list shows of it."""

    item: Item
    status: Standing
    labels: list[StandingLabel]
    runs: list[StoredRun]


class ItemPage(msgspec.Struct, frozen=True):
    """Items in the order of their ids, the highest first; go on below `next_before` unless it is None."""

    items: list[FoundItem]
    next_before: ItemId | None


async def search_items(
    state: State,
    front: Front,
    wanted: ItemFilter,
    *,
    sees: Callable[[str], bool],
    before: ItemId | None = None,
    limit: int = 50,
) -> ItemPage:
    """Return a page of items.

    Args:
        sees: whether content of a tenant may be shown.
        before: the highest id is below this one.
    """
    found: list[FoundItem] = []
    place = before
    for _ in range(SCANNED_MAX // SCANNED_PER_READ):
        items = await front.listing.items_before(place, limit=SCANNED_PER_READ)
        fitting = [item for item in items if sees(item.tenant) and _fits_by_itself(item, wanted)]
        for entry in await _look_closer(state, front, fitting):
            if _fits(entry, wanted):
                found.append(entry)
                if len(found) == limit:
                    return ItemPage(found, entry.item.item_id)
        if len(items) < SCANNED_PER_READ:
            return ItemPage(found, None)
        place = items[-1].item_id
    return ItemPage(found, place)


async def _look_closer(state: State, front: Front, items: Sequence[Item]) -> list[FoundItem]:
    if not items:
        return []
    item_ids = [item.item_id for item in items]
    runs_of = await front.listing.runs_of(item_ids)
    shared_of = await state.contributions(item_ids)
    facts_of = await front.facts.of(item_ids)
    found: list[FoundItem] = []
    for item in items:
        runs = runs_of.get(item.item_id, [])
        given = frozenset(label.val for run in latest_runs(runs) for label in run.labels)
        shared = decide_labels(item.item_id, shared_of.get(item.item_id, []), given=given)
        labels = stand(runs, shared, facts_of.get(item.item_id, []))
        found.append(FoundItem(item, decide_status(runs), labels, runs))
    return found


def _fits_by_itself(item: Item, wanted: ItemFilter) -> bool:
    return (
        wanted.kind in ("", item.kind)
        and wanted.author in ("", item.author)
        and wanted.source in ("", item.source)
        and (not wanted.text or wanted.text.casefold() in item.text.casefold())
    )


def _fits(entry: FoundItem, wanted: ItemFilter) -> bool:
    if wanted.status not in (None, entry.status):
        return False
    val = wanted.label.removeprefix("-")
    if val and not any(one.label.val == val and one.holds == (val == wanted.label) for one in entry.labels):
        return False
    at_ms = entry.item.created_at_ms
    if at_ms is None:
        at_ms = entry.runs[0].started_at_ms if entry.runs else 0
    return (wanted.since_ms or 0) <= at_ms and (wanted.until_ms is None or at_ms < wanted.until_ms)
