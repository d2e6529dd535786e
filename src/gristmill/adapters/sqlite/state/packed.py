"""Commits made ready before their turn: everything is encoded and laid out, so a turn only moves bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gristmill.adapters.grouping import indexes_by_lease
from gristmill.adapters.packing import PlacedContribution, pack, pack_run
from gristmill.adapters.sqlite.file.rows import Slab, to_json
from gristmill.domain.commit import Commit, Quarantine, RunCommit
from gristmill.domain.ids import ItemId
from gristmill.domain.log import Lease
from gristmill.domain.run import Event, RunStatus

__all__ = ["STATUSES", "Layout", "PackedCommits", "PackedRun", "lay_out", "pack_commits", "pack_events"]

STATUSES: tuple[RunStatus, ...] = ("done", "skipped", "rejected", "failed")
"""A status is stored as its index here; new ones are added at the end."""

STATUS_CODES = {status: code for code, status in enumerate(STATUSES)}
RUN_ID_BYTES = 16


@dataclass(slots=True)
class PackedRun:
    """A run with its blobs: `keyed_body` is the run id (16 bytes) and the body; `events` are packed per item."""

    commit: RunCommit
    keyed_body: bytes
    item: bytes
    events: list[tuple[ItemId, bytes]]

    @property
    def status(self) -> int:
        """The stored form of the status."""
        return STATUS_CODES[self.commit.status]

    def contributions(self) -> list[PlacedContribution]:
        """Return the contributions with the position that orders them."""
        return [PlacedContribution(self.commit.position, one) for one in self.commit.contributions]


@dataclass(slots=True)
class Layout:
    """Rows for the statements of a turn, as JSON; blobs lie in one slab that rows point into.

    Attributes:
        runs: by generator.
        new_ids, events, effects: empty when there is none.
    """

    runs: dict[str, str]
    items: str
    item_count: int
    new_ids: str
    events: str
    effects: str
    blobs: bytes


@dataclass(slots=True)
class PackedCommits:
    """One turn's worth of commits.

    Attributes:
        groups: indexes of entries that stand or fall together.
        leases: the lease of each group that has one, by the group's number.
        layout: for all runs; made again where some of them drop out.
    """

    commits: Sequence[Commit]
    groups: list[list[int]]
    leases: dict[int, Lease]
    runs: dict[int, PackedRun]
    layout: Layout | None

    def quarantines(self, indexes: Iterable[int]) -> list[Quarantine]:
        """Return those of some entries that are quarantines."""
        return [commit for index in indexes if isinstance(commit := self.commits[index], Quarantine)]


def pack_commits(commits: Sequence[Commit]) -> PackedCommits:
    """Encode commits.

    Raises:
        UsageError: a value cannot be encoded; nothing is written then.
    """
    groups = indexes_by_lease(commits)
    first_leases = ((number, commits[indexes[0]].lease) for number, indexes in enumerate(groups))
    runs = {
        index: PackedRun(
            commit,
            bytes.fromhex(commit.run_id) + pack_run(commit),
            pack(commit.item),
            pack_events(commit.events),
        )
        for index, commit in enumerate(commits)
        if isinstance(commit, RunCommit)
    }
    return PackedCommits(
        commits=commits,
        groups=groups,
        leases={number: lease for number, lease in first_leases if lease is not None},
        runs=runs,
        layout=lay_out(list(runs.values())) if runs else None,
    )


def pack_events(events: Sequence[Event]) -> list[tuple[ItemId, bytes]]:
    """Pack events into one blob per item, in their order."""
    if not events:
        return []
    first = events[0].item_id
    if all(event.item_id == first for event in events):
        return [(first, pack(events))]
    by_item: defaultdict[ItemId, list[Event]] = defaultdict(list)
    for event in events:
        by_item[event.item_id].append(event)
    return [(item_id, pack(of_item)) for item_id, of_item in by_item.items()]


def lay_out(runs: Sequence[PackedRun]) -> Layout:
    """Turn runs into rows and one slab."""
    slab = Slab()
    run_rows: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)
    event_rows: list[tuple[int, ...]] = []
    effect_rows: list[tuple[object, ...]] = []
    newest: dict[ItemId, PackedRun] = {}
    for run in runs:
        commit = run.commit
        item = commit.item
        start, length = slab.add(run.keyed_body)
        run_rows[commit.generator].append((start, length, item.item_id, commit.position, run.status))
        event_rows += [(item_id, *slab.add(events)) for item_id, events in run.events]
        effect_rows += [
            (start, effect.task, effect.sink, effect.mode, *slab.add(pack(effect))) for effect in commit.effects
        ]
        known = newest.setdefault(item.item_id, run)
        if item.revision > known.commit.item.revision:
            newest[item.item_id] = run
    item_rows = [(item_id, run.commit.item.revision, *slab.add(run.item)) for item_id, run in newest.items()]
    new_items = [run.commit.item for run in runs if run.commit.is_new_item]
    return Layout(
        runs={generator: to_json(rows) for generator, rows in run_rows.items()},
        items=to_json(item_rows),
        item_count=len(item_rows),
        new_ids=to_json([(item.source, item.input_id, item.item_id) for item in new_items]) if new_items else "",
        events=to_json(event_rows) if event_rows else "",
        effects=to_json(effect_rows) if effect_rows else "",
        blobs=slab.join(),
    )
