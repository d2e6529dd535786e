"""Writes a store anew, without the space of rows that are gone."""

from __future__ import annotations

import apsw

from gristmill.adapters.local_host.turn import FairTurn
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.errors import translated

__all__ = ["compact_store"]


def compact_store(file: StoreFile) -> None:
    """Make a store as small as its rows; killed in between it is what it was.

    Raises:
        Unavailable: somebody else has it open, or the disk is full.
    """
    turn = FairTurn(file.path)
    try:
        with translated(file.path):
            connection = file.open_writer(turn)
            try:
                with turn.long():
                    connection.execute("VACUUM")
                # The new pages are in the log until here; only then does the file shrink.
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                connection.close()
    finally:
        turn.close()
