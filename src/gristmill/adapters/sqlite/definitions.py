"""Published definitions in one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec

from gristmill.adapters.definition_checks import check_definition, check_expected
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.ports.definitions import Definition

__all__ = ["SqliteDefinitions"]

COLUMNS = "kind, tenant, name, revision, hash, at_ms, actor, body"
INSERT = f"INSERT INTO definition({COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
HISTORY = f"SELECT {COLUMNS} FROM definition WHERE kind = ? AND tenant = ? AND name = ? ORDER BY revision"
LAST = f"SELECT {COLUMNS} FROM definition WHERE kind = ? AND tenant = ? AND name = ? ORDER BY revision DESC LIMIT 1"
LATEST = f"""
SELECT {COLUMNS} FROM definition d WHERE kind = ?1 AND revision =
    (SELECT max(revision) FROM definition WHERE kind = d.kind AND tenant = d.tenant AND name = d.name)
ORDER BY tenant, name
"""
VERSION = "SELECT ifnull(max(definition_row), 0) FROM definition"


class SqliteDefinitions:
    """See `ports.definitions.Definitions`. Processes that open the same file share it."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def publish(self, new: Definition, *, expected: int | None = None) -> Definition:
        """Add a revision and return it as stored."""
        check_definition(new)

        def run(turn: Turn) -> Definition:
            found = _read(turn.db, LAST, (new.kind, new.tenant, new.name))
            latest = found[0] if found else None
            check_expected(new, latest, expected)
            if latest is not None and latest.hash == new.hash:
                return latest
            stored = msgspec.structs.replace(new, revision=latest.revision + 1 if latest else 1)
            turn.db.execute(INSERT, msgspec.structs.astuple(stored))
            return stored

        return await self._writer.do(Job(run))

    async def latest(self, kind: str) -> Sequence[Definition]:
        """Return the latest revision of each definition of a kind, by tenant and name."""
        return await self._reader.do(lambda db: _read(db, LATEST, (kind,)))

    async def history(self, kind: str, name: str, *, tenant: str) -> Sequence[Definition]:
        """Return all revisions of one definition, the oldest first."""
        return await self._reader.do(lambda db: _read(db, HISTORY, (kind, tenant, name)))

    async def version(self) -> int:
        """Return a number that grows with each revision published."""
        return int(await self._reader.do(lambda db: db.execute(VERSION).get))


def _read(db: apsw.Connection, sql: str, bindings: tuple[str, ...]) -> list[Definition]:
    names = COLUMNS.split(", ")
    return [Definition(**dict(zip(names, row, strict=True))) for row in db.execute(sql, bindings)]
