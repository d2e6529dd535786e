"""The upkeep port over one SQLite file."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from gristmill.adapters.local_host.owners import registered_owners
from gristmill.adapters.sqlite.file.reader import Reader
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.upkeep.ageing import Ageing
from gristmill.adapters.sqlite.upkeep.growth import GROWTH
from gristmill.adapters.sqlite.upkeep.sweeps.events import EventSweep
from gristmill.adapters.sqlite.upkeep.sweeps.items import ItemSweep
from gristmill.adapters.sqlite.upkeep.sweeps.leftovers import leftover_sweeps
from gristmill.adapters.sqlite.upkeep.sweeps.lossy import LossySweep
from gristmill.adapters.sqlite.upkeep.sweeps.records import RecordSweep
from gristmill.adapters.sqlite.upkeep.sweeps.runs import RunSweep
from gristmill.adapters.sqlite.upkeep.sweeps.samples import SampleSweep
from gristmill.adapters.sqlite.upkeep.sweeps.standing import StandingSweep, read_standing
from gristmill.adapters.sqlite.upkeep.sweeps.sweep import Moment, Sweep
from gristmill.domain.upkeep.retention import HeldTopic, RetentionRules, StandingGroup, TableUse
from gristmill.ports.clock import Clock

__all__ = ["ARCHIVE_FOLDER", "SqliteUpkeep"]

ARCHIVE_FOLDER = "archive"
"""Beside the store: events of months that are over."""

TURN_US = 3_000
"""More than a short turn, so that whoever waits for an answer goes first."""

PAUSE_SHARE = 4
PAUSE_MS_MIN = 5
"""After each turn four times as long as it took: sweeping takes a fifth of the writers' time at most."""

PAGES = "SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name"
HELD = """
SELECT topic.name, record_count - trimmed_count,
    ifnull((SELECT appended_at_ms FROM log WHERE log.topic_id = topic.topic_id ORDER BY position LIMIT 1), 0),
    ifnull((SELECT grp.name FROM grp WHERE grp.topic_id = topic.topic_id ORDER BY
        ifnull((SELECT min(position) FROM lease WHERE lease.grp_id = grp.grp_id), cursor) LIMIT 1), ''),
    CAST((record_count - trimmed_count) * ifnull((SELECT avg(size) FROM (SELECT length(value) AS size FROM log
        WHERE log.topic_id = topic.topic_id ORDER BY position LIMIT 100)), 0) AS INT)
FROM topic WHERE record_count > trimmed_count ORDER BY 2 DESC
"""
TABLE_OF = "SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')"
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


class SqliteUpkeep:
    """See `ports.upkeep.Upkeep`. One process of a group sweeps; two at once do no harm."""

    def __init__(self, writer: Writer, reader: Reader, clock: Clock) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._ageing = Ageing(writer, reader, clock)
        records = (SampleSweep(), LossySweep(), StandingSweep(), RecordSweep())
        self._sweeps: Sequence[Sweep] = (*records, *leftover_sweeps(), RunSweep(), EventSweep(), ItemSweep())

    @property
    def as_of_ms(self) -> int | None:
        """As of when the last sweep counted ages."""
        return self._ageing.as_of_ms

    async def sweep(self, rules: RetentionRules, *, now_ms: int, is_clock_right: bool = False) -> Mapping[str, int]:
        """Let go of all that is due, in short turns with pauses; return rows by table."""
        moment = Moment(
            rules=rules,
            now_ms=await self._ageing.follow(now_ms, is_clock_right=is_clock_right),
            clock_ms=now_ms,
            living=frozenset(await asyncio.to_thread(registered_owners, self._writer.file.owners_folder)),
            archive=self._archive,
        )
        deleted: Counter[str] = Counter()
        for sweep in self._sweeps:
            sweep.begin()
            while found := await self._reader.do(partial(sweep.find, moment=moment)):
                await asyncio.to_thread(sweep.prepare, found, moment)
                began_us = self._clock.monotonic_us()
                deleted.update(await self._writer.do(Job(partial(_remove, sweep, found, moment), TURN_US)))
                took_ms = (self._clock.monotonic_us() - began_us) // 1000
                await self._clock.sleep_ms(max(PAUSE_MS_MIN, PAUSE_SHARE * took_ms))
        return {table: count for table, count in deleted.items() if count}

    async def measure(self, rules: RetentionRules) -> Sequence[TableUse]:
        """Return what every table holds, in the order of their names."""
        return await self._reader.do(lambda db: _measure(db, rules))

    async def oldest(self) -> Mapping[str, int]:
        """Return when the oldest row of each table was written."""
        return await self._reader.do(_read_oldest)

    async def held(self, rules: RetentionRules) -> Sequence[HeldTopic]:
        """Return topics that have records, but for those of inputs, the most records first."""
        held = await self._reader.do(lambda db: [HeldTopic(*row) for row in db.execute(HELD)])
        return [one for one in held if not one.topic.startswith(rules.input_topics)]

    async def standing(self, rules: RetentionRules, *, now_ms: int) -> Sequence[StandingGroup]:
        """Return groups that nobody here serves and that stand still behind records."""
        return await self._reader.do(lambda db: read_standing(db, rules, now_ms=now_ms))

    async def free_bytes(self) -> int:
        """Return what rows that are gone have left for new ones."""
        return await self._reader.do(lambda db: int(db.pragma("freelist_count")) * int(db.pragma("page_size")))

    @property
    def _archive(self) -> Path:
        return self._writer.file.path.with_name(ARCHIVE_FOLDER)


def _remove(sweep: Sweep, found: Sequence[object], moment: Moment, turn: Turn) -> Counter[str]:
    return sweep.remove(turn, found, moment)


def _measure(db: apsw.Connection, rules: RetentionRules) -> list[TableUse]:
    named: list[Any] = db.execute(TABLE_OF).fetchall()
    table_of: dict[str, str] = dict(named)
    sizes: Counter[str] = Counter()
    for name, size in db.execute(PAGES):
        sizes[table_of.get(str(name), str(name))] += size
    oldest = _read_oldest(db)
    uses = []
    for table in [str(name) for (name,) in db.execute(TABLES)]:
        growth = GROWTH[table]
        age_ms = growth.age_ms(rules) if growth.age_ms is not None else 0
        oldest_at_ms = oldest.get(table)
        uses.append(
            TableUse(
                name=table,
                rows=int(db.execute(f"SELECT count(*) FROM {table}").get),
                bytes=sizes[table],
                oldest_at_ms=oldest_at_ms,
                due_at_ms=oldest_at_ms + age_ms if oldest_at_ms is not None and age_ms else None,
                rule=growth.rule,
            )
        )
    return uses


def _read_oldest(db: apsw.Connection) -> dict[str, int]:
    found = {table: growth.oldest(db) for table, growth in GROWTH.items() if growth.oldest is not None}
    return {table: at_ms for table, at_ms in found.items() if at_ms is not None}
