"""What the operations on recent items stand on."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable

from gristmill.api.metrics import ApiMetrics
from gristmill.api.recent.admission import Admission
from gristmill.api.security import RequestRates, TokenGate
from gristmill.domain.front.health import HealthReport
from gristmill.ports.clock import Clock
from gristmill.recent.serving import RecentServing

__all__ = ["ProbeServices", "RecentServices"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProbeServices:
    """Handed to the operations of a process that is only watched.

    Attributes:
        health: what every probe reads.
        metrics: returns a scrape of this process.
        description: the OpenAPI document.
    """

    gate: TokenGate
    rates: RequestRates
    tally: ApiMetrics
    clock: Clock
    health: Callable[[], HealthReport]
    metrics: Callable[[], Awaitable[str]]
    description: bytes


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecentServices(ProbeServices):
    """Handed to every operation on recent items.

    Attributes:
        timeout_ms: after which an answer is given as far as it is found; 0 for never.
    """

    serving: RecentServing
    admission: Admission
    timeout_ms: int
