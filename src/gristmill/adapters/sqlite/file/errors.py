"""Translates errors of the driver by what the caller can do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from gristmill.domain.errors import (
    ConfigError,
    GristmillError,
    InvariantBroken,
    OutcomeUnknown,
    Unavailable,
    UsageError,
)

__all__ = ["translate", "translated"]


def translate(error: apsw.Error, path: Path, *, is_committing: bool = False) -> GristmillError:
    """Return the error to raise instead; `is_committing`: the failed step may have made the changes durable."""
    thing = f"store {path}"
    match error:
        case apsw.FullError():
            return Unavailable(thing, value=str(error), advice="the disk is full: free space, then retry")
        case apsw.CorruptError() | apsw.NotADBError():
            advice = "the file is damaged or not a store: restore a backup, or move it away for a fresh start"
            return ConfigError(thing, value=str(error), advice=advice)
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | apsw.AuthError():
            advice = "make the file and its folder writable for this user"
            return Unavailable(thing, value=str(error), advice=advice)
        case apsw.IOError() if is_committing:
            advice = "the disk failed during a commit: check it; a retry may double the work"
            return OutcomeUnknown(thing, value=str(error), advice=advice)
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            advice = "another program holds the file: end it, then retry"
            return Unavailable(thing, value=str(error), advice=advice)
        case apsw.TooBigError():
            return UsageError(thing, value=str(error), advice="one value is longer than a store can hold: cut it")
        case apsw.IOError() | apsw.NoMemError() | apsw.InterruptError() | apsw.SchemaChangeError():
            return Unavailable(thing, value=f"{type(error).__name__}: {error}", advice="nothing was done; retry")
        case _:
            # A statement that does not fit the file will never fit it: to retry would only hide the bug.
            advice = "nothing was done; another program has changed the tables, or this is a bug: report it"
            return InvariantBroken(thing, value=f"{type(error).__name__}: {error}", advice=advice)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what a failed read means."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path) from error
