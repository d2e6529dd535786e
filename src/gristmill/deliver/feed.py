"""Reads stretches of changes once for all subscriptions that are at the same place."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import msgspec

from gristmill.deliver.core.messages import View, compute_view
from gristmill.domain.ids import ItemId
from gristmill.ports.delivery import Change, Changes

__all__ = ["Feed", "Stretch"]

CHANGES_PER_STRETCH = 200
STRETCHES_KEPT = 4


class Stretch(msgspec.Struct, frozen=True):
    """Changes in a row, with their items as they stood when it was read.

    Attributes:
        number: grows with each reading; a higher one has no older view of any item.
    """

    number: int
    changes: Sequence[Change]
    views: Mapping[ItemId, View]


class Feed:
    """All subscriptions of a process share one."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._kept: OrderedDict[int, Stretch] = OrderedDict()
        self._reading = asyncio.Lock()
        self.number = 0

    async def read(self, after: int, *, newer_than: int) -> Stretch:
        """Return the changes behind a position.

        Args:
            newer_than: number of the last stretch that the caller has worked on. It gets that one or a later reading:
                an older view of an item would undo what its receiver was told.
        Raises:
            Unavailable: the store cannot be read now.
        """
        async with self._reading:
            kept = self._kept.get(after)
            if kept is not None and kept.number >= newer_than:
                return kept
            # Taken before reading: whatever is read later has a higher number.
            self.number += 1
            number = self.number
            changes = await self._changes.read(after=after, limit=CHANGES_PER_STRETCH)
            known = await self._changes.look_up(list({change.item_id for change in changes})) if changes else {}
            stretch = Stretch(number, changes, {item_id: compute_view(one) for item_id, one in known.items()})
            if changes:
                self._kept[after] = stretch
                self._kept.move_to_end(after)
                while len(self._kept) > STRETCHES_KEPT:
                    self._kept.popitem(last=False)
            return stretch
