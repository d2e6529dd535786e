"""Changes of items, read from their events: no commit writes anything for it.

`event_row` is the position. Writers take turns, and a row gets the highest number there is plus one inside its turn, so
numbers grow in the order of commits: a reader that sees a row sees every row below it that will ever be. The highest
row is never deleted, so no number is given twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec

from gristmill.adapters.checks import check_limit
from gristmill.adapters.packing import unpack_events, unpack_item
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.state.reading import read_runs
from gristmill.adapters.sqlite.state.resolving import read_contributions
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.ports.delivery import CHANGES_PER_READ_MAX, Change, KnownItem

__all__ = ["SqliteChanges"]

END = "SELECT ifnull(max(event_row), 0) FROM event"
BEGINNING = "SELECT ifnull(min(event_row), 1) - 1 FROM event"
READ = "SELECT event_row, item_id, body FROM event WHERE event_row > ? ORDER BY event_row LIMIT ?"
FIRST_FROM = "SELECT event_row, body FROM event WHERE event_row >= ? ORDER BY event_row LIMIT 1"
ITEMS = """
SELECT item_id, body, (SELECT max(event_row) FROM event WHERE event.item_id = item.item_id) FROM item
WHERE item_id IN (SELECT value FROM json_each(?))
"""
FACTS = "SELECT fact_id, body FROM label_fact WHERE item_id IN (SELECT value FROM json_each(?)) ORDER BY fact_id"

_decoder = msgspec.msgpack.Decoder(LabelFact)


class SqliteChanges:
    """See `ports.delivery.Changes`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def end(self) -> int:
        """Return the position of the newest change."""
        return int(await self._reader.do(lambda db: db.execute(END).get))

    async def beginning(self) -> int:
        """Return a position below the oldest change that is still there."""
        return int(await self._reader.do(lambda db: db.execute(BEGINNING).get))

    async def position_at(self, at_ms: int) -> int:
        """Return the highest position whose changes, and all before it, are older than a time."""
        return await self._reader.do(lambda db: _find_position(db, at_ms))

    async def read(self, *, after: int, limit: int) -> list[Change]:
        """Return changes with a higher position, the oldest first."""
        check_limit(limit, most=CHANGES_PER_READ_MAX)
        return await self._reader.do(lambda db: _read(db, after, limit))

    async def look_up(self, item_ids: Sequence[ItemId]) -> dict[ItemId, KnownItem]:
        """Return items as they stand, all at one moment."""
        check_limit(max(1, len(item_ids)), most=CHANGES_PER_READ_MAX)
        return await self._reader.do(lambda db: _look_up(db, item_ids))


def _read(db: apsw.Connection, after: int, limit: int) -> list[Change]:
    return [
        Change(position, ItemId(item_id), tuple(unpack_events(body)))
        for position, item_id, body in db.execute(READ, (after, limit))
    ]


def _look_up(db: apsw.Connection, item_ids: Sequence[ItemId]) -> dict[ItemId, KnownItem]:
    wanted = to_json(list(item_ids))
    runs, shared = read_runs(db, item_ids), read_contributions(db, item_ids)
    facts: dict[ItemId, list[LabelFact]] = {}
    for fact_id, body in db.execute(FACTS, (wanted,)):
        fact = msgspec.structs.replace(_decoder.decode(body), fact_id=fact_id)
        facts.setdefault(fact.item_id, []).append(fact)
    return {
        item_id: KnownItem(
            position or 0, unpack_item(body), runs.get(item_id, []), shared.get(item_id, []), facts.get(item_id, [])
        )
        for item_id, body, position in db.execute(ITEMS, (wanted,))
    }


def _find_position(db: apsw.Connection, at_ms: int) -> int:
    """Look for the first row that is not older by halving; times grow with the rows but for a moment."""
    low, high = db.execute(BEGINNING).get, db.execute(END).get
    while low < high:
        middle = (low + high + 1) // 2
        row, body = db.execute(FIRST_FROM, (middle,)).get
        times = [event.at_ms for event in unpack_events(body)]
        if times and max(times) < at_ms:
            low = row
        else:
            high = middle - 1
    return int(low)
