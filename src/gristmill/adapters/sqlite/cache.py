"""The cache port over one SQLite file."""

from __future__ import annotations

from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.ports.clock import Clock

__all__ = ["SqliteCache"]

SWEPT_PER_PUT = 4
"""Every put removes a few expired entries, so the table shrinks faster than it grows."""

PUT = "INSERT INTO cache VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, until_ms = excluded.until_ms"
SWEEP = "DELETE FROM cache WHERE key IN (SELECT key FROM cache WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)"
GET = "SELECT value FROM cache WHERE key = ? AND until_ms > ?"
RENEW = "UPDATE cache SET until_ms = ?4 WHERE key = ?1 AND until_ms > ?2 AND value = ?3"
DELETE = "DELETE FROM cache WHERE key = ?1 AND until_ms > ?2 AND ifnull(?3, value) = value"


class SqliteCache:
    """See `ports.cache.Cache`. Processes that open the same file share it."""

    def __init__(self, writer: Writer, reader: Reader, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock

    async def put_if_absent(self, key: str, value: str, *, ttl_ms: int) -> str | None:
        """Store the value unless a live one exists; return the live one, or None when ours was stored."""
        now_ms = self._clock.now_ms()

        def run(turn: Turn) -> str | None:
            live = turn.db.execute(GET, (key, now_ms)).get
            if live is None:
                _put(turn, key, value, now_ms=now_ms, ttl_ms=ttl_ms)
            return None if live is None else str(live)

        return await self._writer.do(Job(run))

    async def put(self, key: str, value: str, *, ttl_ms: int) -> None:
        """Store the value, replacing any other."""
        now_ms = self._clock.now_ms()
        await self._writer.do(Job(lambda turn: _put(turn, key, value, now_ms=now_ms, ttl_ms=ttl_ms)))

    async def get(self, key: str) -> str | None:
        """Return the live value or None."""
        now_ms = self._clock.now_ms()
        found = await self._reader.do(lambda db: db.execute(GET, (key, now_ms)).get)
        return None if found is None else str(found)

    async def renew(self, key: str, *, value: str, ttl_ms: int) -> bool:
        """Let a live key end `ttl_ms` from now, while `value` is what it holds; return whether it is."""
        now_ms = self._clock.now_ms()

        def run(turn: Turn) -> bool:
            turn.db.execute(RENEW, (key, now_ms, value, now_ms + ttl_ms))
            return turn.db.changes() > 0

        return await self._writer.do(Job(run))

    async def delete(self, key: str, *, value: str | None = None) -> bool:
        """Remove the key, with `value` only while that is what it holds; return whether it was removed."""
        now_ms = self._clock.now_ms()

        def run(turn: Turn) -> bool:
            turn.db.execute(DELETE, (key, now_ms, value))
            return turn.db.changes() > 0

        return await self._writer.do(Job(run))


def _put(turn: Turn, key: str, value: str, *, now_ms: int, ttl_ms: int) -> None:
    turn.db.execute(SWEEP, (now_ms, SWEPT_PER_PUT))
    turn.db.execute(PUT, (key, value, now_ms + ttl_ms))
