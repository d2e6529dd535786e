"""Finds items by what is known of them, newest first.

Items are looked through in the order of their ids, a bounded number for each page: a page may be short or even empty
while there are more, and says where to go on. So a filter that matches nothing never holds up the store, and commits
pay for no index. What people have negated is few and known by item, so that filter looks at nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from gristmill.api.reading.dossier import Standing, decide_status, latest_runs, stand
from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import decide_labels
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.ports.front import Front
from gristmill.ports.state import State

__all__ = [
    "SCANNED_MAX",
    "Coverage",
    "FoundItem",
    "ItemFilter",
    "ItemPage",
    "Scanned",
    "cover",
    "scan_items",
    "search_items",
]

SCANNED_MAX = 4_000
"""Items looked at for one page."""

SCANNED_PER_READ = 400
"""About 10 ms of the reading thread, which others need too."""

CLOSER_PER_READ = 100
"""Items whose runs are read together: a page of fifty needs no more, and the loop is held for some milliseconds."""


class ItemFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What an item must be; an empty value stands for any.

    Attributes:
        label: one that holds; with `-` in front one that a person has negated.
        status: where the item stands, or with `plan` how the newest run of that plan went.
        text: part of the text, whatever the case.
        plan: one that the item has a run of.
        since_ms, until_ms: bounds of its time, which is `created_at_ms` or else the start of its first run.
    """

    label: str = ""
    status: Standing | None = None
    kind: str = ""
    author: str = ""
    source: str = ""
    text: str = ""
    plan: str = ""
    tenant: str = ""
    since_ms: int | None = None
    until_ms: int | None = None


class FoundItem(msgspec.Struct, frozen=True):
    """An item with what a list shows of it."""

    item: Item
    status: Standing
    labels: list[StandingLabel]
    runs: list[StoredRun]

    @property
    def at_ms(self) -> int:
        """When it was written, or else when its first run began; UTC epoch."""
        if self.item.created_at_ms is not None:
            return self.item.created_at_ms
        return self.runs[0].started_at_ms if self.runs else 0


class Coverage(msgspec.Struct, frozen=True):
    """What was looked at for a page, of what may be seen: `count` items with ids from `lowest` to `highest`.

    None stands where there was none.
    """

    count: int = 0
    highest: ItemId | None = None
    lowest: ItemId | None = None


class ItemPage(msgspec.Struct, frozen=True):
    """Items in the order of their ids, the highest first; go on below `next_before` unless it is None."""

    items: list[FoundItem]
    next_before: ItemId | None
    coverage: Coverage = Coverage()


class Scanned(msgspec.Struct, frozen=True):
    """A stretch that was looked through: what it holds of what is wanted, and the ids of all of it, at least one.

    Attributes:
        visible: ids of those that the caller may see; of others nobody tells him how many there are.
    """

    matches: list[FoundItem]
    ids: list[ItemId]
    visible: list[ItemId]


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
    visible: list[ItemId] = []
    looked_at = 0
    async for part in scan_items(state, front, wanted, sees=sees, before=before):
        found += part.matches
        visible += part.visible
        looked_at += len(part.ids)
        if len(found) >= limit:
            last = found[limit - 1].item.item_id
            return ItemPage(found[:limit], last, cover([one for one in visible if one >= last]))
        if looked_at >= SCANNED_MAX:
            return ItemPage(found, part.ids[-1], cover(visible))
    return ItemPage(found, None, cover(visible))


async def scan_items(
    state: State, front: Front, wanted: ItemFilter, *, sees: Callable[[str], bool], before: ItemId | None
) -> AsyncIterator[Scanned]:
    """Look through all items below an id, stretch by stretch; whoever asks says when it is enough."""
    place = before
    while True:
        items = await _read_items(front, wanted, place)
        for start in range(0, len(items), CLOSER_PER_READ):
            stretch = items[start : start + CLOSER_PER_READ]
            visible = [item for item in stretch if sees(item.tenant)]
            closer = await _look_closer(state, front, [item for item in visible if _fits_by_itself(item, wanted)])
            matches = [entry for entry in closer if _fits(entry, wanted)]
            yield Scanned(matches, [item.item_id for item in stretch], [item.item_id for item in visible])
        if len(items) < SCANNED_PER_READ:
            return
        place = items[-1].item_id


def cover(ids: Sequence[ItemId]) -> Coverage:
    """Return what ids in falling order cover."""
    return Coverage(len(ids), ids[0], ids[-1]) if ids else Coverage()


async def _read_items(front: Front, wanted: ItemFilter, place: ItemId | None) -> list[Item]:
    if len(wanted.label) > 1 and wanted.label.startswith("-"):
        return await front.listing.items_of(await front.facts.judged_before(place, limit=SCANNED_PER_READ))
    return await front.listing.items_before(place, limit=SCANNED_PER_READ)


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
        and wanted.tenant in ("", item.tenant)
        and (item.created_at_ms is None or _is_within(item.created_at_ms, wanted))
        and (not wanted.text or wanted.text.casefold() in item.text.casefold())
    )


def _fits(entry: FoundItem, wanted: ItemFilter) -> bool:
    runs = [run for run in entry.runs if wanted.plan in ("", run.plan)]
    if wanted.plan and not runs:
        return False
    if wanted.status not in (None, decide_status(runs)):
        return False
    val = wanted.label.removeprefix("-")
    if val and not any(one.label.val == val and one.holds == (val == wanted.label) for one in entry.labels):
        return False
    return _is_within(entry.at_ms, wanted)


def _is_within(at_ms: int, wanted: ItemFilter) -> bool:
    is_late_enough = wanted.since_ms is None or wanted.since_ms <= at_ms
    return is_late_enough and (wanted.until_ms is None or at_ms < wanted.until_ms)
