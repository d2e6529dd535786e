"""What was done with dead letters, in memory."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.adapters.checks import check_limit
from gristmill.domain.upkeep.closing import Closing
from gristmill.ports.upkeep.closings import CLOSINGS_PER_CALL_MAX

__all__ = ["MemoryClosings"]


class MemoryClosings:
    """See `ports.upkeep.closings.Closings`."""

    def __init__(self) -> None:
        self._kept: dict[int, Closing] = {}

    async def add(self, closings: Sequence[Closing]) -> list[int]:
        """Store closings and return their ids."""
        check_limit(len(closings), most=CLOSINGS_PER_CALL_MAX)
        first = max(self._kept, default=0) + 1
        added = {number: msgspec.structs.replace(one, closing_id=number) for number, one in enumerate(closings, first)}
        self._kept |= added
        return list(added)

    async def remove(self, closing_ids: Sequence[int]) -> None:
        """Take closings back."""
        for closing_id in closing_ids:
            self._kept.pop(closing_id, None)

    async def before(self, closing_id: int | None, *, limit: int) -> list[Closing]:
        """Return closings with a lower id, the newest first and without payloads."""
        check_limit(limit, most=CLOSINGS_PER_CALL_MAX)
        numbers = sorted((one for one in self._kept if closing_id is None or one < closing_id), reverse=True)
        return [msgspec.structs.replace(self._kept[one], original=b"", edited=b"") for one in numbers[:limit]]

    async def find(self, closing_id: int) -> Closing | None:
        """Return one with its payloads."""
        return self._kept.get(closing_id)
