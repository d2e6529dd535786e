"""Opens a store for work that nobody else may be doing on it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from gristmill.adapters.local_host.turn import FairTurn
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.errors import translated

__all__ = ["open_alone"]


@contextmanager
def open_alone(file: StoreFile) -> Iterator[tuple[apsw.Connection, FairTurn]]:
    """Give a connection that writes, with its turn, and leave all that was written in the one file, its log empty.

    Raises:
        ConfigError: not a store, a damaged one, or one of another schema version.
        Unavailable: somebody else has it open, or the disk is full.
    """
    turn = FairTurn(file.path)
    try:
        with translated(file.path):
            connection = file.open_writer(turn)
            try:
                yield connection, turn
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                connection.close()
    finally:
        turn.close()
