"""Publishing over one SQLite file: ids, records and the memory of repeated calls share a turn.

Where the log is apart, rows of the outbox stand for the records, and are sent afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import msgspec

from gristmill.adapters.checks import check_publications
from gristmill.adapters.sqlite.file.writer import Job, Turn, Writer
from gristmill.adapters.sqlite.log import SqliteLog
from gristmill.adapters.sqlite.log.appending import append
from gristmill.adapters.sqlite.outbox import SqliteOutbox
from gristmill.adapters.sqlite.outbox.rows import add_rows
from gristmill.adapters.sqlite.state.identities import map_ids
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.domain.outbox import NewOutboxRow
from gristmill.ports.clock import Clock
from gristmill.ports.faults import fault

__all__ = ["SqliteInlet"]

PUBLISH_US = 10
"""Work of one publication inside a turn, generously."""

SWEPT_PER_CALL = 4
"""Every remembered call lets a few old ones go, so the table shrinks faster than it grows."""

FIND = "SELECT fingerprint, item_ids FROM once WHERE key = ? AND until_ms > ?"
SWEEP = "DELETE FROM once WHERE key IN (SELECT key FROM once WHERE until_ms <= ? ORDER BY until_ms LIMIT ?)"
REMEMBER = "INSERT OR REPLACE INTO once(key, fingerprint, until_ms, item_ids) VALUES(?, ?, ?, ?)"

_ids_decoder = msgspec.msgpack.Decoder(tuple[int, ...])


Put = Callable[[Turn, Sequence[Publication], Sequence[ItemId], int], None]
"""Writes what was published, in the order given."""


class SqliteInlet:
    """See `ports.front.Inlet`."""

    def __init__(self, writer: Writer, log: SqliteLog, clock: Clock, *, outbox: SqliteOutbox | None = None) -> None:
        self._writer = writer
        self._log = log
        self._clock = clock
        self._outbox = outbox

    async def publish(self, publications: Sequence[Publication], *, once: Once | None = None) -> Published | KeyTaken:
        """Append records, or add them to the outbox, and map their input ids in one turn."""
        check_publications(publications)
        now_ms = self._clock.now_ms()
        put = _append if self._outbox is None else _add_to_outbox
        fault("append.before")
        work_us = PUBLISH_US * len(publications)
        job = Job(lambda turn: _publish(turn, publications, once, put=put, now_ms=now_ms), work_us, is_awaited=True)
        published = await self._writer.do(job)
        fault("append.after")
        if isinstance(published, Published) and not published.is_replay:
            if self._outbox is None:
                self._log.announce(dict.fromkeys(publication.topic for publication in publications))
            else:
                self._outbox.ring()
        return published


def _publish(
    turn: Turn, publications: Sequence[Publication], once: Once | None, *, put: Put, now_ms: int
) -> Published | KeyTaken:
    if once is not None:
        known = turn.db.execute(FIND, (once.key, now_ms)).get
        if known is not None:
            fingerprint, stored = known
            if fingerprint != once.fingerprint:
                return KeyTaken()
            return Published(tuple(ItemId(one) for one in _ids_decoder.decode(stored)), is_replay=True)
    item_ids = _identify(turn, publications)
    put(turn, publications, item_ids, now_ms)
    if once is not None:
        turn.db.execute(SWEEP, (now_ms, SWEPT_PER_CALL))
        packed = msgspec.msgpack.encode(item_ids)
        turn.db.execute(REMEMBER, (once.key, once.fingerprint, once.until_ms, packed))
    return Published(item_ids)


def _append(turn: Turn, publications: Sequence[Publication], item_ids: Sequence[ItemId], now_ms: int) -> None:
    by_topic: defaultdict[str, list[NewRecord]] = defaultdict(list)
    for publication in publications:
        by_topic[publication.topic].append(publication.record)
    for topic, records in by_topic.items():
        append(turn, topic, records, now_ms=now_ms)


def _add_to_outbox(turn: Turn, publications: Sequence[Publication], item_ids: Sequence[ItemId], now_ms: int) -> None:
    rows = [NewOutboxRow(one.topic, _keyed(one), item_id) for one, item_id in zip(publications, item_ids, strict=True)]
    add_rows(turn, rows, now_ms=now_ms)


def _keyed(publication: Publication) -> NewRecord:
    """Return the record under a key, so that revisions of one item are sent in order, and to one partition."""
    record = publication.record
    if record.key:
        return record
    return msgspec.structs.replace(record, key=f"{publication.tenant}/{publication.source}/{publication.input_id}")


def _identify(turn: Turn, publications: Sequence[Publication]) -> tuple[ItemId, ...]:
    proposed: defaultdict[tuple[str, str], dict[str, ItemId]] = defaultdict(dict)
    for one in publications:
        proposed[one.tenant, one.source].setdefault(one.input_id, one.proposed)
    mapped = {(tenant, source): map_ids(turn, tenant, source, wanted) for (tenant, source), wanted in proposed.items()}
    return tuple([mapped[one.tenant, one.source][one.input_id] for one in publications])
