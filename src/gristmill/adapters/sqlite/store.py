"""One SQLite file that holds log, state and cache, so a commit accepts its own record."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gristmill.adapters.local_host import Doorbell, FairTurn, OwnerLock, refuse_network_filesystem
from gristmill.adapters.sqlite.cache import SqliteCache
from gristmill.adapters.sqlite.definitions import SqliteDefinitions
from gristmill.adapters.sqlite.delivery import SqliteChanges, SqliteDeliveries
from gristmill.adapters.sqlite.file.connection import StoreFile, Synchronous
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Writer
from gristmill.adapters.sqlite.front import SqliteClosings, SqliteFront
from gristmill.adapters.sqlite.log import SqliteLog
from gristmill.adapters.sqlite.outbox import SqliteOrigins, SqliteOutbox
from gristmill.adapters.sqlite.state import SqliteState
from gristmill.adapters.sqlite.upkeep.upkeep import SqliteUpkeep
from gristmill.domain.errors import ConfigError
from gristmill.ports.clock import Clock

__all__ = ["SqliteStore"]


class SqliteStore:
    """Log, state and cache of one process over a file that other processes of the host may have open too.

    Beside the file lie `<file>-wal` and `<file>-shm` (SQLite), `<file>.gate`, `<file>.turn` and four more (whose turn
    it is), `<file>.outbox` (who sends), `<file>.sync` (what is durable), `<file>.owners` (who lives) and `<file>.bells`
    (how to wake them). Only the first two hold data.
    """

    def __init__(
        self,
        writer: Writer,
        reader: Reader,
        doorbell: Doorbell,
        lock: OwnerLock,
        clock: Clock,
        *,
        is_log_apart: bool = False,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._doorbell = doorbell
        self._lock = lock
        self.log = SqliteLog(writer, reader, doorbell, clock)
        self.state = SqliteState(writer, reader, is_log_apart=is_log_apart)
        self.cache = SqliteCache(writer, reader, clock)
        self.outbox = SqliteOutbox(writer, reader, self.log, clock)
        self.origins = SqliteOrigins(writer, clock)
        self.front = SqliteFront(writer, reader, self.log, clock, outbox=self.outbox if is_log_apart else None)
        self.definitions = SqliteDefinitions(writer, reader)
        self.changes = SqliteChanges(reader)
        self.deliveries = SqliteDeliveries(writer, reader)
        self.closings = SqliteClosings(writer, reader)
        self.upkeep = SqliteUpkeep(writer, reader, clock)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        owner: str,
        synchronous: Synchronous = "FULL",
        vfs: str | None = None,
        is_log_apart: bool = False,
    ) -> SqliteStore:
        """Open a store, making it if need be, and register `owner` as living until it is closed.

        Args:
            is_log_apart: the state is used with another log than the one in the file.
        Raises:
            ConfigError: a network file system, not a store, a damaged file, another schema version.
            Unavailable: the file cannot be opened now.
        """
        path = path.absolute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            refuse_network_filesystem(path)
            file = StoreFile(path, synchronous, vfs)
            turn = FairTurn(path)
        except OSError as error:
            advice = "choose a path that this user may write"
            raise ConfigError(f"store {path} cannot be opened", value=str(error), advice=advice) from error
        try:
            writer = Writer(file, turn)
        except BaseException:
            turn.close()
            raise
        lock = OwnerLock.take(file.owners_folder, owner)
        return cls(writer, Reader(file), Doorbell(file.bells_folder), lock, clock, is_log_apart=is_log_apart)

    @property
    def owners_folder(self) -> Path:
        """Where engines keep the marks of what they are working on; see `adapters.local_host.RunningMarks`."""
        return self._writer.file.owners_folder

    async def close(self) -> None:
        """Finish what is under way, close the file and let the owner be found gone; safe to call twice."""
        await asyncio.to_thread(self._close)
        self._doorbell.close()
        self._lock.release()

    def _close(self) -> None:
        self._writer.close()
        self._reader.close()
        self._writer.turn.close()
