"""What was done with dead letters, whichever log holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gristmill.domain.upkeep.closing import Closing

__all__ = ["CLOSINGS_PER_CALL_MAX", "Closings"]

CLOSINGS_PER_CALL_MAX = 1_000


class Closings(Protocol):
    """Written before the log is told, so that nothing is closed without a trace. `Unavailable`: nothing was done."""

    async def add(self, closings: Sequence[Closing]) -> list[int]:
        """Store up to CLOSINGS_PER_CALL_MAX of them, all or none, and return their ids; durable once returned."""
        ...

    async def remove(self, closing_ids: Sequence[int]) -> None:
        """Take back those whose letter somebody else had closed by then."""
        ...

    async def before(self, closing_id: int | None, *, limit: int) -> list[Closing]:
        """Return up to `limit` with a lower id, the newest first and without payloads; from the newest when None."""
        ...

    async def find(self, closing_id: int) -> Closing | None:
        """Return one with its payloads."""
        ...
