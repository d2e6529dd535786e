"""Delivers again and again, in the main process of a group: there is one for each state folder."""

from __future__ import annotations

from gristmill.adapters.clock import SystemRandom
from gristmill.adapters.egress import AddressPolicy, EgressLimits, GuardedEgress
from gristmill.adapters.local_host import new_owner
from gristmill.deliver.courier import CourierTools
from gristmill.deliver.feed import Feed
from gristmill.deliver.metrics import DeliveryMetrics
from gristmill.deliver.sending import Sending
from gristmill.deliver.service import DeliveryService
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.runtime.composition.media import egress_metrics
from gristmill.runtime.composition.stores import open_store
from gristmill.runtime.settings_faces import DeliverySection
from gristmill.runtime.spec import GroupSpec

__all__ = ["DeliveryFace", "build_sending"]

NAME = "delivery"
RETRY_MS = 1_000
"""After the service itself has broken; a receiver that fails has a schedule of its own."""


def build_sending(section: DeliverySection, log: Log, clock: Clock) -> Sending:
    """Return the ways out, with private addresses refused but for those that are set.

    Raises:
        ConfigError: an entry of `delivery.allow` means nothing.
    """
    policy = AddressPolicy(section.allow, ports=section.ports)
    limits = EgressLimits(connect_s=section.timeout_s, total_s=section.timeout_s)
    return Sending(GuardedEgress(policy, metrics=egress_metrics(), limits=limits), log, clock)


class DeliveryFace:
    """A background service over a store of its own; `start` and `stop` are safe to call twice."""

    def __init__(self, spec: GroupSpec, clock: Clock) -> None:
        section = spec.settings.delivery
        self._store = open_store(spec, clock, new_owner())
        tools = CourierTools(
            self._store.deliveries,
            Feed(self._store.changes),
            build_sending(section, self._store.log, clock),
            clock,
            SystemRandom(),
            DeliveryMetrics(),
            section.retries_s,
        )
        service = DeliveryService(self._store.definitions, self._store.changes, tools)
        self.service = BackgroundService(
            NAME, service.run, rhythm=Rhythm(interval_ms=RETRY_MS, retry_interval_ms=RETRY_MS), clock=clock
        )

    async def start(self) -> None:
        """Begin to deliver."""
        await self.service.start()

    async def join(self) -> None:
        """Return when it was stopped."""
        await self.service.join()

    async def stop(self) -> None:
        """Stop; what is under way is told again one day."""
        await self.service.stop()
        await self._store.close()
