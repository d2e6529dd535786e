"""recent.*: originals of authors whose sizes follow Zipf's law; the newest 100 of 1,000 authors that are followed."""

from __future__ import annotations

import time
from typing import Any

import apsw
import numpy as np
from cases.figure import Figure

from gristmill.domain.errors import InvariantBroken
from gristmill.recent import EVENT_ROW, LatestRequest, RecentStore, StoreLimits

NOW_MS = 1_700_000_000_000
SEED = 20_261_130
ITEMS, ITEMS_QUICK = 400_000, 60_000
ITEMS_PER_AUTHOR = 10
AUTHOR_SHARE_MAX = 4_500 / 2_000_000
"""No author has more than this share of all items."""

BATCH, BATCH_CATCHING_UP = 1_000, 10_000
WANTED, FOLLOWED = 100, 1_000
QUERIES, QUERIES_QUICK = 200, 40
NS_PER_US = 1_000

QUERY_SHARE, INSERT_FACTOR = 1 / 5, 3
"""A query takes at most a fifth of SQLite's time; items go in at least three times as fast."""

BYTES_MAX = 90.0
INSERT = "INSERT INTO items VALUES (?, ?, ?)"
ASK = """
SELECT items.id, items.created FROM json_each(?) AS wanted, items
WHERE items.rowid IN (SELECT rowid FROM items WHERE author = wanted.value ORDER BY created DESC, id DESC LIMIT 50)
ORDER BY items.created DESC, items.id DESC LIMIT ?
"""


def measure_inserts(quick: bool) -> Figure:
    """Return items per second of CPU time, one value a run, against three times what SQLite does."""
    rows = make_rows(ITEMS_QUICK if quick else ITEMS)
    runs = tuple(len(rows) / _seconds(lambda: fill(rows)) for _ in range(2 if quick else 5))
    catching_up = len(rows) / _seconds(lambda: fill(rows, batch=BATCH_CATCHING_UP))
    peer = len(rows) / _seconds(lambda: fill_table(rows))
    more = {"sqlite": peer, "catching_up": catching_up}
    return Figure(runs=runs, unit="items/s/core", raw=peer * INSERT_FACTOR, less_is_better=False, more=more)


def measure_query(quick: bool) -> Figure:
    """Return the median microseconds of CPU time of a query, one value a run, against a fifth of SQLite's."""
    rows = make_rows(ITEMS_QUICK if quick else ITEMS)
    store, table = fill(rows), fill_table(rows)
    asked = make_lists(rows, QUERIES_QUICK if quick else QUERIES)
    refuse_other_answers(store, table, asked[:10])
    runs = tuple(_median_us(lambda authors: ask(store, authors), asked) for _ in range(2 if quick else 5))
    peer = _median_us(lambda authors: ask_table(table, authors), asked)
    return Figure(runs=runs, unit="us", raw=peer * QUERY_SHARE, more={"sqlite": peer})


def measure_bytes(quick: bool) -> Figure:
    """Return the bytes of an item at ten items an author, indexes included."""
    sizes = fill(make_rows(ITEMS_QUICK if quick else ITEMS)).sizes()
    return Figure(runs=(sizes.bytes / sizes.items,), unit="bytes", raw=BYTES_MAX)


def make_rows(count: int) -> Any:
    """Return originals in the order of their arrival, which is that of their creation within three seconds."""
    draw, authors = np.random.default_rng(SEED), count // ITEMS_PER_AUTHOR
    weights = 1 / np.arange(1, authors + 1)
    weights = np.minimum(weights / weights.sum(), AUTHOR_SHARE_MAX)
    rows = np.zeros(count, EVENT_ROW)
    rows["item"] = np.arange(1, count + 1)
    rows["author"] = draw.choice(authors, count, p=weights / weights.sum()) + 1
    arrived = NOW_MS - 172_000_000 + np.sort(draw.integers(0, 171_000_000, count))
    rows["at_ms"] = arrived - draw.integers(0, 3_000, count)
    return rows


def make_lists(rows: Any, count: int) -> list[Any]:
    """Return lists of authors: half of them drawn by how much they write, half of them any."""
    draw = np.random.default_rng(SEED + 1)
    loud = rows["author"][draw.integers(0, len(rows), (count, FOLLOWED // 2))]
    any_ = draw.integers(1, rows["author"].max() + 1, (count, FOLLOWED // 2), dtype=np.uint64)
    return [np.unique(np.concatenate(pair)) for pair in zip(loud, any_, strict=True)]


def fill(rows: Any, *, batch: int = BATCH) -> RecentStore:
    """Return a store that holds the items."""
    store = RecentStore(StoreLimits(items_max=len(rows)), now_ms=NOW_MS)
    for start in range(0, len(rows), batch):
        store.apply(rows[start : start + batch], now_ms=NOW_MS)
    return store


def fill_table(rows: Any) -> apsw.Connection:
    """Return a table in memory that holds the items, in the order that the question needs."""
    table = apsw.Connection(":memory:")
    table.execute("CREATE TABLE items (id INTEGER, author INTEGER, created INTEGER)")
    table.execute("CREATE INDEX by_author ON items (author, created DESC, id DESC)")
    values = list(zip(*(rows[name].tolist() for name in ("item", "author", "at_ms")), strict=True))
    for start in range(0, len(values), BATCH):
        with table:
            table.executemany(INSERT, values[start : start + BATCH])
    return table


def ask(store: RecentStore, authors: Any) -> list[int]:
    """Ask the store."""
    found: list[int] = store.latest(LatestRequest(authors=authors, results=WANTED), now_ms=NOW_MS).rows["item"].tolist()
    return found


def ask_table(table: apsw.Connection, authors: Any) -> list[int]:
    """Ask the table the same."""
    listed = "[" + ",".join(map(str, authors.tolist())) + "]"
    return [int(row[0]) for row in table.execute(ASK, (listed, WANTED))]


def refuse_other_answers(store: RecentStore, table: apsw.Connection, asked: list[Any]) -> None:
    """Compare answers first: speed without them means nothing.

    Raises:
        InvariantBroken: they differ.
    """
    for authors in asked:
        if ask(store, authors) != ask_table(table, authors):
            raise InvariantBroken("answers of the store and of SQLite differ")


def _seconds(work: Any) -> float:
    began_ns = time.process_time_ns()
    work()
    return (time.process_time_ns() - began_ns) / 1e9


def _median_us(question: Any, asked: list[Any]) -> float:
    took: list[float] = []
    for authors in asked:
        began_ns = time.process_time_ns()
        question(authors)
        took.append((time.process_time_ns() - began_ns) / NS_PER_US)
    return sorted(took)[len(took) // 2]
