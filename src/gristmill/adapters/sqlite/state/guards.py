"""Decides which commits of a turn may be written: the lease must still hold, the input id must still be free."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.adapters.sqlite.file.writer import Turn
from gristmill.adapters.sqlite.log.settling import are_all_owned, owned_indexes
from gristmill.adapters.sqlite.state.identities import find_mapped
from gristmill.adapters.sqlite.state.packed import COMMITTED, PackedCommits
from gristmill.domain.commit import CommitOutcome, Conflict, Fenced, RunCommit
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import storage_form

__all__ = ["decide_outcomes"]

FENCED = Fenced()

KnownIds = dict[tuple[str, str, str], ItemId]


def decide_outcomes(turn: Turn, packed: PackedCommits) -> list[CommitOutcome]:
    """Return one outcome for each commit; those that share a lease get the same one."""
    outcomes: list[CommitOutcome] = [COMMITTED] * len(packed.commits)
    fenced = _fenced_groups(turn, packed)
    known = _known_ids(turn, packed)
    if not (fenced or known or packed.has_twins):
        return outcomes
    for number, indexes in enumerate(packed.groups):
        refusal = FENCED if number in fenced else _find_conflict(packed, indexes, known)
        if refusal is not None:
            for index in indexes:
                outcomes[index] = refusal
    return outcomes


def _fenced_groups(turn: Turn, packed: PackedCommits) -> set[int]:
    leases = list(packed.leases.values())
    if not leases or are_all_owned(turn, leases):
        return set()
    owned = owned_indexes(turn, leases)
    return {number for index, number in enumerate(packed.leases) if index not in owned}


def _known_ids(turn: Turn, packed: PackedCommits) -> KnownIds:
    if packed.layout is None or not packed.layout.new_ids:
        return {}
    return find_mapped(turn, packed.layout.new_ids)


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
