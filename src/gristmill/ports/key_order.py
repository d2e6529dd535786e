"""Whether the turn of a record has come, over a log whose groups hand records of one key to several processes."""

from __future__ import annotations

from typing import Protocol

__all__ = ["KeyOrder"]


class KeyOrder(Protocol):
    """Logs that can tell it; one that claims `key_order` hands no record out before its turn instead.

    All methods raise `Unavailable` when they cannot be answered.
    """

    async def has_open_before(self, topic: str, group: str, *, key: str, offset: int) -> bool:
        """Whether the group is not done with a record of this key at a lower offset.

        It is asked for a record that the group has claimed. A record is open while it is leased, by whomever, and while
        it waits; a dead letter is not. The answer False stays true: whoever got it may begin.
        """
        ...
