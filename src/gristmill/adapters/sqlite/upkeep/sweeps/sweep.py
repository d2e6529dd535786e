"""What all sweeps have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import apsw

from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.upkeep.retention import RetentionRules

__all__ = ["LOOKED_MAX", "REST_MS", "ROWS_PER_TURN", "Moment", "Round", "Sweep", "uncount"]

ROWS_PER_TURN = 500
"""Some two milliseconds of a turn."""

LOOKED_MAX = 10_000
"""Rows that one sweep looks at where most of them stay; the next sweep goes on from there."""

REST_MS = 3_600_000
"""After all old rows were looked at: what has become due meanwhile can wait for an hour."""

UNCOUNT = "UPDATE tally SET value = value - ?2 WHERE name = ?1"


@dataclass(frozen=True)
class Moment:
    """What a sweep goes by.

    Attributes:
        now_ms: as of when ages are counted.
        clock_ms: what the clock says, which may have leapt ahead of that.
        living: owners that have a lock file, living or not looked after yet.
        archive: folder for what moves out of the store.
    """

    rules: RetentionRules
    now_ms: int
    clock_ms: int
    living: frozenset[str]
    archive: Path


@dataclass
class Round:
    """How far a sweep has come that looks at some rows each time, from the oldest on, and rests after the last old one.

    Attributes:
        place: key of the last row that was looked at.
        looked: rows that were looked at in this sweep.
        rests_until_ms: when the next round begins, as ages are counted.
    """

    place: int = 0
    looked: int = 0
    rests_until_ms: int = 0

    def end(self, moment: Moment) -> None:
        """Begin anew after a rest."""
        self.place, self.rests_until_ms = 0, moment.now_ms + REST_MS


class Sweep(Protocol):
    """One kind of rows. It may remember how far it has looked; `begin` is called once a sweep."""

    def begin(self) -> None:
        """Start a new sweep."""
        ...

    def find(self, db: apsw.Connection, moment: Moment) -> Sequence[Any]:
        """Return rows that may go, at most one turn's worth; none when there are no more for now. Only reads.

        What it returned once it returns again only if it was deleted and has come again, so a sweep ends.
        """
        ...

    def prepare(self, found: Sequence[Any], moment: Moment) -> None:
        """Do what must be durable before the rows go; outside any turn."""
        ...

    def remove(self, turn: Turn, found: Sequence[Any], moment: Moment) -> Counter[str]:
        """Delete those of them that still may go and return how many rows of which table went."""
        ...


def uncount(turn: Turn, counts: Counter[str]) -> None:
    """Take deleted rows off the running counts of a store."""
    for name, count in counts.items():
        turn.db.execute(UNCOUNT, (name, count))
