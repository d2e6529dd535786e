"""Leases records: those that came due again and those behind which no cursor of the group has gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from gristmill.adapters.sqlite.file.rows import from_json, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.log import NEVER_MS, Delivery, Lease

__all__ = ["Claim", "Claimed"]

SCAN_RECORDS_MAX = 5_000
"""Delayed records that one claim sets aside at most; the next one goes on."""

GROUP = "SELECT topic_id, cursor, earliest_end_ms FROM grp WHERE grp_id = ?"
HAS_FRESH = "SELECT EXISTS(SELECT 1 FROM log WHERE topic_id = ? AND position > ?)"
HAS_WAITING = """
SELECT EXISTS(SELECT 1 FROM lease INDEXED BY lease_waiting WHERE owner_id = 0 AND grp_id = ? AND visible_at_ms <= ?)
"""
SELECT_WAITING = """
SELECT position, visible_at_ms FROM lease INDEXED BY lease_waiting
WHERE owner_id = 0 AND grp_id = ?1 AND visible_at_ms <= ?2
"""
SELECT_ENDED = "SELECT position, visible_at_ms FROM lease WHERE grp_id = ?1 AND owner_id <> 0 AND visible_at_ms <= ?2"
DUE = "SELECT json_group_array(position) FROM (SELECT position FROM ({}) ORDER BY visible_at_ms, position LIMIT ?3)"
DUE_WAITING = DUE.format(SELECT_WAITING)
DUE_WAITING_OR_ENDED = DUE.format(f"{SELECT_WAITING} UNION ALL {SELECT_ENDED}")
LEASE_DUE = """
UPDATE lease SET owner_id = ?2, epoch = epoch + 1, attempt = attempt + 1, visible_at_ms = ?3
WHERE grp_id = ?1 AND position IN (SELECT value FROM json_each(?4)) RETURNING position, epoch, attempt
"""
# Those that have ended and did not fit this claim too: the next one looks for them.
EARLIEST_END = "SELECT min(visible_at_ms) FROM lease WHERE grp_id = ?1 AND owner_id <> 0"
MEASURE_FRESH = """
SELECT max(position), total(due_at_ms > ?4) FROM
    (SELECT position, due_at_ms FROM log WHERE topic_id = ?1 AND position > ?2 ORDER BY position LIMIT ?3)
"""
BOUND_FRESH = """
SELECT position FROM (SELECT position, due_at_ms FROM log WHERE topic_id = ?1 AND position > ?2
    ORDER BY position LIMIT ?5) WHERE due_at_ms <= ?4 ORDER BY position LIMIT 1 OFFSET ?3 - 1
