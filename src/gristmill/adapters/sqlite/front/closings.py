"""What was done with dead letters, over one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.adapters.checks import check_limit
from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.domain.upkeep.closing import Closing
from gristmill.ports.upkeep.closings import CLOSINGS_PER_CALL_MAX

__all__ = ["SqliteClosings"]

INSERT = "INSERT INTO closing(at_ms, body, original, edited) VALUES(?, ?, ?, ?)"
REMOVE = "DELETE FROM closing WHERE closing_id IN (SELECT value FROM json_each(?))"
BEFORE = "SELECT closing_id, body FROM closing WHERE closing_id < ? ORDER BY closing_id DESC LIMIT ?"
FIND = "SELECT closing_id, body, original, edited FROM closing WHERE closing_id = ?"
NO_BOUND = (1 << 63) - 1
INSERT_US = 6

_decoder = msgspec.msgpack.Decoder(Closing)


class SqliteClosings:
    """See `ports.upkeep.closings.Closings`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def add(self, closings: Sequence[Closing]) -> list[int]:
        """Store closings and return their ids."""
        check_limit(len(closings), most=CLOSINGS_PER_CALL_MAX)
        return await self._writer.do(Job(lambda turn: _insert(turn, closings), INSERT_US * len(closings)))

    async def remove(self, closing_ids: Sequence[int]) -> None:
        """Take closings back."""
        keys = to_json(list(closing_ids))
        await self._writer.do(Job(lambda turn: turn.db.execute(REMOVE, (keys,)).get))

    async def before(self, closing_id: int | None, *, limit: int) -> list[Closing]:
        """Return closings with a lower id, the newest first and without payloads."""
        check_limit(limit, most=CLOSINGS_PER_CALL_MAX)
        below = NO_BOUND if closing_id is None else closing_id
        return await self._reader.do(lambda db: [_unpack(*row) for row in db.execute(BEFORE, (below, limit))])

    async def find(self, closing_id: int) -> Closing | None:
        """Return one with its payloads."""
        found = await self._reader.do(lambda db: [_unpack(*row) for row in db.execute(FIND, (closing_id,))])
        return next(iter(found), None)


def _insert(turn: Turn, closings: Sequence[Closing]) -> list[int]:
    ids: list[int] = []
    for closing in closings:
        body = pack(msgspec.structs.replace(closing, original=b"", edited=b""))
        turn.db.execute(INSERT, (closing.at_ms, body, closing.original, closing.edited))
        ids.append(turn.db.last_insert_rowid())
    return ids


def _unpack(closing_id: int, body: bytes, original: bytes = b"", edited: bytes = b"") -> Closing:
    return msgspec.structs.replace(_decoder.decode(body), closing_id=closing_id, original=original, edited=edited)
