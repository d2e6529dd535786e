"""Counts over time from one SQLite file, without an index of its own.

Rows are numbered in the order of commits and their times grow with the numbers, so where an interval begins is found by
halving: some twenty rows are looked at for each bound, however many there are. Of records that were let go of, samples
tell how far the log had come; between two of them it is taken to have gone evenly. Topics that are left out are counted
one by one: they are meant to be small.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import apsw

from gristmill.adapters.checks import check_limit
from gristmill.adapters.packing import unpack_ended_at
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.domain.front.traffic import Interval, decide_count
from gristmill.ports.front import INTERVALS_PER_READ_MAX

__all__ = ["SqliteTraffic"]

# Each by itself: the two together would go through the whole table.
ENDS_OF_LOG = "SELECT (SELECT min(position) FROM log), (SELECT max(position) FROM log)"
SAMPLE_BEFORE = "SELECT at_ms, position FROM sample WHERE at_ms <= ? ORDER BY at_ms DESC LIMIT 1"
SAMPLE_AFTER = "SELECT at_ms, position FROM sample WHERE at_ms > ? ORDER BY at_ms LIMIT 1"
TOPIC = "SELECT topic_id FROM topic WHERE name = ?"
RECORDS_OF_TOPIC = "SELECT count(*) FROM log WHERE topic_id = ? AND position >= ? AND position < ?"
HAS_SAMPLES = "SELECT EXISTS(SELECT 1 FROM sample)"
TIME_OF_RECORD = "SELECT appended_at_ms FROM log WHERE position >= ? ORDER BY position LIMIT 1"
ENDS_OF_RUNS = "SELECT (SELECT min(run_row) FROM run), (SELECT max(run_row) FROM run)"
BODY_OF_RUN = "SELECT body FROM run WHERE run_row >= ? ORDER BY run_row LIMIT 1"


class SqliteTraffic:
    """See `ports.front.Traffic`."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def count(self, *, since_ms: int, step_ms: int, limit: int, without: Sequence[str] = ()) -> list[Interval]:
        """Return `limit` intervals of `step_ms`, the first from `since_ms` on."""
        check_limit(limit, most=INTERVALS_PER_READ_MAX)
        bounds = [since_ms + index * step_ms for index in range(limit + 1)]
        return await self._reader.do(lambda db: _count(db, bounds, step_ms=step_ms, without=without))


def _count(db: apsw.Connection, bounds: list[int], *, step_ms: int, without: Sequence[str]) -> list[Interval]:
    def time_of_record(position: int) -> int:
        return int(db.execute(TIME_OF_RECORD, (position,)).get)

    def time_of_run(row: int) -> int:
        return unpack_ended_at(db.execute(BODY_OF_RUN, (row,)).get)

    places = _places(db.execute(ENDS_OF_LOG).get, time_of_record, bounds)
    if db.execute(HAS_SAMPLES).get:
        places = [_place_by_samples(db, bound, place) for bound, place in zip(bounds, places, strict=True)]
    topic_ids = [found[0] for name in without if (found := db.execute(TOPIC, (name,)).fetchone()) is not None]
    records = [
        after - before - sum(int(db.execute(RECORDS_OF_TOPIC, (topic_id, before, after)).get) for topic_id in topic_ids)
        for before, after in pairwise(places)
    ]
    runs = [after - before for before, after in pairwise(_places(db.execute(ENDS_OF_RUNS).get, time_of_run, bounds))]
    return [
        Interval(at_ms, decide_count(appended, step_ms=step_ms), decide_count(ended, step_ms=step_ms))
        for at_ms, appended, ended in zip(bounds, records, runs, strict=False)
    ]


def _places(ends: Any, time_of: Callable[[int], int], bounds: list[int]) -> list[int]:
    """Return the first number at or after each bound."""
    first, last = ends
    if first is None:
        return [0] * len(bounds)
    numbers = range(first, last + 1)
    places: list[int] = []
    for bound in bounds:
        low = places[-1] - first if places else 0
        places.append(first + bisect_left(numbers, bound, lo=low, key=time_of))
    return places


def _place_by_samples(db: apsw.Connection, at_ms: int, place: int) -> int:
    """Return how far the log had come: by its samples up to the last of them, by the records that are there then."""
    before, after = db.execute(SAMPLE_BEFORE, (at_ms,)).get, db.execute(SAMPLE_AFTER, (at_ms,)).get
    if before is None:
        # The first of all samples stands for the oldest record that was there.
        return int(after[1]) + 1
    began_ms, began = before
    if after is None:
        return max(place, int(began) + 1)
    ended_ms, ended = after
    return int(began + (ended - began) * (at_ms - began_ms) // (ended_ms - began_ms)) + 1