"""
LAST_FRESH = """
SELECT max(position) FROM (SELECT position FROM log WHERE topic_id = ?1 AND position > ?2 ORDER BY position LIMIT ?3)
"""
LEASE_FRESH = """
INSERT INTO lease(grp_id, position, owner_id, epoch, attempt, visible_at_ms)
SELECT ?1, position, iif(due_at_ms > ?6, 0, ?2), due_at_ms <= ?6, due_at_ms <= ?6, iif(due_at_ms > ?6, due_at_ms, ?3)
FROM log WHERE topic_id = ?4 AND position > ?5 AND position <= ?7
"""
COUNT_FRESH = """
SELECT count(*) FROM log WHERE topic_id = ?1 AND position > ?2 AND position <= ?3 AND due_at_ms <= ?4
"""
ADVANCE = "UPDATE grp SET cursor = ?2, passed = passed + ?3 WHERE grp_id = ?1"
SET_EARLIEST_END = "UPDATE grp SET earliest_end_ms = ?2 WHERE grp_id = ?1 AND earliest_end_ms <> ?2"
READ_FRESH = """
SELECT position, key, headers, value, appended_at_ms FROM log
WHERE topic_id = ?1 AND position > ?2 AND position <= ?3 AND due_at_ms <= ?4 ORDER BY position
"""
READ_DUE = """
SELECT position, key, headers, value, appended_at_ms FROM log WHERE position IN (SELECT value FROM json_each(?))
"""

_headers_decoder = msgspec.json.Decoder(dict[str, str])


@dataclass(slots=True)
class Claimed:
    """What a turn leased, and after it the records."""

    topic_id: int = 0
    due: dict[int, tuple[int, int]] | None = None
    fresh_after: int = 0
    fresh_upto: int = 0
    deliveries: Sequence[Delivery] = ()

    @property
    def has_due(self) -> bool:
        """Whether any record came back rather than fresh."""
        return bool(self.due)


@dataclass(frozen=True, slots=True)
class Claim:
    """One call of `claim` at one moment."""

    topic: str
    group: str
    owner: str
    limit: int
    now_ms: int
    until_ms: int
    is_fresh_first: bool

    def idle(self, turn: Turn) -> Claimed | None:
        """Return an empty answer when there is nothing to claim, without a turn."""
        grp_id = turn.names.try_group(self.topic, self.group)
        if grp_id is None:
            return Claimed() if turn.names.try_topic(self.topic) is None else None
        topic_id, cursor, earliest_end_ms = turn.db.execute(GROUP, (grp_id,)).get
        if self.now_ms >= earliest_end_ms or turn.db.execute(HAS_FRESH, (topic_id, cursor)).get:
            return None
        return None if turn.db.execute(HAS_WAITING, (grp_id, self.now_ms)).get else Claimed()

    def run(self, turn: Turn) -> Claimed:
        """Lease due and fresh records, one kind first, the other filling up."""
        grp_id = turn.names.group(self.topic, self.group)
        owner_id = turn.names.owner(self.owner)
        topic_id, cursor, earliest_end_ms = turn.db.execute(GROUP, (grp_id,)).get
        claimed = Claimed(topic_id=topic_id, due={}, fresh_after=cursor, fresh_upto=cursor)
        fresh_count = self._lease_fresh(turn, claimed, (grp_id, owner_id), self.limit) if self.is_fresh_first else 0
        if self.now_ms >= earliest_end_ms:
            self._lease_due(turn, claimed, (grp_id, owner_id), limit=self.limit - fresh_count, sql=DUE_WAITING_OR_ENDED)
            earliest_end_ms = turn.db.execute(EARLIEST_END, (grp_id,)).get or NEVER_MS
        else:
            self._lease_due(turn, claimed, (grp_id, owner_id), limit=self.limit - fresh_count, sql=DUE_WAITING)
        if not self.is_fresh_first:
            self._lease_fresh(turn, claimed, (grp_id, owner_id), self.limit - len(claimed.due or ()))
        turn.db.execute(SET_EARLIEST_END, (grp_id, min(earliest_end_ms, self.until_ms)))
        return claimed

    def finish(self, turn: Turn, claimed: Claimed) -> Claimed:
        """Read the leased records; their leases keep them from being trimmed."""
        deliveries: list[Delivery] = []
        if claimed.fresh_upto > claimed.fresh_after:
            bindings = (claimed.topic_id, claimed.fresh_after, claimed.fresh_upto, self.now_ms)
            for position, key, headers, value, appended_at_ms in turn.db.execute(READ_FRESH, bindings):
                lease = Lease(self.topic, self.group, position, self.owner, 1)
                decoded = _headers_decoder.decode(headers) if headers else {}
                deliveries.append(Delivery(lease, value, key, decoded, 1, appended_at_ms))
        if claimed.due:
            rows = turn.db.execute(READ_DUE, (to_json(list(claimed.due)),))
            for position, key, headers, value, appended_at_ms in rows:
                epoch, attempt = claimed.due[position]
                lease = Lease(self.topic, self.group, position, self.owner, epoch)
                decoded = _headers_decoder.decode(headers) if headers else {}
                deliveries.append(Delivery(lease, value, key, decoded, attempt, appended_at_ms))
            deliveries.sort(key=lambda delivery: delivery.lease.offset)
        claimed.deliveries = deliveries
        return claimed

    def _lease_due(self, turn: Turn, claimed: Claimed, ids: tuple[int, int], *, limit: int, sql: str) -> None:
        if limit <= 0:
            return
        due = turn.db.execute(sql, (ids[0], self.now_ms, limit)).get
        if from_json(due):
            rows = turn.db.execute(LEASE_DUE, (*ids, self.until_ms, due))
            claimed.due = {position: (epoch, attempt) for position, epoch, attempt in rows}

    def _lease_fresh(self, turn: Turn, claimed: Claimed, ids: tuple[int, int], limit: int) -> int:
        """Move the cursor over at most `limit` records that are due, and return how many were leased."""
        if limit <= 0:
            return 0
        place = (claimed.topic_id, claimed.fresh_after)
        upto, delayed = turn.db.execute(MEASURE_FRESH, (*place, limit, self.now_ms)).get
        if upto is None:
            return 0
        if delayed:
            upto = self._bound_fresh(turn, place, limit)
        turn.db.execute(LEASE_FRESH, (*ids, self.until_ms, *place, self.now_ms, upto))
        passed = turn.db.changes()
        turn.db.execute(ADVANCE, (ids[0], upto, passed))
        claimed.fresh_upto = upto
        return int(turn.db.execute(COUNT_FRESH, (*place, upto, self.now_ms)).get) if delayed else passed

    def _bound_fresh(self, turn: Turn, place: tuple[int, int], limit: int) -> int:
        """Return how far to go for `limit` records when delayed ones lie between them."""
        window = max(limit, SCAN_RECORDS_MAX)
        bound = turn.db.execute(BOUND_FRESH, (*place, limit, self.now_ms, window)).get
        return int(bound or turn.db.execute(LAST_FRESH, (*place, window)).get)
