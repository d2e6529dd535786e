"""Remembers in a store how far the time has come that ages are counted by, so that a process goes on from there."""

from __future__ import annotations

import apsw

from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.domain.upkeep.ageing import follow_clock
from gristmill.ports.clock import Clock

__all__ = ["Ageing"]

NOTE_MS = 240_000
"""While it goes on by less than this nothing is written: an idle store stays idle."""

TURN_US = 100

READ = "SELECT value FROM tally WHERE name = 'aged_ms'"
WRITE = "INSERT INTO tally VALUES('aged_ms', ?) ON CONFLICT DO UPDATE SET value = excluded.value"


class Ageing:
    """See `domain.upkeep.ageing`."""

    def __init__(self, writer: Writer, reader: Reader, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._reached_ms: int | None = None
        self._noted_ms: int | None = None
        self._looked_us = 0
        self.as_of_ms: int | None = None

    async def follow(self, now_ms: int, *, is_clock_right: bool) -> int:
        """Go on towards the clock, and return as of when ages are to be counted: never ahead of it."""
        now_us = self._clock.monotonic_us()
        elapsed_ms = None if self._reached_ms is None else (now_us - self._looked_us) // 1_000
        if self._reached_ms is None:
            self._reached_ms = self._noted_ms = await self._reader.do(_read)
        self._looked_us = now_us
        reached_ms = now_ms if is_clock_right else follow_clock(now_ms, self._reached_ms, elapsed_ms=elapsed_ms)
        self._reached_ms = reached_ms
        if self._noted_ms is None or abs(reached_ms - self._noted_ms) >= NOTE_MS:
            await self._writer.do(Job(lambda turn: _write(turn, reached_ms), TURN_US))
            self._noted_ms = reached_ms
        self.as_of_ms = min(now_ms, reached_ms)
        return self.as_of_ms


def _read(db: apsw.Connection) -> int | None:
    found = db.execute(READ).get
    return None if found is None else int(found)


def _write(turn: Turn, reached_ms: int) -> None:
    turn.db.execute(WRITE, (reached_ms,))
