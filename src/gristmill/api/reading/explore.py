"""A page of found items together with what the items around it have in common.

Counts are honest about their reach: they are taken over the items that were looked through for this page, at least
SURVEYED_MIN of them where there are so many, and the coverage says from where to where that was.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gristmill.api.reading.search import (
    SCANNED_CHARS_MAX,
    SCANNED_MAX,
    Coverage,
    FoundItem,
    ItemFilter,
    ItemPage,
    cover,
    scan_items,
)
from gristmill.api.reading.summary_core import Known, Summary, summarise
from gristmill.api.reading.turns import FREELY, Turns
from gristmill.domain.front.standing import latest_runs
from gristmill.domain.ids import ItemId
from gristmill.ports.front import Front
from gristmill.ports.state import State

__all__ = ["SURVEYED_MIN", "Exploration", "explore_items"]

SURVEYED_MIN = 1_000
"""Items looked through for the counts though the page is full: about 0.1 s, most of it decoding their runs."""


class Exploration(msgspec.Struct, frozen=True):
    """A page, and counts over `surveyed`.

    Attributes:
        is_whole: every item from the place where the page begins was looked through.
    """

    page: ItemPage
    summary: Summary
    surveyed: Coverage
    is_whole: bool


async def explore_items(
    state: State,
    front: Front,
    wanted: ItemFilter,
    *,
    sees: Callable[[str], bool],
    before: ItemId | None = None,
    limit: int = 50,
    turns: Turns = FREELY,
) -> Exploration:
    """Return a page of items, in falling order of their ids, with counts; see `search_items`."""
    found: list[FoundItem] = []
    known: list[Known] = []
    visible: list[ItemId] = []
    looked_at = chars = 0
    following: ItemId | None = None
    is_whole = True
    async for part in scan_items(state, front, wanted, sees=sees, before=before, turns=turns):
        visible += part.visible
        looked_at += len(part.ids)
        chars += part.chars
        known += [_know(entry) for entry in part.matches]
        # Beyond the page only counts are kept: runs are large.
        found += part.matches[: limit + 1 - len(found)]
        is_far = looked_at >= SCANNED_MAX or chars >= SCANNED_CHARS_MAX
        if is_far or (len(found) > limit and looked_at >= SURVEYED_MIN):
            is_whole, following = False, part.ids[-1]
            break
    if len(found) > limit:
        following = found[limit - 1].item.item_id
    reach = [one for one in visible if following is None or one >= following]
    page = ItemPage(found[:limit], following, cover(reach))
    return Exploration(page, summarise(known), cover(visible), is_whole)


def _know(entry: FoundItem) -> Known:
    item = entry.item
    return Known(
        entry.at_ms,
        {
            "label": tuple([one.label.val for one in entry.labels if one.holds]),
            "negated": tuple([one.label.val for one in entry.labels if not one.holds]),
            "status": (entry.status,),
            "kind": (item.kind,),
            "source": (item.source,),
            "plan": tuple([run.plan for run in latest_runs(entry.runs)]),
            "author": (item.author,) if item.author else (),
            "tenant": (item.tenant,),
        },
    )
