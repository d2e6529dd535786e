"""Settings in the words and units of the two services."""

from __future__ import annotations

from gristmill.engine.core.recovery import RecoveryPolicy
from gristmill.engine.settings import DispatcherSettings, EngineSettings
from gristmill.runtime.settings import Settings

__all__ = ["dispatcher_settings", "engine_settings"]


def dispatcher_settings(settings: Settings) -> DispatcherSettings:
    """Return what was set for the dispatcher, in its own units."""
    section = settings.dispatcher
    return DispatcherSettings(
        max_in_flight=section.max_in_flight,
        lease_ms=section.lease_ms,
        task_timeout_ms=_ms(settings.engine.task_timeout_s),
        monitor_interval_ms=max(1, _ms(section.monitor_interval_s)),
        deliveries_max=section.deliveries_max,
        recovery=RecoveryPolicy(
            delay_ms=_ms(section.recovery_delay_s),
            factor=section.recovery_factor,
            recoveries_max=section.recoveries_max,
        ),
    )


def engine_settings(settings: Settings) -> EngineSettings:
    """Return what was set for each engine, in its own units."""
    section = settings.engine
    return EngineSettings(
        capacity=section.capacity,
        max_concurrency=section.max_concurrency,
        task_timeout_ms=_ms(section.task_timeout_s),
        environment=settings.main.environment,
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
