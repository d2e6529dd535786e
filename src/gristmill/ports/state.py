"""The truth about items and runs: guarded commits of data, reads apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gristmill.domain.commit import Commit, CommitOutcome, StoredQuarantine, StoredRun
from gristmill.domain.contribution import Resolved
from gristmill.domain.ids import ItemId, RunId, Segment
from gristmill.domain.input_key import TENANT_DEFAULT, InputKey
from gristmill.domain.item import Item
from gristmill.domain.log import Lease
from gristmill.domain.run import Event

__all__ = ["COMMITS_PER_CALL_MAX", "INPUT_IDS_PER_CALL_MAX", "State"]

COMMITS_PER_CALL_MAX = 1_000
INPUT_IDS_PER_CALL_MAX = 1_000


class State(Protocol):
    """Items, runs, cells, events, contributions, effects, quarantine and id segments.

    `capabilities` may hold `shares_log` (a commit guards and accepts its log record itself) and `durable`. Without
    `shares_log` the log is apart: a commit does not know of leases, and only `fence` keeps late holders out.
    All methods raise `Unavailable` when nothing was done and a retry is safe.
    """

    capabilities: frozenset[str]

    async def commit(self, commits: Sequence[Commit]) -> list[CommitOutcome]:
        """Write many ended runs in one step and return one outcome each, in input order.

        Guards run first: a fenced or conflicting entry drops out without undoing its neighbours. Committing the same
        run id again replaces the run and changes nothing else (effects, contributions and events of it are kept once).
        Entries of one call that share a lease stand or fall together. Durable once returned.
        """
        ...

    async def resolve(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return the item ids of those input ids that are known; at most INPUT_IDS_PER_CALL_MAX a call."""
        ...

    async def map_ids(
        self, source: str, proposed: Mapping[str, ItemId], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Give each input id its proposed item id unless it has one, and return what each has now.

        Atomic, so of many that ask at once all get one answer; durable once returned. At most INPUT_IDS_PER_CALL_MAX.
        """
        ...

    async def input_keys(self, item_ids: Sequence[ItemId]) -> dict[ItemId, InputKey]:
        """Return what the outside world calls these items; unknown ones are absent. The way back of `resolve`."""
        ...

    async def take_segment(self, namespace: str, *, day: int, step: int) -> Segment:
        """Take `step` running numbers for good, in one durable transaction; see `domain.ids.decide_segment`."""
        ...

    async def ended(self, run_ids: Sequence[RunId]) -> set[RunId]:
        """Return those run ids that ended well and whose record may come back.

        That is: stored with a status other than `failed`, by a commit that did not accept their record. A Run that was
        committed together with the acceptance of its record is not found, since nobody will ever ask for it.
        """
        ...

    async def fence(self, leases: Sequence[Lease], *, until_ms: int) -> None:
        """Refuse, until a time, what earlier holders of these records bring: their commits are Fenced from now on.

        For a log that is apart; call it before work on records that come again, and before `ended`. Durable once
        returned. With `shares_log` there is nothing to do, since every commit looks at its lease.
        """
        ...

    async def item(self, item_id: ItemId) -> Item | None:
        """Return the newest revision of an item."""
        ...

    async def runs(self, item_id: ItemId) -> list[StoredRun]:
        """Return all runs of an item, oldest position first."""
        ...

    async def runs_between(self, generator: str, *, after: int, limit: int) -> list[StoredRun]:
        """Return runs of a generator with position > `after`, by position then plan; no position is cut in two."""
        ...

    async def events(self, item_id: ItemId) -> list[Event]:
        """Return the events of an item in the order they were committed."""
        ...

    async def contributions(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[Resolved]]:
        """Return the contributions of items as they stand now; items without any are absent."""
        ...

    async def quarantined(self, generator: str = "", *, after: int = 0, limit: int = 100) -> list[StoredQuarantine]:
        """Return quarantined records with position > `after` by position, optionally of one generator."""
        ...

    async def counts(self) -> Mapping[str, int]:
        """Return row counts: `items`, `runs`, `quarantined`, and one `runs.<status>` per status in use."""
        ...
