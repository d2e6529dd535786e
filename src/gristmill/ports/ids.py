"""Item ids for whoever takes content in: new ones from memory, and those that content has already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["ItemIds"]


class ItemIds(Protocol):
    """Dated item ids, unique over all tenants, kinds and processes; each process issues a rising sequence."""

    async def run(self) -> None:
        """Fetch ahead, for ever; must run beside the calls below."""
        ...

    async def issue(self, count: int) -> list[ItemId]:
        """Return `count` new ids, rising. From memory: p99 below 1 ms.

        Raises:
            IdUnavailable: there is none and none came within 50 ms. Acknowledge nothing and try again later.
        """
        ...

    async def resolve(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return the item ids of those input ids that are known.

        Raises:
            Unavailable: the store cannot be asked.
        """
        ...

    async def resolve_or_create(
        self, source: str, input_ids: Sequence[str], *, tenant: str = TENANT_DEFAULT
    ) -> dict[str, ItemId]:
        """Return an item id for every input id, the same one for everybody who asks.

        Raises:
            Unavailable: the store cannot be asked, or no id could be issued. Repeating is safe.
        """
        ...
