"""Ends, prolongs and gives back leases; a lease counts only while its row has the same owner and epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from gristmill.adapters.sqlite.file.rows import from_json, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.appending import append
from gristmill.domain.log import Lease, NewRecord

__all__ = ["accept", "are_all_owned", "drop_leases", "free_owner", "owned_indexes", "release", "renew", "settle_with"]

OWNED = """
SELECT json_group_array(j.key) FROM jsonb_each(?1) j CROSS JOIN lease l
WHERE l.grp_id = j.value ->> 0 AND l.position = j.value ->> 1
    AND l.owner_id = j.value ->> 2 AND l.epoch = j.value ->> 3
"""
COUNT_OWNED = """
SELECT count(*) FROM lease
WHERE grp_id = ?1 AND owner_id = ?2 AND epoch = ?3 AND position IN (SELECT value FROM json_each(?4))
"""
COUNT_OWNED_BETWEEN = """
SELECT count(*) FROM lease WHERE grp_id = ?1 AND owner_id = ?2 AND epoch = ?3 AND position BETWEEN ?4 AND ?5
"""
DROP = "DELETE FROM lease WHERE grp_id = ?1 AND position IN (SELECT value FROM json_each(?2))"
DROP_BETWEEN = "DELETE FROM lease WHERE grp_id = ?1 AND position BETWEEN ?2 AND ?3"
RELEASE = """
UPDATE lease SET owner_id = 0, visible_at_ms = ?3, attempt = attempt - ?4
WHERE grp_id = ?1 AND position IN (SELECT value FROM json_each(?2))
"""
RENEW = """
UPDATE lease SET visible_at_ms = ?3 WHERE grp_id = ?1 AND position IN (SELECT value FROM json_each(?2))
"""
ENDS_FROM = "UPDATE grp SET earliest_end_ms = min(earliest_end_ms, ?2) WHERE grp_id = ?1"
TOPICS_OF_OWNER = """
SELECT topic.name, count(*) FROM lease JOIN grp USING(grp_id) JOIN topic USING(topic_id)
WHERE owner_id = ? GROUP BY topic.name
"""
FREE_OWNER = """
UPDATE lease SET owner_id = 0, visible_at_ms = 0,
    attempt = attempt - (?2 IS NOT NULL AND position NOT IN (SELECT value FROM json_each(?2)))
WHERE owner_id = ?1
"""


def owned_indexes(turn: Turn, leases: Sequence[Lease]) -> set[int]:
    """Return the indexes of those leases that still hold."""
    rows = []
    for lease in leases:
        grp_id = turn.names.try_group(lease.topic, lease.group)
        rows.append((grp_id or 0, lease.offset, turn.names.try_owner(lease.owner) or -1, lease.epoch))
    return set(from_json(turn.db.execute(OWNED, (to_json(rows),)).get))


def are_all_owned(turn: Turn, leases: Sequence[Lease]) -> bool:
    """Return whether different leases all hold; cheap where they are alike but for their positions."""
    alike: defaultdict[tuple[str, str, str, int], list[int]] = defaultdict(list)
    for lease in leases:
        alike[lease.topic, lease.group, lease.owner, lease.epoch].append(lease.offset)
    for (topic, group, owner, epoch), offsets in alike.items():
        ids = (turn.names.try_group(topic, group), turn.names.try_owner(owner), epoch)
        if (ends := _as_range(offsets)) is not None:
            owned_count = turn.db.execute(COUNT_OWNED_BETWEEN, (*ids, *ends)).get
        else:
            owned_count = turn.db.execute(COUNT_OWNED, (*ids, to_json(offsets))).get
        if owned_count < len(offsets):
            return False
    return True


def drop_leases(turn: Turn, leases: Iterable[Lease]) -> None:
    """Accept records whose leases are known to hold."""
    for grp_id, positions in _by_group(turn, leases):
        if (ends := _as_range(positions)) is not None:
            turn.db.execute(DROP_BETWEEN, (grp_id, *ends))
        else:
            turn.db.execute(DROP, (grp_id, to_json(positions)))


def accept(turn: Turn, leases: Sequence[Lease]) -> list[bool]:
    """Accept what is still owned; the second mention of a lease finds it gone."""
    owned = _first_mentions(turn, leases)
    drop_leases(turn, (lease for lease, is_owned in zip(leases, owned, strict=True) if is_owned))
    return owned


def settle_with(
    turn: Turn, leases: Sequence[Lease], then: Sequence[tuple[str, NewRecord]], *, now_ms: int
) -> list[bool]:
    """Accept all leases and append all records, or do neither."""
    if len(owned_indexes(turn, leases)) < len(leases):
        return [False] * len(leases)
    drop_leases(turn, leases)
    for topic, record in then:
        append(turn, topic, [record], now_ms=now_ms)
    return [True] * len(leases)


def release(turn: Turn, leases: Sequence[Lease], *, visible_at_ms: int, is_counted: bool) -> list[bool]:
    """Set records aside until a time; the second mention of a lease finds it gone."""
    owned = _first_mentions(turn, leases)
    kept = (lease for lease, is_owned in zip(leases, owned, strict=True) if is_owned)
    for grp_id, positions in _by_group(turn, kept):
        turn.db.execute(RELEASE, (grp_id, to_json(positions), visible_at_ms, 0 if is_counted else 1))
    return owned


def renew(turn: Turn, leases: Sequence[Lease], *, until_ms: int) -> list[bool]:
    """Move the end of what is still owned."""
    owned = owned_indexes(turn, leases)
    for grp_id, positions in _by_group(turn, (leases[index] for index in sorted(owned))):
        turn.db.execute(RENEW, (grp_id, to_json(positions), until_ms))
        turn.db.execute(ENDS_FROM, (grp_id, until_ms))
    return [index in owned for index in range(len(leases))]


def free_owner(turn: Turn, owner: str, *, marked: frozenset[int] | None) -> dict[str, int]:
    """Free the leases of a dead owner and return how many records of which topic became claimable.

    Args:
        marked: positions that were being worked on. All others only waited in the process that died, so they get
            their attempt back; None when the owner kept no marks, then all are charged.
    """
    owner_id = turn.names.try_owner(owner)
    freed = {str(topic): int(count) for topic, count in turn.db.execute(TOPICS_OF_OWNER, (owner_id,))}
    turn.db.execute(FREE_OWNER, (owner_id, None if marked is None else to_json(sorted(marked))))
    return freed


def _first_mentions(turn: Turn, leases: Sequence[Lease]) -> list[bool]:
    owned = owned_indexes(turn, leases)
    mentioned: set[Lease] = set()
    first: list[bool] = []
    for index, lease in enumerate(leases):
        first.append(index in owned and lease not in mentioned)
        mentioned.add(lease)
    return first


def _by_group(turn: Turn, leases: Iterable[Lease]) -> list[tuple[int, list[int]]]:
    """Return (group number, positions) for leases of groups that exist."""
    alike: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for lease in leases:
        alike[lease.topic, lease.group].append(lease.offset)
    numbered = ((turn.names.try_group(topic, group), offsets) for (topic, group), offsets in alike.items())
    return [(grp_id, offsets) for grp_id, offsets in numbered if grp_id is not None]


def _as_range(positions: Sequence[int]) -> tuple[int, int] | None:
    """Return the ends of positions that follow one another without a gap: a range is found at once, a list one by one.

    Records that are claimed together usually do, as long as one topic at a time is written.
    """
    first, last = min(positions), max(positions)
    return (first, last) if last - first + 1 == len(positions) == len(set(positions)) else None
