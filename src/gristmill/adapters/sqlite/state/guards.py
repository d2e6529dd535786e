"""Decides which commits of a turn may be written: the lease must still hold, the input id must still be free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from gristmill.adapters.sqlite.file.rows import write_rows
from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.settling import are_all_owned, owned_indexes
from gristmill.adapters.sqlite.state.fencing import overtaken_indexes
from gristmill.adapters.sqlite.state.identities import INSERT_FREE_IDS, MAPPING_WIDTH, find_mapped
from gristmill.adapters.sqlite.state.packed import COMMITTED, Layout, PackedCommits
from gristmill.domain.commit import CommitOutcome, Conflict, Fenced, RunCommit
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import storage_form

__all__ = ["Decision", "decide_outcomes"]

FENCED = Fenced()

KnownIds = dict[tuple[str, str, str], ItemId]


class Decision(NamedTuple):
    """One outcome for each commit; those that share a lease get the same one.

    Attributes:
        has_written_ids: the new ids of all commits are written; that none was taken could be seen by that.
    """

    outcomes: list[CommitOutcome]
    has_written_ids: bool


def decide_outcomes(turn: Turn, packed: PackedCommits) -> Decision:
    """Check the guards. Where all is well, as it nearly always is, that takes one look at the leases and no other."""
    outcomes: list[CommitOutcome] = [COMMITTED] * len(packed.commits)
    fenced = _fenced_groups(turn, packed)
    if not fenced and _try_write_ids(turn, packed.layout):
        return Decision(outcomes, has_written_ids=True)
    known = find_mapped(turn, packed.layout.new_ids) if packed.layout else {}
    for number, indexes in enumerate(packed.groups):
        refusal = FENCED if number in fenced else _find_conflict(packed, indexes, known)
        if refusal is not None:
            for index in indexes:
                outcomes[index] = refusal
    return Decision(outcomes, has_written_ids=False)


def _fenced_groups(turn: Turn, packed: PackedCommits) -> set[int]:
    leases = list(packed.leases.values())
    if packed.is_log_apart:
        overtaken = overtaken_indexes(turn, leases)
        return {number for index, number in enumerate(packed.leases) if index in overtaken}
    if not leases or are_all_owned(turn, leases):
        return set()
    owned = owned_indexes(turn, leases)
    return {number for index, number in enumerate(packed.leases) if index not in owned}


def _try_write_ids(turn: Turn, layout: Layout | None) -> bool:
    """Write all new ids, or none if one of the input ids has an id already."""
    if layout is None:
        return True
    if layout.has_rivals:
        return False
    try:
        write_rows(turn.db, INSERT_FREE_IDS, layout.new_ids, width=MAPPING_WIDTH)
    except apsw.ConstraintError:
        return False
    return True


def _find_conflict(packed: PackedCommits, indexes: Sequence[int], known: KnownIds) -> Conflict | None:
    """Check one group; when it may be written, later groups of the call see its ids as known."""
    new: KnownIds = {}
    for index in indexes:
        commit = packed.commits[index]
        if isinstance(commit, RunCommit) and commit.is_new_item:
            item = commit.item
            name = (item.tenant, item.source, storage_form(item.input_id))
            existing = known.get(name)
            if existing is None:
                existing = new.setdefault(name, item.item_id)
            if existing != item.item_id:
                return Conflict(existing)
    known.update(new)
    return None
