"""What the outside needs of a store beyond log and state: publishing, label facts, tokens, lists of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gristmill.domain.commit import StoredRun
from gristmill.domain.front.access import StoredToken
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item

__all__ = ["ITEMS_PER_READ_MAX", "PUBLICATIONS_PER_CALL_MAX", "Front", "Inlet", "LabelFacts", "Listing", "Tokens"]

PUBLICATIONS_PER_CALL_MAX = 1_000
ITEMS_PER_READ_MAX = 1_000


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
    """Many items at a time, newest first."""

    async def items_before(self, item_id: ItemId | None, *, limit: int) -> list[Item]:
        """Return up to `limit` items with a lower id, the highest first; from the newest when None."""
        ...

    async def runs_of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[StoredRun]]:
        """Return all runs of items, oldest position first; items without any are absent."""
        ...


class Front(Protocol):
    """The four together."""

    @property
    def inlet(self) -> Inlet: ...

    @property
    def facts(self) -> LabelFacts: ...

    @property
    def tokens(self) -> Tokens: ...

    @property
    def listing(self) -> Listing: ...
