"""What people have ordered about generators: kept in the registry, where every process of an installation sees it.

Each order is a revision of its own, with who gave it and when: the history of a generator tells what was done to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import msgspec
import structlog

from gristmill.domain.errors import Unavailable
from gristmill.domain.front.access import EVERY_TENANT
from gristmill.domain.steering import Orders
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definition, Definitions

__all__ = ["KIND", "LiveOrders", "OrdersOf", "give_orders", "read_history", "read_orders"]

KIND = "orders"
LOOK_MS = 500
"""Between two looks for new orders: whoever pauses a generator sees it stop within this and a moment."""

OrdersOf = Callable[[str], Orders]
"""Generator type -> what was ordered about it."""

_log = structlog.get_logger()


class LiveOrders:
    """The latest orders, taken up while the process runs."""

    def __init__(self, definitions: Definitions, clock: Clock) -> None:
        self._definitions = definitions
        self._clock = clock
        self._orders: Mapping[str, Orders] = {}
        self._version = -1

    def of(self, generator: str) -> Orders:
        """Return what was ordered about a generator."""
        return self._orders.get(generator, Orders())

    async def refresh(self) -> bool:
        """Take up what was ordered since the last look; whether that was anything.

        Raises:
            Unavailable: the registry cannot be asked; what was ordered before still holds.
        """
        version = await self._definitions.version()
        if version == self._version:
            return False
        before = self._orders
        self._orders = {one.name: read_orders(one) for one in await self._definitions.latest(KIND)}
        self._version = version
        return self._orders != before

    async def run(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Look for new orders for ever."""
        while True:
            await self._clock.sleep_ms(LOOK_MS)
            try:
                if await self.refresh():
                    on_change()
            except Unavailable as error:
                _log.warning("orders cannot be looked up", error=str(error))


async def give_orders(
    definitions: Definitions,
    generator: str,
    orders: Orders,
    *,
    actor: str,
    clock: Clock,
    expected: int | None = None,
) -> Definition:
    """Order something about a generator and return it as it is kept; the same order again changes nothing.

    Raises:
        StaleRead: somebody has ordered something since revision `expected`.
    """
    body = msgspec.json.encode(orders).decode()
    new = Definition(
        kind=KIND,
        tenant=EVERY_TENANT,
        name=generator,
        revision=0,
        hash=hashlib.sha256(body.encode()).hexdigest(),
        at_ms=clock.now_ms(),
        actor=actor,
        body=body,
    )
    stored = await definitions.publish(new, expected=expected)
    _log.info("orders given", generator=generator, actor=actor, **msgspec.structs.asdict(orders))
    return stored


async def read_history(definitions: Definitions, generator: str) -> Sequence[Definition]:
    """Return all orders about a generator, the oldest first."""
    return await definitions.history(KIND, generator, tenant=EVERY_TENANT)


def read_orders(stored: Definition) -> Orders:
    """Read orders; what a later program has written and this one cannot read pauses the generator, and says why."""
    try:
        return msgspec.json.decode(stored.body, type=Orders)
    except msgspec.DecodeError as error:
        _log.error("orders cannot be read", generator=stored.name, revision=stored.revision, error=str(error))
        return Orders(is_paused=True, reason="its orders cannot be read by this version")
