"""Writes a store anew, without the space of rows that are gone."""

from __future__ import annotations

from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.upkeep.alone import open_alone

__all__ = ["compact_store"]


def compact_store(file: StoreFile) -> None:
    """Make a store as small as its rows; killed in between it is what it was.

    Raises:
        ConfigError: not a store, a damaged one, or one of another schema version.
        Unavailable: somebody else has it open, or the disk is full.
    """
    # Until the log is emptied, which ends this, the new pages are in it, and the file is as large as before.
    with open_alone(file) as (connection, turn), turn.long():
        connection.execute("VACUUM")
