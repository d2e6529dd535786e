"""Commits made ready before their turn: everything is encoded, so a turn only moves bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from gristmill.adapters.grouping import indexes_by_lease
from gristmill.adapters.packing import PlacedContribution, pack, pack_run
from gristmill.domain.commit import Commit, Quarantine, RunCommit
from gristmill.domain.ids import ItemId
from gristmill.domain.run import Event, RunStatus

__all__ = ["STATUSES", "PackedCommits", "PackedRun", "pack_commits"]

STATUSES: tuple[RunStatus, ...] = ("done", "skipped", "rejected", "failed")
"""A status is stored as its index here; new ones are added at the end."""

STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}


@dataclass(slots=True)
class PackedRun:
    """A run with its blobs. `events` are packed per item, nearly always one."""

    commit: RunCommit
    status: int
    body: bytes
    item: bytes
    events: list[tuple[ItemId, bytes]]

    def contributions(self) -> list[PlacedContribution]:
        """Return the contributions with the position that orders them."""
        return [PlacedContribution(self.commit.position, one) for one in self.commit.contributions]


@dataclass(slots=True)
class PackedCommits:
    """One call's worth of commits. `groups` are indexes of those that stand or fall together."""

    commits: Sequence[Commit]
    groups: list[list[int]] = field(default_factory=list)
    runs: dict[int, PackedRun] = field(default_factory=dict)
    quarantines: dict[int, Quarantine] = field(default_factory=dict)


def pack_commits(commits: Sequence[Commit]) -> PackedCommits:
    """Encode commits.

    Raises:
        UsageError: a value cannot be encoded; nothing is written then.
    """
    packed = PackedCommits(commits, indexes_by_lease(commits))
    for index, commit in enumerate(commits):
        if isinstance(commit, Quarantine):
            packed.quarantines[index] = commit
        else:
            packed.runs[index] = _pack_one(commit)
    return packed


def _pack_one(commit: RunCommit) -> PackedRun:
    return PackedRun(
        commit, STATUS_CODES[commit.status], pack_run(commit), pack(commit.item), pack_events(commit.events)
    )


def pack_events(events: Sequence[Event]) -> list[tuple[ItemId, bytes]]:
    """Pack events into one blob per item, in their order."""
    if len({event.item_id for event in events}) <= 1:
        return [(events[0].item_id, pack(events))] if events else []
    by_item: defaultdict[ItemId, list[Event]] = defaultdict(list)
    for event in events:
        by_item[event.item_id].append(event)
    return [(item_id, pack(of_item)) for item_id, of_item in by_item.items()]
