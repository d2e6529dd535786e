"""Remembers which item ids were found lately. Only what is known is remembered: what is missing may come any moment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from gristmill.domain.ids import ItemId

__all__ = ["RecentIds"]

KEYS_MAX = 50_000
"""About 15 MB in each process that takes content in."""


class RecentIds:
    """The item ids of the keys used last. A mapping never changes, so an answer never grows old."""

    def __init__(self, *, keys_max: int = KEYS_MAX) -> None:
        self._keys_max = keys_max
        self._known: OrderedDict[tuple[str, str, str], ItemId] = OrderedDict()

    def find(self, tenant: str, source: str, input_ids: Sequence[str]) -> dict[str, ItemId]:
        """Return those that are remembered."""
        known = self._known
        if not known:
            return {}
        found: dict[str, ItemId] = {}
        for input_id in input_ids:
            key = (tenant, source, input_id)
            item_id = known.get(key)
            if item_id is not None:
                known.move_to_end(key)
                found[input_id] = item_id
        return found

    def add(self, tenant: str, source: str, found: Mapping[str, ItemId]) -> None:
        """Remember answers of the store; the longest unused are forgotten."""
        known = self._known
        for input_id, item_id in found.items():
            known[tenant, source, input_id] = item_id
        while len(known) > self._keys_max:
            known.popitem(last=False)
