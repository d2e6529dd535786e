"""How far a generator is behind, and why. Records that wait for a further attempt count with those that are new."""

from __future__ import annotations

from gristmill.api.services import Services
from gristmill.domain.front.waiting import WaitReason, decide_waits
from gristmill.domain.log import Lag
from gristmill.engine.settings import recovery_topic_of
from gristmill.plans.plan import Generator
from gristmill.ports.log import Log

__all__ = ["explain_waits", "read_lag"]


async def read_lag(log: Log, generator: Generator) -> Lag:
    """Return the lag of a generator over its topic and the one where failed records wait."""
    fresh = await log.lag(generator.topic, generator.type)
    again = await log.lag(recovery_topic_of(generator), generator.type)
    return Lag(
        undelivered=fresh.undelivered + again.undelivered,
        in_flight=fresh.in_flight + again.in_flight,
        waiting=fresh.waiting + again.waiting,
        oldest_age_ms=max(fresh.oldest_age_ms, again.oldest_age_ms),
        dead=fresh.dead + again.dead,
        lost=fresh.lost + again.lost,
    )


def explain_waits(services: Services, generator: Generator, lag: Lag) -> tuple[WaitReason, ...]:
    """Return why records of a generator wait."""
    return decide_waits(
        lag,
        is_full=services.is_full(generator.type),
        is_serving=not services.health().faults("ready"),
        max_qps=generator.max_qps,
        is_paused=services.orders.of(generator.type).is_paused,
    )
