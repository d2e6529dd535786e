"""Tokens over one SQLite file."""

from __future__ import annotations

from typing import Any

from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.domain.front.access import StoredToken

__all__ = ["SqliteTokens"]

INSERT = """
INSERT INTO token(token_id, secret_hash, name, role, tenant, created_at_ms, revoked_at_ms)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT ?8 OR NOT EXISTS(SELECT 1 FROM token)
"""
SELECT = "SELECT token_id, secret_hash, name, role, tenant, created_at_ms, revoked_at_ms FROM token"
REVOKE = "UPDATE token SET revoked_at_ms = ?2 WHERE token_id = ?1 AND revoked_at_ms IS NULL"


class SqliteTokens:
    """See `ports.front.Tokens`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def add(self, token: StoredToken, *, only_first: bool = False) -> bool:
        """Store a token; with `only_first`, only where there was never any."""
        row = (token.token_id, token.secret_hash, token.name, token.role, token.tenant, token.created_at_ms)
        return await self._write(INSERT, (*row, token.revoked_at_ms, only_first))

    async def find(self, token_id: str) -> StoredToken | None:
        """Return a token, a revoked one too."""
        row = await self._reader.do(lambda db: db.execute(f"{SELECT} WHERE token_id = ?", (token_id,)).get)
        return None if row is None else _stored(row)

    async def all(self) -> list[StoredToken]:
        """Return all tokens, oldest first."""
        rows = await self._reader.do(lambda db: db.execute(f"{SELECT} ORDER BY created_at_ms, token_id").fetchall())
        return [_stored(row) for row in rows]

    async def revoke(self, token_id: str, *, at_ms: int) -> bool:
        """Make a token useless; False where there is none that is good."""
        return await self._write(REVOKE, (token_id, at_ms))

    async def _write(self, sql: str, bindings: tuple[Any, ...]) -> bool:
        def run(turn: Turn) -> bool:
            turn.db.execute(sql, bindings)
            return turn.db.changes() > 0

        return await self._writer.do(Job(run))


def _stored(row: Any) -> StoredToken:
    return StoredToken(*row)
