"""Keeps late holders of a record out where the log is apart from the file, so that no lease can be looked at.

Whoever works on a record that came again writes its epoch down first. From then on a commit under a lower epoch is
fenced; a record that comes for the first time has no earlier holder and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.adapters.sqlite.file.rows import from_json, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.domain.log import Lease

__all__ = ["overtaken_indexes", "raise_fences"]

RAISE = """
INSERT INTO fence(topic, grp, position, epoch, until_ms) VALUES(?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET epoch = max(epoch, excluded.epoch), until_ms = max(until_ms, excluded.until_ms)
"""
HAS_FENCES = "SELECT EXISTS(SELECT 1 FROM fence)"
OVERTAKEN = """
SELECT json_group_array(j.key) FROM jsonb_each(?1) j CROSS JOIN fence f
WHERE f.topic = j.value ->> 0 AND f.grp = j.value ->> 1 AND f.position = j.value ->> 2 AND f.epoch > j.value ->> 3
"""


def raise_fences(turn: Turn, leases: Sequence[Lease], *, until_ms: int) -> None:
    """Fence off everybody who held these records before."""
    rows = [(lease.topic, lease.group, lease.offset, lease.epoch, until_ms) for lease in leases]
    turn.db.executemany(RAISE, rows)


def overtaken_indexes(turn: Turn, leases: Sequence[Lease]) -> set[int]:
    """Return the indexes of leases whose record somebody else works on."""
    if not leases or not turn.db.execute(HAS_FENCES).get:
        return set()
    places = [(lease.topic, lease.group, lease.offset, lease.epoch) for lease in leases]
    return set(from_json(turn.db.execute(OVERTAKEN, (to_json(places),)).get))
