"""What the loops of a Dispatcher share."""

from __future__ import annotations

import msgspec

from gristmill.domain.steering import Orders
from gristmill.engine.core.inflight import InFlight
from gristmill.engine.dispatch.orders import OrdersOf
from gristmill.engine.metrics import DispatcherMetrics
from gristmill.engine.settings import DispatcherSettings
from gristmill.engine.wake import Wake
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["Desk"]


class Desk(msgspec.Struct, frozen=True, eq=False):
    """The log with our name on it, the records that are out, and the flag that says that there may be room again."""

    log: Log
    clock: Clock
    owner: str
    settings: DispatcherSettings
    metrics: DispatcherMetrics
    in_flight: InFlight
    room: Wake
    """Raised whenever there may be room: a slot became free, an engine joined, or claiming is to stop."""
    quiet: Wake
    """Raised whenever nothing may be under way any more."""
    orders_of: OrdersOf = lambda generator: Orders()

    def note_change(self) -> None:
        """Wake whoever waits for room or quiet; to be called after records have ended."""
        self.metrics.in_flight.set(len(self.in_flight))
        self.room.set()
        if not len(self.in_flight):
            self.quiet.set()

    def now_ms(self) -> int:
        """Return monotonic milliseconds, for ages and back-off."""
        return self.clock.monotonic_us() // 1_000
