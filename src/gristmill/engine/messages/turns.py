"""Sees to it that records of one key are worked on in their order, whichever process claimed them.

Within one process the Runner keeps the order. Of what other processes have, or had before they died, it knows nothing:
so before the first record of a key the log is asked whether an earlier one is still open. From then on all records of
the key come to this process, for as long as it surely holds the topic; where it does not, the log is asked each time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from gristmill.domain.log import Delivery
from gristmill.ports.log import KeyOrder

__all__ = ["KeyTurns"]

WAIT_MS_MIN = 20
WAIT_MS_MAX = 1_000
"""The longest pause before the log is asked again for one record."""

KEYS_MAX = 100_000
"""Keys of a topic that are remembered; one that is forgotten is asked for again, and waits from the shortest on."""

PASSED = -1


class KeyTurns:
    """The turns of the records of one group.

    Args:
        order: None where the log hands nothing out before its turn.
        is_sure: whether nobody else can have been given records of a topic since `begin`.
    """

    def __init__(self, order: KeyOrder | None, is_sure: Callable[[str], bool]) -> None:
        self._order = order
        self._is_sure = is_sure
        self._waits: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """Topic -> key -> how often it had to wait, or PASSED."""

    def begin(self, topic: str) -> None:
        """Forget what is known of a topic: it was somebody else's until now."""
        self._waits[topic].clear()

    async def wait_ms(self, delivery: Delivery) -> int:
        """Return how long a record should be given back for, 0 if its turn has come."""
        lease, key = delivery.lease, delivery.key
        if self._order is None or not key:
            return 0
        known = self._waits[lease.topic]
        waits = known.get(key, 0)
        if waits == PASSED and self._is_sure(lease.topic):
            return 0
        if not await self._order.has_open_before(lease.topic, lease.group, key=key, offset=lease.offset):
            known[key] = PASSED
        else:
            known[key] = max(0, waits) + 1
        if len(known) > KEYS_MAX:
            del known[next(iter(known))]
        return 0 if known.get(key) == PASSED else int(min(WAIT_MS_MAX, WAIT_MS_MIN << min(max(0, waits), 10)))
