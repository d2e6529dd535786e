"""Where changes of items are read from, and where subscriptions keep how far they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import Resolved
from gristmill.domain.delivery import Attempt, Progress
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.item import Item
from gristmill.domain.run import Event

__all__ = ["ATTEMPTS_KEPT", "CHANGES_PER_READ_MAX", "Change", "Changes", "Deliveries", "KnownItem", "SentColumns"]

CHANGES_PER_READ_MAX = 1_000
ATTEMPTS_KEPT = 200
"""Of one subscription; older ones go with each new one."""

SentColumns = Mapping[str, str]
"""Column -> digest of the value that the receiver has."""


class Change(msgspec.Struct, frozen=True):
    """Events of one item that were committed together.

    Attributes:
        position: grows in the order of commits.
    """

    position: int
    item_id: ItemId
    events: tuple[Event, ...]


class KnownItem(msgspec.Struct, frozen=True):
    """An item with all that decides how it stands, as of its change at `position`."""

    position: int
    item: Item
    runs: list[StoredRun]
    shared: list[Resolved]
    facts: list[LabelFact]


class Changes(Protocol):
    """Every change of every item, in the order of commits. All methods raise `Unavailable` when a retry is safe."""

    async def end(self) -> int:
        """Return the position of the newest change, 0 where there was none; cheap enough to ask often."""
        ...

    async def beginning(self) -> int:
        """Return a position below the oldest change that is still there."""
        ...

    async def position_at(self, at_ms: int) -> int:
        """Return the highest position whose changes, and all before it, are older than a time."""
        ...

    async def read(self, *, after: int, limit: int) -> list[Change]:
        """Return up to `limit` changes with a higher position, the oldest first.

        Whoever goes on after the last position that was returned sees every change: none is ever inserted below one
        that could be read.
        """
        ...

    async def look_up(self, item_ids: Sequence[ItemId]) -> dict[ItemId, KnownItem]:
        """Return items as they stand, all at one moment; those that are gone are absent.

        Of two answers about one item, the one with the higher position is the newer one.
        """
        ...


class Deliveries(Protocol):
    """Progress, memory and log of subscriptions; durable. All methods raise `Unavailable` when a retry is safe."""

    async def add(self, new: Progress) -> Progress:
        """Begin a subscription and return it with its id; one that exists stays as it is and is returned."""
        ...

    async def all(self) -> list[Progress]:
        """Return all subscriptions, by tenant and name."""
        ...

    async def find(self, name: str, *, tenant: str) -> Progress | None:
        """Return one subscription."""
        ...

    async def save(
        self,
        progress: Progress,
        *,
        sent: Mapping[ItemId, SentColumns | None] | None = None,
        attempts: Sequence[Attempt] = (),
    ) -> Progress:
        """Write how far a subscription is and return it with its next version; all or nothing.

        Args:
            sent: what the receiver now has of items; None where it has let go of one.
        Raises:
            StaleRead: somebody has written since; nothing was.
        """
        ...

    async def sent(self, subscription_id: int, item_ids: Sequence[ItemId]) -> dict[ItemId, SentColumns]:
        """Return what the receiver has of items; those that it has nothing of are absent."""
        ...

    async def attempts(self, subscription_id: int, *, limit: int = 50) -> list[Attempt]:
        """Return the newest attempts, the newest first."""
        ...
