"""What the outside needs of a store beyond log and state: publishing, label facts, tokens, lists of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gristmill.domain.commit import StoredRun
from gristmill.domain.front.access import StoredToken
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.front.traffic import Interval
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import Item
from gristmill.domain.log import Hold

__all__ = [
    "ITEMS_PER_READ_MAX",
    "MEMBERS_SCANNED_MAX",
    "PUBLICATIONS_PER_CALL_MAX",
    "RUNS_SCANNED_MAX",
    "Front",
    "Inlet",
    "LabelFacts",
    "Listing",
    "Tokens",
    "Traffic",
]

PUBLICATIONS_PER_CALL_MAX = 1_000

RUNS_SCANNED_MAX = 200_000
"""Runs are found by position and by item; an index by run id would cost every commit. About 30 ms."""

MEMBERS_SCANNED_MAX = 20_000
"""About 15 ms; an index of members by group would cost every commit."""

ITEMS_PER_READ_MAX = 1_000
INTERVALS_PER_READ_MAX = 60


class Inlet(Protocol):
    """Takes content in. Methods raise `Unavailable` when nothing was done and a retry is safe."""

    async def publish(self, publications: Sequence[Publication], *, once: Once | None = None) -> Published | KeyTaken:
        """Append 1..PUBLICATIONS_PER_CALL_MAX records and map their input ids, in one durable step.

        All or nothing. With `once`, a repeated call writes nothing and gets the item ids of the first.

        Raises:
            UsageError: no publication, too many, or a record above the bytes that a log takes.
        """
        ...


class LabelFacts(Protocol):
    """What people said about labels, appended and kept for good."""

    async def add(self, fact: LabelFact, *, last_fact_id: int | None = None) -> LabelFact:
        """Store a fact, with an event of the item that tells it, and return it with its id; durable once returned.

        Args:
            last_fact_id: refuse unless this is still the newest fact of the item.
        Raises:
            StaleRead: it is not; nothing was written.
        """
        ...

    async def of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[LabelFact]]:
        """Return the facts of items, oldest first; items without any are absent."""
        ...

    async def judged_before(self, item_id: ItemId | None, *, limit: int) -> list[ItemId]:
        """Return up to `limit` lower ids of items that somebody said something about, the highest first.

        It costs what is returned, however many items there are.
        """
        ...

    async def newest(self, *, limit: int) -> list[LabelFact]:
        """Return the newest facts of all items, the newest first."""
        ...


class Tokens(Protocol):
    """Tokens by their public id; none is ever deleted."""

    async def add(self, token: StoredToken, *, only_first: bool = False) -> bool:
        """Store a token; with `only_first`, only where there was never any. Return whether it was stored."""
        ...

    async def find(self, token_id: str) -> StoredToken | None:
        """Return a token, a revoked one too."""
        ...

    async def all(self) -> list[StoredToken]:
        """Return all tokens, oldest first."""
        ...

    async def revoke(self, token_id: str, *, at_ms: int) -> bool:
        """Make a token useless; False where there is none that is good."""
        ...


class Listing(Protocol):
    """Many items at a time, newest first, and what belongs to one."""

    async def items_before(self, item_id: ItemId | None, *, limit: int) -> list[Item]:
        """Return up to `limit` items with a lower id, the highest first; from the newest when None.

        Fewer where they are large. None are left where none is returned.
        """
        ...

    async def runs_of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[StoredRun]]:
        """Return all runs of items, oldest position first; items without any are absent."""
        ...

    async def items_of(self, item_ids: Sequence[ItemId]) -> list[Item]:
        """Return the newest revisions of items, the highest id first; unknown ones are left out."""
        ...

    async def item_of_run(self, run_id: RunId) -> ItemId | None:
        """Return the item of a run, None where it is not among the newest RUNS_SCANNED_MAX of a generator."""
        ...

    async def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        """Return where a record stands for a group, None where the group is done with it or it is gone."""
        ...

    async def peers_of(self, item_id: ItemId, *, space: str, limit: int) -> list[ItemId]:
        """Return up to `limit` other members of an item's group, the highest id first.

        Looked for among the newest MEMBERS_SCANNED_MAX members of all groups of the space, so a large store may hold
        more than are returned; how many there are, `State.contributions` tells.
        """
        ...


class Traffic(Protocol):
    """How much came in and was done."""

    async def count(self, *, since_ms: int, step_ms: int, limit: int, without: Sequence[str] = ()) -> list[Interval]:
        """Return `limit` intervals of `step_ms`, the first from `since_ms` on, the oldest first.

        Records of the topics in `without` are not counted, as far as they are still there.

        Each interval costs as much as finding a record, however many there are. So what is counted are places in the
        order of appends and commits: where times do not grow with it, by a clock that was set back or by runs that
        were committed a moment late, a neighbour's count may be meant. What was deleted since may be counted or not.

        Raises:
            UsageError: no interval, or more than INTERVALS_PER_READ_MAX.
        """
        ...


class Front(Protocol):
    """All of them together."""

    @property
    def inlet(self) -> Inlet: ...

    @property
    def facts(self) -> LabelFacts: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def listing(self) -> Listing: ...

    @property
    def traffic(self) -> Traffic: ...
