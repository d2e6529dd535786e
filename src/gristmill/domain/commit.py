"""Data that one guarded commit writes, and what becomes of it. Never an open transaction."""

from __future__ import annotations

import msgspec

from gristmill.domain.contribution import Contribution
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import AppliedLabel, Cell, Item
from gristmill.domain.log import Lease
from gristmill.domain.run import Effect, Event, RunStatus, TaskReport

__all__ = [
    "Commit",
    "CommitOutcome",
    "Committed",
    "Conflict",
    "Contributed",
    "Fenced",
    "Quarantine",
    "RunCommit",
    "StoredQuarantine",
    "StoredRun",
]


class Contributed(msgspec.Struct, frozen=True, gc=False):
    """A contribution with the task that made it."""

    contribution: Contribution
    task: str
    operator: str
    revision: str


class RunCommit(msgspec.Struct, frozen=True, gc=False):
    """Everything that one ended Run writes: it becomes visible as a whole or not at all.

    Attributes:
        lease: the guard. When the record's lease is no longer exactly this one the commit is Fenced.
            None for a Run without a log record (tests, synchronous scoring).
        accept: also accept the log record. Set on the last Run of a record, when all its Runs have ended well.
        is_new_item: the id was issued for this commit; its (tenant, source, input id) mapping is written too. If the
            mapping already exists with another id the answer is Conflict and nothing is written.
        position: log position of the original record, kept over redelivery and recovery; orders revisions
            and decides leaders.
        error: text of what failed, empty unless status is `failed`.
    """

    run_id: RunId
    plan: str
    plan_version: int
    generator: str
    item: Item
    position: int
    status: RunStatus
    started_at_ms: int
    ended_at_ms: int
    reason: str = ""
    error: str = ""
    attempt: int = 1
    is_new_item: bool = False
    lease: Lease | None = None
    accept: bool = False
    tasks: tuple[TaskReport, ...] = ()
    cells: tuple[Cell, ...] = ()
    labels: tuple[AppliedLabel, ...] = ()
    contributions: tuple[Contributed, ...] = ()
    effects: tuple[Effect, ...] = ()
    events: tuple[Event, ...] = ()


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """A record that never became an Item; kept with its raw bytes. Its log record is accepted in the same commit.

    Attributes:
        violations: all that were found, each as `path: message`.
        raw: the whole record as it came.
        source_revision: revision of the Source's definition that refused it, 0 for automatic mapping.
    """

    lease: Lease | None
    source: str
    generator: str
    position: int
    raw: bytes
    reason: str
    violations: tuple[str, ...]
    at_ms: int
    source_revision: int = 0


Commit = RunCommit | Quarantine


class Committed(msgspec.Struct, frozen=True, gc=False):
    """Written and durable."""


class Fenced(msgspec.Struct, frozen=True, gc=False):
    """Not written: the lease is no longer ours. Drop the Run; its present owner will do it."""


class Conflict(msgspec.Struct, frozen=True, gc=False):
    """Not written: the input id already has an item id. Run again with the existing one."""

    existing: ItemId


CommitOutcome = Committed | Fenced | Conflict


class StoredRun(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Run as read back. `cells` hold plain decoded data."""

    run_id: RunId
    plan: str
    plan_version: int
    generator: str
    item_id: ItemId
    position: int
    status: RunStatus
    started_at_ms: int
    ended_at_ms: int
    reason: str
    error: str
    attempt: int
    tasks: tuple[TaskReport, ...]
    cells: tuple[Cell, ...]
    labels: tuple[AppliedLabel, ...]
    effects: tuple[Effect, ...]


class StoredQuarantine(msgspec.Struct, frozen=True, kw_only=True):
    """A quarantined record as read back."""

    quarantine_id: int
    source: str
    generator: str
    position: int
    raw: bytes
    reason: str
    violations: tuple[str, ...]
    at_ms: int
    source_revision: int = 0
