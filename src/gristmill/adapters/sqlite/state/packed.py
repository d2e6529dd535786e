"""Commits made ready before their turn: everything is encoded and laid out, so a turn only moves bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gristmill.adapters.grouping import indexes_by_lease
from gristmill.adapters.packing import pack, pack_into, pack_item, pack_run
from gristmill.adapters.placed import PlacedContribution
from gristmill.adapters.sqlite.file.rows import to_json
from gristmill.adapters.sqlite.state.identities import MappingRow, mapping_row
from gristmill.domain.commit import Commit, CommitOutcome, Committed, Quarantine, RunCommit
from gristmill.domain.ids import ItemId
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

Row = tuple[int, ...]


class PackedRun(NamedTuple):
    """A run that is to be written. It is open when its record is not accepted in this commit."""

    commit: RunCommit
    is_open: bool

    def contributions(self) -> list[PlacedContribution]:
        """Return the contributions with the position that orders them."""
        return [PlacedContribution(self.commit.position, one) for one in self.commit.contributions]


@dataclass(slots=True)
class Layout:
    """Rows for the statements of a turn, as JSON; blobs lie in one slab that rows point into.

    Attributes:
        runs: by (generator, is open).
        new_ids, events, effects: empty when there is none.
    """

    runs: dict[tuple[str, bool], str]
    items: str
    item_count: int
    new_ids: str
    events: str
    effects: str
    blobs: bytearray


@dataclass(slots=True)
class PackedCommits:
    """One turn's worth of commits.

    Attributes:
        groups: indexes of entries that stand or fall together.
        leases: the lease of each group that has one, by the group's number.
        layout: for all runs; made again where some of them drop out.
        has_twins: two entries bring a new id for the same input id; usually two plans of one record.
    """

    commits: Sequence[Commit]
    groups: list[list[int]]
    leases: dict[int, Lease]
    runs: dict[int, PackedRun]
    layout: Layout | None
    has_twins: bool

    def quarantines(self, outcomes: Sequence[CommitOutcome]) -> list[Quarantine]:
        """Return the quarantines that may be written."""
        if len(self.runs) == len(self.commits):
            return []
        pairs = zip(self.commits, outcomes, strict=True)
        return [one for one, outcome in pairs if isinstance(one, Quarantine) and outcome is COMMITTED]

    def written_runs(self, outcomes: Sequence[CommitOutcome]) -> list[PackedRun]:
        """Return the runs that may be written."""
        return [run for index, run in self.runs.items() if outcomes[index] is COMMITTED]


def pack_commits(commits: Sequence[Commit]) -> PackedCommits:
    """Encode commits.

    Raises:
        UsageError: a value cannot be encoded; nothing is written then.
    """
    groups = indexes_by_lease(commits)
    leases: dict[int, Lease] = {}
    runs: dict[int, PackedRun] = {}
    for number, indexes in enumerate(groups):
        members = [commits[index] for index in indexes]
        lease = members[0].lease
        if lease is not None:
            leases[number] = lease
        is_open = lease is None or not any(isinstance(one, Quarantine) or one.accept for one in members)
        for index, commit in zip(indexes, members, strict=True):
            if isinstance(commit, RunCommit):
                runs[index] = PackedRun(commit, is_open)
    new_names = [(one.item.source, one.item.input_id) for one, _ in runs.values() if one.is_new_item]
    return PackedCommits(
        commits=commits,
        groups=groups,
        leases=leases,
        runs=runs,
        layout=lay_out(runs.values()) if runs else None,
        has_twins=len(set(new_names)) < len(new_names),
    )


def pack_events(events: Sequence[Event]) -> list[tuple[ItemId, bytes]]:
    """Pack events into one blob per item, in their order."""
    by_item: defaultdict[ItemId, list[Event]] = defaultdict(list)
    for event in events:
        by_item[event.item_id].append(event)
    return [(item_id, pack(of_item)) for item_id, of_item in by_item.items()]


def lay_out(runs: Iterable[PackedRun]) -> Layout:
    """Encode runs into one slab, with the rows that point into it.

    Raises:
        UsageError: a value cannot be encoded.
    """
    rows = _Rows()
    for run in runs:
        rows.add_run(run)
    for commit in rows.newest.values():
        rows.add_item(commit)
    return Layout(
        runs={kind: to_json(of_kind) for kind, of_kind in rows.runs.items()},
        items=to_json(rows.items),
        item_count=len(rows.items),
        new_ids=to_json(rows.new_ids) if rows.new_ids else "",
        events=to_json(rows.events) if rows.events else "",
        effects=to_json(rows.effects) if rows.effects else "",
        blobs=rows.slab,
    )


@dataclass(slots=True)
class _Rows:
    """Rows point into the slab by start (from 1, as `substr` counts) and length."""

    slab: bytearray = field(default_factory=bytearray)
    runs: defaultdict[tuple[str, bool], list[Row]] = field(default_factory=lambda: defaultdict(list))
    items: list[Row] = field(default_factory=list)
    new_ids: list[MappingRow] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    effects: list[tuple[int | str, ...]] = field(default_factory=list)
    newest: dict[ItemId, RunCommit] = field(default_factory=dict)

    def add_run(self, run: PackedRun) -> None:
        """Lay out a run and what hangs on it; the run id (16 bytes) lies before its body."""
        commit, is_open = run
        item, slab = commit.item, self.slab
        start = len(slab)
        slab += bytes.fromhex(commit.run_id)
        pack_run(commit, slab)
        row = (start + 1, len(slab) - start, item.item_id, commit.position, STATUS_CODES[commit.status])
        self.runs[commit.generator, is_open].append(row)
        if commit.events:
            self._add_events(commit.events)
        for effect in commit.effects:
            row_of_effect = (start + 1, effect.task, effect.sink, effect.mode, *self._place(pack(effect)))
            self.effects.append(row_of_effect)
        if commit.is_new_item:
            self.new_ids.append(mapping_row(item.tenant, item.source, item.input_id, item.item_id))
        known = self.newest.setdefault(item.item_id, commit)
        if item.revision > known.item.revision:
            self.newest[item.item_id] = commit

    def add_item(self, commit: RunCommit) -> None:
        """Lay out an item."""
        start = len(self.slab)
        pack_item(commit.item, self.slab)
        self.items.append((commit.item.item_id, commit.item.revision, start + 1, len(self.slab) - start))

    def _add_events(self, events: Sequence[Event]) -> None:
        first = events[0].item_id
        for event in events:
            if event.item_id != first:
                self.events += [(item_id, *self._place(blob)) for item_id, blob in pack_events(events)]
                return
        start = len(self.slab)
        pack_into(events, self.slab)
        self.events.append((first, start + 1, len(self.slab) - start))

    def _place(self, blob: bytes) -> tuple[int, int]:
        start = len(self.slab)
        self.slab += blob
        return start + 1, len(blob)
