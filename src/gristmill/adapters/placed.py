"""A contribution with its place in the log, as the embedded backends keep it."""

from __future__ import annotations

import msgspec

from gristmill.domain.commit import Contributed
from gristmill.domain.contribution import Join

__all__ = ["PlacedContribution", "slot_of", "unpack_contributed"]


class PlacedContribution(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A contribution with the log position of the item's revision that made it."""

    position: int
    contributed: Contributed


def slot_of(contributed: Contributed) -> tuple[str, ...]:
    """Return what makes two contributions of one item the same one, whatever revision of the item made them."""
    contribution = contributed.contribution
    if isinstance(contribution, Join):
        return ("join", contribution.space, contributed.task)
    return ("count", contribution.space, contributed.task, contribution.key)


def unpack_contributed(blob: bytes) -> list[PlacedContribution]:
    """Decode the contributions of an item."""
    return _decoder.decode(blob)


_decoder = msgspec.msgpack.Decoder(list[PlacedContribution])
