"""What publishing writes in one step, and what becomes of it."""

from __future__ import annotations

import msgspec

from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord

__all__ = ["KeyTaken", "Once", "Publication", "Published"]


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """A record to append, with the item that it is about.

    Attributes:
        proposed: the item id where (tenant, source, input id) has none yet.
    """

    topic: str
    record: NewRecord
    tenant: str
    source: str
    input_id: str
    proposed: ItemId


class Once(msgspec.Struct, frozen=True):
    """Makes a call that is repeated happen once.

    Attributes:
        key: unique for caller and call.
        fingerprint: of what is asked for; the same key with another one is refused.
        until_ms: how long it is remembered, UTC epoch.
    """

    key: str
    fingerprint: str
    until_ms: int


class Published(msgspec.Struct, frozen=True):
    """Durable: one item id for each publication. `is_replay` when an earlier call had written them."""

    item_ids: tuple[ItemId, ...]
    is_replay: bool = False


class KeyTaken(msgspec.Struct, frozen=True):
    """Nothing was written: the key was used for something else."""
