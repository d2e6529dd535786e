"""Commits made ready before their turn: everything is encoded and laid out, so a turn only moves bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec

from gristmill.adapters.grouping import indexes_by_lease
from gristmill.adapters.packing import pack, pack_item, pack_run
from gristmill.adapters.placed import PlacedContribution
from gristmill.adapters.sqlite.state.identities import mapping_row
from gristmill.domain.commit import Commit, CommitOutcome, Committed, Quarantine, RunCommit
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.domain.log import Lease
from gristmill.domain.run import Event, RunStatus

__all__ = [
    "COMMITTED",
    "STATUSES",
    "STATUS_CODES",
    "Layout",
    "PackedCommits",
    "PackedRun",
    "lay_out",
    "pack_commits",
    "pack_events",
]

STATUSES: tuple[RunStatus, ...] = ("done", "skipped", "rejected", "failed")
"""A status is stored as its index here; new ones are added at the end."""

STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}

COMMITTED = Committed()
"""The one instance that guards hand out."""


class PackedRun(msgspec.Struct, frozen=True, gc=False):
    """A run that is to be written. It is open when its record is not accepted in this commit."""

    commit: RunCommit
    is_open: bool

    def contributions(self) -> list[PlacedContribution]:
        """Return the contributions with the position that orders them."""
        return [PlacedContribution(self.commit.position, one) for one in self.commit.contributions]


@dataclass(slots=True)
class Layout:
    """Rows for the statements of a turn, each table's laid end to end, with the columns that are named.

    Attributes:
        runs: by (generator, is open): run id, item id, position, status, body.
        items: item id, revision, body.
        new_ids: see `mapping_row`.
        events: item id, body.
        effects: run id, task, sink, mode, body.
        has_rivals: two runs bring different new ids for the same input id.
    """

    runs: defaultdict[tuple[str, bool], list[Any]] = field(default_factory=lambda: defaultdict(list))
    items: list[Any] = field(default_factory=list)
    new_ids: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    effects: list[Any] = field(default_factory=list)
    has_rivals: bool = False


@dataclass(slots=True)
class PackedCommits:
    """One turn's worth of commits.

    Attributes:
        groups: indexes of entries that stand or fall together.
        leases: the lease of each group that has one, by the group's number.
        layout: for all runs; made again where some of them drop out.
        is_log_apart: the records are in another log, which accepts them later.
    """

    commits: Sequence[Commit]
    groups: list[list[int]]
    leases: dict[int, Lease]
    runs: dict[int, PackedRun]
    layout: Layout | None
    is_log_apart: bool = False

    def quarantines(self, outcomes: Sequence[CommitOutcome]) -> list[Quarantine]:
        """Return the quarantines that may be written."""
        if len(self.runs) == len(self.commits):
            return []
        pairs = zip(self.commits, outcomes, strict=True)
        return [one for one, outcome in pairs if isinstance(one, Quarantine) and outcome is COMMITTED]

    def written_runs(self, outcomes: Sequence[CommitOutcome]) -> list[PackedRun]:
        """Return the runs that may be written."""
        return [run for index, run in self.runs.items() if outcomes[index] is COMMITTED]


def pack_commits(commits: Sequence[Commit], *, is_log_apart: bool = False) -> PackedCommits:
    """Encode commits.

    Raises:
        UsageError: a value cannot be encoded; nothing is written then.
    """
    groups = indexes_by_lease(commits)
    leases: dict[int, Lease] = {}
    runs: dict[int, PackedRun] = {}
    for number, indexes in enumerate(groups):
        lease = commits[indexes[0]].lease
        if lease is not None:
            leases[number] = lease
        is_open = is_log_apart or lease is None or not _accepts(commits, indexes)
        for index in indexes:
            commit = commits[index]
            if isinstance(commit, RunCommit):
                runs[index] = PackedRun(commit, is_open)
    return PackedCommits(
        commits=commits,
        groups=groups,
        leases=leases,
        runs=runs,
        layout=lay_out(runs.values()) if runs else None,
        is_log_apart=is_log_apart,
    )


def _accepts(commits: Sequence[Commit], together: Sequence[int]) -> bool:
    for index in together:
        commit = commits[index]
        if isinstance(commit, Quarantine) or commit.accept:
            return True
    return False


def pack_events(events: Sequence[Event]) -> list[tuple[ItemId, bytes]]:
    """Pack events into one blob per item, in their order."""
    by_item: defaultdict[ItemId, list[Event]] = defaultdict(list)
    for event in events:
        by_item[event.item_id].append(event)
    return [(item_id, pack(of_item)) for item_id, of_item in by_item.items()]


def lay_out(runs: Iterable[PackedRun]) -> Layout:
    """Encode runs into rows.

    Raises:
        UsageError: a value cannot be encoded.
    """
    layout = Layout()
    newest: dict[ItemId, Item] = {}
    named: dict[tuple[str, str, str], ItemId] = {}
    for run in runs:
        commit = run.commit
        item = commit.item
        run_id = bytes.fromhex(commit.run_id)
        status = STATUS_CODES[commit.status]
        layout.runs[commit.generator, run.is_open] += (run_id, item.item_id, commit.position, status, pack_run(commit))
        if commit.events:
            layout.events += _event_rows(commit.events)
        for effect in commit.effects:
            layout.effects += (run_id, effect.task, effect.sink, effect.mode, pack(effect))
        if commit.is_new_item:
            name = (item.tenant, item.source, item.input_id)
            if name not in named:
                named[name] = item.item_id
                layout.new_ids += mapping_row(item.tenant, item.source, item.input_id, item.item_id)
            elif named[name] != item.item_id:
                layout.has_rivals = True
        known = newest.setdefault(item.item_id, item)
        if item.revision > known.revision:
            newest[item.item_id] = item
    for item in newest.values():
        layout.items += (item.item_id, item.revision, pack_item(item))
    return layout


def _event_rows(events: Sequence[Event]) -> Iterable[Any]:
    first = events[0].item_id
    for event in events:
        if event.item_id != first:
            return chain.from_iterable(pack_events(events))
    return first, pack(events)
