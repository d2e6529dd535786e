"""Progress, memory and log of subscriptions over one SQLite file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import msgspec

from gristmill.adapters.packing import pack
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.rows import to_json, write_rows
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.domain.delivery import Attempt, Progress
from gristmill.domain.errors import StaleRead
from gristmill.domain.ids import ItemId
from gristmill.ports.delivery import ATTEMPTS_KEPT, SentColumns

__all__ = ["SqliteDeliveries"]

COLUMNS = "subscription_id, version, body"
ALL = f"SELECT {COLUMNS} FROM subscription ORDER BY tenant, name"
FIND = f"SELECT {COLUMNS} FROM subscription WHERE tenant = ? AND name = ?"
INSERT = "INSERT INTO subscription(tenant, name, version, body) VALUES(?, ?, 1, ?)"
SAVE = "UPDATE subscription SET version = version + 1, body = ?3 WHERE subscription_id = ?1 AND version = ?2"
KEEP = "INSERT OR REPLACE INTO sent(item_id, subscription_id, body) SELECT column1, ?1, column2 FROM {rows}"
FORGET = "DELETE FROM sent WHERE subscription_id = ? AND item_id IN (SELECT value FROM json_each(?))"
SENT = "SELECT item_id, body FROM sent WHERE subscription_id = ? AND item_id IN (SELECT value FROM json_each(?))"
NOTE = "INSERT INTO attempt(subscription_id, body) VALUES(?, ?)"
TRIM = """
DELETE FROM attempt WHERE attempt_id IN (
    SELECT attempt_id FROM attempt WHERE subscription_id = ? ORDER BY attempt_id DESC LIMIT -1 OFFSET ?)
"""
ATTEMPTS = "SELECT body FROM attempt WHERE subscription_id = ? ORDER BY attempt_id DESC LIMIT ?"

ROW_US = 5
"""Of one remembered item inside a turn."""

_progress = msgspec.msgpack.Decoder(Progress)
_columns = msgspec.msgpack.Decoder(dict[str, str])
_attempt = msgspec.msgpack.Decoder(Attempt)


class SqliteDeliveries:
    """See `ports.delivery.Deliveries`. Processes that open the same file share it."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def add(self, new: Progress) -> Progress:
        """Begin a subscription and return it; one that exists stays as it is."""

        def run(turn: Turn) -> Progress:
            found = _find(turn.db, new.name, new.tenant)
            if found is None:
                turn.db.execute(INSERT, (new.tenant, new.name, pack(new)))
                found = _find(turn.db, new.name, new.tenant)
            assert found is not None
            return found

        return await self._writer.do(Job(run))

    async def all(self) -> list[Progress]:
        """Return all subscriptions, by tenant and name."""
        return await self._reader.do(lambda db: [_unpack(*row) for row in db.execute(ALL)])

    async def find(self, name: str, *, tenant: str) -> Progress | None:
        """Return one subscription."""
        return await self._reader.do(lambda db: _find(db, name, tenant))

    async def save(
        self,
        progress: Progress,
        *,
        sent: Mapping[ItemId, SentColumns | None] | None = None,
        attempts: Sequence[Attempt] = (),
    ) -> Progress:
        """Write how far a subscription is and return it with its next version."""
        subscription_id, body = progress.subscription_id, pack(progress)
        kept: list[Any] = []
        for item_id, columns in (sent or {}).items():
            if columns is not None:
                kept += (item_id, pack(columns))
        gone = to_json([item_id for item_id, columns in (sent or {}).items() if columns is None])
        notes = [(subscription_id, pack(attempt)) for attempt in attempts[-ATTEMPTS_KEPT:]]

        def run(turn: Turn) -> None:
            turn.db.execute(SAVE, (subscription_id, progress.version, body))
            if not turn.db.changes():
                raise StaleRead(f"subscription {progress.name!r}", advice="read it again: somebody has changed it")
            write_rows(turn.db, KEEP, kept, width=2, constants=(subscription_id,))
            turn.db.execute(FORGET, (subscription_id, gone))
            if notes:
                turn.db.executemany(NOTE, notes)
                turn.db.execute(TRIM, (subscription_id, ATTEMPTS_KEPT))

        await self._writer.do(Job(run, 50 + ROW_US * len(sent or {})))
        return msgspec.structs.replace(progress, version=progress.version + 1)

    async def sent(self, subscription_id: int, item_ids: Sequence[ItemId]) -> dict[ItemId, SentColumns]:
        """Return what the receiver has of items."""
        bindings = (subscription_id, to_json(list(item_ids)))
        return await self._reader.do(
            lambda db: {ItemId(item_id): _columns.decode(body) for item_id, body in db.execute(SENT, bindings)}
        )

    async def attempts(self, subscription_id: int, *, limit: int = 50) -> list[Attempt]:
        """Return the newest attempts, the newest first."""
        bindings = (subscription_id, limit)
        return await self._reader.do(lambda db: [_attempt.decode(body) for (body,) in db.execute(ATTEMPTS, bindings)])


def _find(db: apsw.Connection, name: str, tenant: str) -> Progress | None:
    row = db.execute(FIND, (tenant, name)).get
    return None if row is None else _unpack(*row)


def _unpack(subscription_id: int, version: int, body: bytes) -> Progress:
    return msgspec.structs.replace(_progress.decode(body), subscription_id=subscription_id, version=version)
