"""Label facts over one SQLite file, each beside the event that tells it."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec

from gristmill.adapters.checks import check_fact_is_new, check_limit, event_of_fact
from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.ports.front import ITEMS_PER_READ_MAX

__all__ = ["SqliteLabelFacts"]

NEWEST = "SELECT ifnull(max(fact_id), 0) FROM label_fact WHERE item_id = ?"
INSERT = "INSERT INTO label_fact(item_id, body) VALUES(?, ?)"
TELL = "INSERT INTO event(item_id, body) VALUES(?, ?)"
FACTS = """
SELECT fact_id, body FROM label_fact WHERE item_id IN (SELECT value FROM json_each(?)) ORDER BY fact_id
"""

NEWEST_OF_ALL = "SELECT fact_id, body FROM label_fact ORDER BY fact_id DESC LIMIT ?"
JUDGED = "SELECT DISTINCT item_id FROM label_fact WHERE item_id < ? ORDER BY item_id DESC LIMIT ?"
NO_BOUND = (1 << 63) - 1

_decoder = msgspec.msgpack.Decoder(LabelFact)


class SqliteLabelFacts:
    """See `ports.front.LabelFacts`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def add(self, fact: LabelFact, *, last_fact_id: int | None = None) -> LabelFact:
        """Store a fact with its event and return it with its id."""

        def run(turn: Turn) -> LabelFact:
            if last_fact_id is not None:
                check_fact_is_new(fact, last_fact_id, turn.db.execute(NEWEST, (fact.item_id,)).get)
            turn.db.execute(INSERT, (fact.item_id, pack(fact)))
            stored = msgspec.structs.replace(fact, fact_id=turn.db.last_insert_rowid())
            turn.db.execute(TELL, (fact.item_id, pack([event_of_fact(stored)])))
            return stored

        return await self._writer.do(Job(run))

    async def of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[LabelFact]]:
        """Return the facts of items, oldest first."""
        return await self._reader.do(lambda db: _read(db, item_ids))

    async def judged_before(self, item_id: ItemId | None, *, limit: int) -> list[ItemId]:
        """Return ids of items that somebody said something about, the highest first."""
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        below = NO_BOUND if item_id is None else item_id
        return await self._reader.do(lambda db: [ItemId(found) for (found,) in db.execute(JUDGED, (below, limit))])

    async def newest(self, *, limit: int) -> list[LabelFact]:
        """Return the newest facts of all items, the newest first."""
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        return await self._reader.do(lambda db: [_unpack(*row) for row in db.execute(NEWEST_OF_ALL, (limit,))])


def _unpack(fact_id: int, body: bytes) -> LabelFact:
    return msgspec.structs.replace(_decoder.decode(body), fact_id=fact_id)


def _read(db: apsw.Connection, item_ids: Sequence[ItemId]) -> dict[ItemId, list[LabelFact]]:
    found: dict[ItemId, list[LabelFact]] = {}
    for fact_id, body in db.execute(FACTS, (to_json(list(item_ids)),)):
        fact = _unpack(fact_id, body)
        found.setdefault(fact.item_id, []).append(fact)
    return found
