"""Decides which commits of a turn may be written: the lease must still hold, the input id must still be free."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.adapters.sqlite.file.rows import from_json, to_json
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.settling import owned_indexes
from gristmill.adapters.sqlite.state.packed import PackedCommits
from gristmill.domain.commit import CommitOutcome, Committed, Conflict, Fenced, RunCommit
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Lease

__all__ = ["decide_outcomes"]

KNOWN_IDS = """
SELECT json_group_array(json_array(j.key, m.item_id)) FROM json_each(?1) j
CROSS JOIN id_map m WHERE m.source = j.value ->> 0 AND m.input_id = j.value ->> 1
"""

COMMITTED = Committed()
FENCED = Fenced()


def decide_outcomes(turn: Turn, packed: PackedCommits) -> list[CommitOutcome]:
    """Return one outcome for each commit; those that share a lease get the same one."""
    outcomes: list[CommitOutcome] = [COMMITTED] * len(packed.commits)
    fenced = _fenced_groups(turn, packed)
    known = _known_ids(turn, packed)
    for number, indexes in enumerate(packed.groups):
        refusal = FENCED if number in fenced else _find_conflict(packed, indexes, known)
        if refusal is not None:
            for index in indexes:
                outcomes[index] = refusal
    return outcomes


def _fenced_groups(turn: Turn, packed: PackedCommits) -> set[int]:
    leased: list[tuple[int, Lease]] = []
    for number, indexes in enumerate(packed.groups):
        lease = packed.commits[indexes[0]].lease
        if lease is not None:
            leased.append((number, lease))
    if not leased:
        return set()
    owned = owned_indexes(turn, [lease for _, lease in leased])
    if len(owned) == len(leased):
        return set()
    return {number for index, (number, _) in enumerate(leased) if index not in owned}


def _known_ids(turn: Turn, packed: PackedCommits) -> dict[tuple[str, str], ItemId]:
    new = [run.commit.item for run in packed.runs.values() if run.commit.is_new_item]
    if not new:
        return {}
    found = from_json(turn.db.execute(KNOWN_IDS, (to_json([(item.source, item.input_id) for item in new]),)).get)
    return {(new[index].source, new[index].input_id): ItemId(item_id) for index, item_id in found}


def _find_conflict(
    packed: PackedCommits, indexes: Sequence[int], known: dict[tuple[str, str], ItemId]
) -> Conflict | None:
    """Check one group; if it may be written, later groups of the call see its ids as known."""
    new: dict[tuple[str, str], ItemId] = {}
    for index in indexes:
        commit = packed.commits[index]
        if not isinstance(commit, RunCommit) or not commit.is_new_item:
            continue
        item = commit.item
        name = (item.source, item.input_id)
        existing = known.get(name, new.setdefault(name, item.item_id))
        if existing != item.item_id:
            return Conflict(existing)
    known.update(new)
    return None
