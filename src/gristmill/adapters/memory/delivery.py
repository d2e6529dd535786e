"""Changes and deliveries in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.adapters.checks import check_limit
from gristmill.adapters.memory.state import MemoryState
from gristmill.domain.delivery import Attempt, Progress
from gristmill.domain.errors import StaleRead
from gristmill.domain.ids import ItemId
from gristmill.ports.delivery import ATTEMPTS_KEPT, CHANGES_PER_READ_MAX, Change, KnownItem, SentColumns
from gristmill.ports.front import LabelFacts

__all__ = ["MemoryChanges", "MemoryDeliveries"]


class MemoryChanges:
    """See `ports.delivery.Changes`."""

    def __init__(self, state: MemoryState, facts: LabelFacts) -> None:
        self._state = state
        self._facts = facts

    async def end(self) -> int:
        """Return the position of the newest change."""
        return len(self._state.told)

    async def beginning(self) -> int:
        """Return 0: nothing is ever let go of."""
        return 0

    async def position_at(self, at_ms: int) -> int:
        """Return the highest position whose changes, and all before it, are older than a time."""
        for index, (_, events) in enumerate(self._state.told):
            if max(event.at_ms for event in events) >= at_ms:
                return index
        return len(self._state.told)

    async def read(self, *, after: int, limit: int) -> list[Change]:
        """Return changes with a higher position, the oldest first."""
        check_limit(limit, most=CHANGES_PER_READ_MAX)
        found = self._state.told[after : after + limit]
        return [Change(after + number, *told) for number, told in enumerate(found, 1)]

    async def look_up(self, item_ids: Sequence[ItemId]) -> dict[ItemId, KnownItem]:
        """Return items as they stand; nothing here gives way to another task in between."""
        shared, facts = await self._state.contributions(item_ids), await self._facts.of(item_ids)
        places = {item_id: place for place, (item_id, _) in enumerate(self._state.told, 1)}
        found = {}
        for item_id in item_ids:
            item = await self._state.item(item_id)
            if item is not None:
                runs = await self._state.runs(item_id)
                found[item_id] = KnownItem(
                    places.get(item_id, 0), item, runs, shared.get(item_id, []), facts.get(item_id, [])
                )
        return found


class MemoryDeliveries:
    """See `ports.delivery.Deliveries`."""

    def __init__(self) -> None:
        self._progress: dict[tuple[str, str], Progress] = {}
        self._sent: dict[int, dict[ItemId, SentColumns]] = {}
        self._attempts: dict[int, list[Attempt]] = {}

    async def add(self, new: Progress) -> Progress:
        """Begin a subscription and return it; one that exists stays as it is."""
        number = len(self._progress) + 1
        stored = msgspec.structs.replace(new, subscription_id=number, version=1)
        return self._progress.setdefault((new.tenant, new.name), stored)

    async def all(self) -> list[Progress]:
        """Return all subscriptions, by tenant and name."""
        return [self._progress[key] for key in sorted(self._progress)]

    async def find(self, name: str, *, tenant: str) -> Progress | None:
        """Return one subscription."""
        return self._progress.get((tenant, name))

    async def save(
        self,
        progress: Progress,
        *,
        sent: Mapping[ItemId, SentColumns | None] | None = None,
        attempts: Sequence[Attempt] = (),
    ) -> Progress:
        """Write how far a subscription is and return it with its next version."""
        key = (progress.tenant, progress.name)
        if key not in self._progress or self._progress[key].version != progress.version:
            raise StaleRead(f"subscription {progress.name!r}", advice="read it again: somebody has changed it")
        stored = self._progress[key] = msgspec.structs.replace(progress, version=progress.version + 1)
        remembered = self._sent.setdefault(progress.subscription_id, {})
        for item_id, columns in (sent or {}).items():
            if columns is None:
                remembered.pop(item_id, None)
            else:
                remembered[item_id] = dict(columns)
        noted = self._attempts.setdefault(progress.subscription_id, [])
        noted += attempts
        del noted[:-ATTEMPTS_KEPT]
        return stored

    async def sent(self, subscription_id: int, item_ids: Sequence[ItemId]) -> dict[ItemId, SentColumns]:
        """Return what the receiver has of items."""
        remembered = self._sent.get(subscription_id, {})
        return {item_id: remembered[item_id] for item_id in item_ids if item_id in remembered}

    async def attempts(self, subscription_id: int, *, limit: int = 50) -> list[Attempt]:
        """Return the newest attempts, the newest first."""
        return list(reversed(self._attempts.get(subscription_id, [])))[:limit]
