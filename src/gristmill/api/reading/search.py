"""Finds items by what is known of them, newest first.

Items are looked through in the order of their ids, a bounded number for each page: a page may be short or even empty
while there are more, and says where to go on. So a filter that matches nothing never holds up the store, and commits
pay for no index. What people have negated is few and known by item, so that filter looks at nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import msgspec

from gristmill.api.reading.text_core import PIECE_CHARS, cut_text
from gristmill.api.reading.turns import FREELY, Turns
from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import decide_labels
from gristmill.domain.front.label_fact import StandingLabel
from gristmill.domain.front.standing import Standing, decide_status, given_labels, stand
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.ports.front import Front
from gristmill.ports.state import State

__all__ = [
    "SCANNED_CHARS_MAX",
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

SCANNED_CHARS_MAX = 8_000_000
"""Characters of text looked at for one page, where texts are long: a second at the slowest, in small pieces."""

STRETCH_CHARS = 1_000_000

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
        visible: ids of those that the caller may see; how many others there are is not told.
        chars: of the texts of all of it.
    """

    matches: list[FoundItem]
    ids: list[ItemId]
    visible: list[ItemId]
    chars: int


async def search_items(
    state: State,
    front: Front,
    wanted: ItemFilter,
    *,
    sees: Callable[[str], bool],
    before: ItemId | None = None,
    limit: int = 50,
    turns: Turns = FREELY,
) -> ItemPage:
    """Return a page of items.

    Args:
        sees: whether content of a tenant may be shown.
        before: the highest id is below this one.
        turns: lets so many look through a stretch at once, see `Services.scans`.
    """
    found: list[FoundItem] = []
    visible: list[ItemId] = []
    looked_at = chars = 0
    async for part in scan_items(state, front, wanted, sees=sees, before=before, turns=turns):
        found += part.matches
        visible += part.visible
        looked_at += len(part.ids)
        chars += part.chars
        if len(found) >= limit:
            last = found[limit - 1].item.item_id
            return ItemPage(found[:limit], last, cover([one for one in visible if one >= last]))
        if looked_at >= SCANNED_MAX or chars >= SCANNED_CHARS_MAX:
            return ItemPage(found, part.ids[-1], cover(visible))
    return ItemPage(found, None, cover(visible))


async def scan_items(
    state: State,
    front: Front,
    wanted: ItemFilter,
    *,
    sees: Callable[[str], bool],
    before: ItemId | None,
    turns: Turns = FREELY,
) -> AsyncIterator[Scanned]:
    """Look through all items below an id, stretch by stretch; whoever asks says when it is enough."""
    place = before
    while True:
        async with turns:
            items = await _read_items(front, wanted, place)
        if not items:
            return
        for stretch in _cut_up(items):
            visible = [item for item in stretch if sees(item.tenant)]
            async with turns:
                closer = await _look_closer(state, front, await _choose(visible, wanted))
            yield Scanned(
                [entry for entry in closer if _fits(entry, wanted)],
                [item.item_id for item in stretch],
                [item.item_id for item in visible],
                sum(len(item.text) for item in stretch),
            )
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
        given = frozenset(label.val for label in given_labels(runs))
        shared = decide_labels(item.item_id, shared_of.get(item.item_id, []), given=given)
        labels = stand(runs, shared, facts_of.get(item.item_id, []))
        found.append(FoundItem(item, decide_status(runs), labels, runs))
    return found


def _cut_up(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield stretches of items that are looked at closer together: few, and fewer where their texts are long."""
    stretch: list[Item] = []
    chars = 0
    for item in items:
        stretch.append(item)
        chars += len(item.text)
        if len(stretch) == CLOSER_PER_READ or chars >= STRETCH_CHARS:
            yield stretch
            stretch, chars = [], 0
    if stretch:
        yield stretch


async def _choose(items: Sequence[Item], wanted: ItemFilter) -> list[Item]:
    """Return those that fit by themselves, and let others have their turn while long texts are looked through."""
    fitting: list[Item] = []
    folded, chars = wanted.text.casefold(), 0
    for item in items:
        if not _fits_by_itself(item, wanted):
            continue
        is_held = not folded
        for piece in cut_text(item.text, overlap=len(folded)) if folded else ():
            is_held = folded in piece.casefold()
            chars += len(piece)
            if chars >= PIECE_CHARS:
                chars = 0
                await asyncio.sleep(0)
            if is_held:
                break
        if is_held:
            fitting.append(item)
    return fitting


def _fits_by_itself(item: Item, wanted: ItemFilter) -> bool:
    return (
        wanted.kind in ("", item.kind)
        and wanted.author in ("", item.author)
        and wanted.source in ("", item.source)
        and wanted.tenant in ("", item.tenant)
        and (item.created_at_ms is None or _is_within(item.created_at_ms, wanted))
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
