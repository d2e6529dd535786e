"""Sees to it that records of one key are worked on in their order, whichever process claimed them.

Within one process the Runner keeps the order. Of what other processes have, or had before they died, it knows nothing:
so before each record of a key the log is asked whether an earlier one is still open.
"""

from __future__ import annotations

from gristmill.domain.log import Delivery
from gristmill.ports.key_order import KeyOrder

__all__ = ["KeyTurns"]

WAIT_MS_MIN = 20
WAIT_MS_MAX = 1_000
"""The longest pause before the log is asked again for one record."""

KEYS_MAX = 100_000
"""Keys whose waits are counted; one that is forgotten starts again at the shortest."""


class KeyTurns:
    """The turns of the records of one group.

    Args:
        order: None where the log hands nothing out before its turn.
    """

    def __init__(self, order: KeyOrder | None) -> None:
        self._order = order
        self._waits: dict[tuple[str, str], int] = {}

    async def wait_ms(self, delivery: Delivery) -> int:
        """Return how long a record should be given back for, 0 if its turn has come."""
        lease, key = delivery.lease, delivery.key
        if self._order is None or not key:
            return 0
        waits = self._waits.pop((lease.topic, key), 0)
        if not await self._order.has_open_before(lease.topic, lease.group, key=key, offset=lease.offset):
            return 0
        self._waits[lease.topic, key] = waits + 1
        if len(self._waits) > KEYS_MAX:
            del self._waits[next(iter(self._waits))]
        return int(min(WAIT_MS_MAX, WAIT_MS_MIN << min(waits, 10)))
