"""Lists of items over one SQLite file, by the order of their ids, which costs no index of its own."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.adapters.checks import check_limit
from gristmill.adapters.packing import unpack_item
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.state.reading import read_runs
from gristmill.domain.commit import StoredRun
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.ports.front import ITEMS_PER_READ_MAX

__all__ = ["SqliteListing"]

NO_BOUND = (1 << 63) - 1
ITEMS = "SELECT body FROM item WHERE item_id < ? ORDER BY item_id DESC LIMIT ?"


class SqliteListing:
    """See `ports.front.Listing`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def items_before(self, item_id: ItemId | None, *, limit: int) -> list[Item]:
        """Return up to `limit` items with a lower id, the highest first."""
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        below = NO_BOUND if item_id is None else item_id
        return await self._reader.do(lambda db: [unpack_item(body) for (body,) in db.execute(ITEMS, (below, limit))])

    async def runs_of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[StoredRun]]:
        """Return all runs of items, oldest position first."""
        check_limit(max(1, len(item_ids)), most=ITEMS_PER_READ_MAX)
        return await self._reader.do(lambda db: read_runs(db, item_ids))
