"""What the faces stand on. The composition root fills it in; nothing here is found by import."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence

from gristmill.api.desk import Desk
from gristmill.api.metrics import ApiMetrics
from gristmill.api.security import RequestRates, TokenGate
from gristmill.deliver.core.schedule import RETRIES_S
from gristmill.deliver.sending import Sending
from gristmill.domain.front.health import HealthReport
from gristmill.engine.dispatch.orders import LiveOrders
from gristmill.engine.scoring import Scorer
from gristmill.intake.publish import Publisher
from gristmill.intake.sources.catalogue import LiveSources
from gristmill.plans.plan import Generator
from gristmill.plans.registry import Registry
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definitions
from gristmill.ports.delivery import Changes, Deliveries
from gristmill.ports.front import Front
from gristmill.ports.log import Log
from gristmill.ports.state import State

__all__ = ["Services"]

SCANS_AT_ONCE = 2
"""One reads from the store while the other is looked at."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Services:
    """Handed to every operation.

    Attributes:
        registry: all enabled flows.
        generators: what this group serves, by type.
        native: the generator that published items go to; None where this installation takes none.
        is_full: whether so much waits for a generator that no more may be published to it.
        desk: what is done with dead letters.
        orders: what people have ordered about generators.
        sending: the ways out, for trying receivers.
        retries_s: pauses before the retries of a receiver that fails.
        health: what every probe reads; it asks nobody, so it answers at once.
        metrics: returns a scrape of the whole group.
        description: the OpenAPI document.
        scans: whoever looks through many items takes one of these turns for each stretch: however many ask at once,
            whoever publishes waits for one stretch and not for all of them.
    """

    state: State
    log: Log
    front: Front
    clock: Clock
    gate: TokenGate
    rates: RequestRates
    tally: ApiMetrics
    is_full: Callable[[str], bool]
    publisher: Publisher
    scorer: Scorer
    desk: Desk
    registry: Registry
    generators: Mapping[str, Generator]
    native: Generator | None
    sources: LiveSources
    orders: LiveOrders
    definitions: Definitions
    changes: Changes
    deliveries: Deliveries
    sending: Sending
    health: Callable[[], HealthReport]
    metrics: Callable[[], Awaitable[str]]
    description: bytes
    retries_s: Sequence[float] = RETRIES_S
    scans: asyncio.Semaphore = dataclasses.field(default_factory=lambda: asyncio.Semaphore(SCANS_AT_ONCE))
