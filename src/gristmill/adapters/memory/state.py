"""The truth about items and runs in memory, beside the ledger of the log, so that a commit accepts its record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from gristmill.adapters.checks import check_commits, check_input_ids, check_limit
from gristmill.adapters.grouping import indexes_by_lease
from gristmill.adapters.memory.ledger import Ledger
from gristmill.adapters.memory.sharing import Sharing
from gristmill.adapters.packing import merge_effects, pack, pack_run, unpack_ended_at, unpack_run
from gristmill.adapters.placed import PlacedContribution
from gristmill.domain.commit import (
    Commit,
    CommitOutcome,
    Committed,
    Conflict,
    Fenced,
    Quarantine,
    RunCommit,
    StoredQuarantine,
    StoredRun,
)
from gristmill.domain.contribution import Resolved
from gristmill.domain.ids import ItemId, RunId, Segment, decide_segment
from gristmill.domain.input_key import TENANT_DEFAULT, InputKey
from gristmill.domain.item import Item
from gristmill.domain.log import Lease
from gristmill.domain.run import Effect, Event, RunStatus

__all__ = ["MemoryState"]


class _Run(NamedTuple):
    generator: str
    item_id: ItemId
    position: int
    plan: str
    status: RunStatus
    effects: tuple[Effect, ...]
    body: bytes


class MemoryState:
    """See `ports.state.State`. Use it from one event loop."""

    def __init__(self, ledger: Ledger, *, is_log_apart: bool = False) -> None:
        self.capabilities = frozenset() if is_log_apart else frozenset({"shares_log"})
        self._ledger = ledger
        self._is_log_apart = is_log_apart
        self._fences: dict[tuple[str, str, int], int] = {}
        self._items: dict[ItemId, Item] = {}
        self._ids: dict[InputKey, ItemId] = {}
        self._keys: dict[ItemId, InputKey] = {}
        self._runs: dict[RunId, _Run] = {}
        self._open: set[RunId] = set()
        """Runs whose record was not accepted with them, so that it may come back."""
        self._runs_of: defaultdict[ItemId, dict[RunId, None]] = defaultdict(dict)
        self._events: defaultdict[ItemId, list[Event]] = defaultdict(list)
        self.told: list[tuple[ItemId, tuple[Event, ...]]] = []
        """Events in the order of commits; those of one commit and item together."""
        self._sharing = Sharing()
        self._quarantined: list[StoredQuarantine] = []
        self._segments: dict[str, tuple[int, int]] = {}

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        """Write many ended runs in one step and return one outcome each, in input order."""
        check_commits(commits)
        bodies = [pack_run(commit) if isinstance(commit, RunCommit) else b"" for commit in commits]
        outcomes: list[CommitOutcome] = [Committed()] * len(commits)
        for indexes in indexes_by_lease(commits):
            together = [commits[index] for index in indexes]
            refusal = self._refusal(together)
            if refusal is None:
                self._note_open(together)
            for index in indexes:
                if refusal is not None:
                    outcomes[index] = refusal
                else:
                    self._write(commits[index], bodies[index])
        return outcomes

    async def resolve(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return the item ids of those input ids that are known."""
        check_input_ids(input_ids)
        found = ((input_id, self._ids.get(InputKey(tenant, source, input_id))) for input_id in input_ids)
        return {input_id: item_id for input_id, item_id in found if item_id is not None}

    async def map_ids(
        self, source: str, proposed: Mapping[str, ItemId], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Give each input id its proposed item id unless it has one, and return what each has now."""
        check_input_ids(proposed)
        for input_id, item_id in proposed.items():
            self._map_id(InputKey(tenant, source, input_id), item_id)
        return await self.resolve(source, list(proposed), tenant=tenant)

    async def input_keys(self, item_ids: Sequence[ItemId]) -> dict[ItemId, InputKey]:
        """Return what the outside world calls these items; unknown ones are absent."""
        return {item_id: self._keys[item_id] for item_id in item_ids if item_id in self._keys}

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        """Take `step` running numbers for good."""
        segment = decide_segment(self._segments.get(namespace), day=day, step=step)
        self._segments[namespace] = (segment.day, segment.stop)
        return segment

    async def fence(self, leases: Sequence[Lease], *, until_ms: int) -> None:
        """Refuse what earlier holders of these records bring."""
        for lease in leases if self._is_log_apart else ():
            place = (lease.topic, lease.group, lease.offset)
            self._fences[place] = max(lease.epoch, self._fences.get(place, 0))

    async def ended(self, run_ids: Sequence[RunId]) -> set[RunId]:
        """Return those run ids that ended well in a commit that did not accept their record."""
        return {run_id for run_id in run_ids if run_id in self._open and self._runs[run_id].status != "failed"}

    async def item(self, item_id: ItemId) -> Item | None:
        """Return the newest revision of an item."""
        return self._items.get(item_id)

    async def runs(self, item_id: ItemId) -> list[StoredRun]:
        """Return all runs of an item, oldest position first."""
        return self._sorted_runs(self._runs_of.get(item_id, {}))

    async def runs_between(self, generator: str, *, after: int, limit: int) -> list[StoredRun]:
        """Return runs of a generator with position > `after`; the last position is complete."""
        check_limit(limit)
        wanted = [run_id for run_id, run in self._runs.items() if run.generator == generator and run.position > after]
        found: list[StoredRun] = []
        for _, same_position in groupby(self._sorted_runs(wanted), key=lambda run: run.position):
            if len(found) >= limit:
                break
            found += same_position
        return found

    async def events(self, item_id: ItemId) -> list[Event]:
        """Return the events of an item in the order they were committed."""
        return list(self._events.get(item_id, []))

    async def contributions(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[Resolved]]:
        """Return the contributions of items as they stand now."""
        found = {item_id: self._sharing.resolved(item_id, self._input_id) for item_id in item_ids}
        return {item_id: resolved for item_id, resolved in found.items() if resolved}

    async def quarantined(self, generator: str = "", *, after: int = 0, limit: int = 100) -> list[StoredQuarantine]:
        """Return quarantined records with position > `after` by position, optionally of one generator."""
        check_limit(limit)
        wanted = [one for one in self._quarantined if one.position > after and generator in ("", one.generator)]
        return sorted(wanted, key=lambda one: (one.position, one.quarantine_id))[:limit]

    def items_below(self, item_id: ItemId | None) -> list[Item]:
        """Return the items with a lower id, the highest first; all of them when None."""
        below = (one for one in self._items.values() if item_id is None or one.item_id < item_id)
        return sorted(below, key=lambda item: -item.item_id)

    def ends(self) -> list[int]:
        """Return when each run ended."""
        return [unpack_ended_at(run.body) for run in self._runs.values()]

    def item_of_run(self, run_id: RunId) -> ItemId | None:
        """Return the item of a run."""
        run = self._runs.get(run_id)
        return None if run is None else run.item_id

    def peers_of(self, item_id: ItemId, space: str) -> list[ItemId]:
        """Return the other members of an item's group, the highest id first."""
        return self._sharing.peers(item_id, space)

    def tell(self, event: Event) -> None:
        """Append an event of its own."""
        self._tell([event])

    async def counts(self) -> Mapping[str, int]:
        """Return row counts."""
        statuses = Counter(f"runs.{run.status}" for run in self._runs.values())
        totals = {"items": len(self._items), "runs": len(self._runs), "quarantined": len(self._quarantined)}
        return totals | statuses

    def _refusal(self, commits: Sequence[Commit]) -> Fenced | Conflict | None:
        """Check the guards of entries that stand or fall together."""
        lease = commits[0].lease
        if lease is not None and not self._holds(lease):
            return Fenced()
        for commit in commits:
            if isinstance(commit, RunCommit) and commit.is_new_item:
                known = self._ids.get(_key_of(commit.item), commit.item.item_id)
                if known != commit.item.item_id:
                    return Conflict(known)
        return None

    def _holds(self, lease: Lease) -> bool:
        if self._is_log_apart:
            return lease.epoch >= self._fences.get((lease.topic, lease.group, lease.offset), 0)
        return self._ledger.find(lease) is not None

    def _note_open(self, commits: Sequence[Commit]) -> None:
        run_ids = {commit.run_id for commit in commits if isinstance(commit, RunCommit)}
        if commits[0].lease is None or not any(isinstance(one, Quarantine) or one.accept for one in commits):
            self._open |= run_ids
        else:
            self._open -= run_ids

    def _write(self, commit: Commit, body: bytes) -> None:
        if isinstance(commit, RunCommit):
            self._write_run(commit, body)
        else:
            self._write_quarantine(commit)
        if commit.lease is not None and not self._is_log_apart and (isinstance(commit, Quarantine) or commit.accept):
            self._ledger.accept(commit.lease)

    def _write_run(self, commit: RunCommit, body: bytes) -> None:
        item = commit.item
        known = self._items.get(item.item_id)
        if known is None or item.revision > known.revision:
            self._items[item.item_id] = item
        if commit.is_new_item:
            self._map_id(_key_of(item), item.item_id)
        before = self._runs.get(commit.run_id)
        effects = merge_effects(before.effects if before else (), commit.effects)
        if effects != commit.effects:
            body = pack_run(commit, effects)
        run = _Run(commit.generator, item.item_id, commit.position, commit.plan, commit.status, effects, body)
        self._runs[commit.run_id] = run
        if before is not None:
            del self._runs_of[before.item_id][commit.run_id]
        self._runs_of[item.item_id][commit.run_id] = None
        self._tell([event for event in commit.events if before is None or not self._knows(event)])
        for contributed in commit.contributions:
            self._sharing.add(item.item_id, PlacedContribution(commit.position, contributed))

    def _tell(self, events: Sequence[Event]) -> None:
        for item_id, together in groupby(events, key=lambda event: event.item_id):
            told = tuple(together)
            self._events[item_id] += told
            self.told.append((item_id, told))

    def _knows(self, event: Event) -> bool:
        """Whether a repeated run has told this before; the time may differ."""
        return any(
            (known.run_id, known.kind, pack(known.body)) == (event.run_id, event.kind, pack(event.body))
            for known in self._events.get(event.item_id, [])
        )

    def _write_quarantine(self, commit: Quarantine) -> None:
        place = (commit.generator, commit.position)
        if self._is_log_apart and any((one.generator, one.position) == place for one in self._quarantined):
            return
        self._quarantined.append(
            StoredQuarantine(
                quarantine_id=len(self._quarantined) + 1,
                source=commit.source,
                generator=commit.generator,
                position=commit.position,
                raw=commit.raw,
                reason=commit.reason,
                violations=commit.violations,
                at_ms=commit.at_ms,
                source_revision=commit.source_revision,
            )
        )

    def _map_id(self, key: InputKey, item_id: ItemId) -> None:
        if key not in self._ids:
            self._ids[key] = item_id
            self._keys[item_id] = key

    def _sorted_runs(self, run_ids: Sequence[RunId] | dict[RunId, None]) -> list[StoredRun]:
        ordered = sorted(run_ids, key=lambda run_id: (self._runs[run_id].position, self._runs[run_id].plan))
        return [self._stored(run_id) for run_id in ordered]

    def _stored(self, run_id: RunId) -> StoredRun:
        run = self._runs[run_id]
        return unpack_run(
            run.body,
            run_id=run_id,
            generator=run.generator,
            item_id=run.item_id,
            position=run.position,
            status=run.status,
        )

    def _input_id(self, item_id: ItemId) -> str:
        item = self._items.get(item_id)
        return item.input_id if item else ""


def _key_of(item: Item) -> InputKey:
    return InputKey(item.tenant, item.source, item.input_id)
