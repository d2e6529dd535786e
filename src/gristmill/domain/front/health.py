"""How an installation is, in one state machine that every probe reads."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["HealthReport", "Phase", "Probe", "ServiceHealth"]

Phase = Literal["starting", "serving", "stopping"]
"""A group goes through them in this order and never back; one that lost a child stays `serving` and is not healthy."""

Probe = Literal["startup", "live", "ready"]

STALLED_MS = 30_000
"""A main process that has not looked at its children for so long has stalled."""


class ServiceHealth(msgspec.Struct, frozen=True):
    """Health of one service; the empty name means the whole group. `reasons` is empty when it serves."""

    name: str
    reasons: tuple[str, ...] = ()

    @property
    def is_serving(self) -> bool:
        return not self.reasons


class HealthReport(msgspec.Struct, frozen=True):
    """What is known of a group.

    Attributes:
        services: the whole group first, then each service.
        age_ms: since the services were asked last.
    """

    phase: Phase
    services: tuple[ServiceHealth, ...]
    age_ms: int = 0

    def faults(self, probe: Probe) -> tuple[str, ...]:
        """Return why a probe fails; empty when it does not.

        Startup: until every process has started. Live: the main process makes progress, whatever its children or
        anything outside do. Ready: the whole group serves and is not about to stop.
        """
        if probe == "live":
            return (f"health was not looked at for {self.age_ms // 1000} s",) if self.age_ms > STALLED_MS else ()
        if self.phase == "starting":
            return ("the group is starting",)
        if probe == "startup":
            return ()
        stopping = ("the group is stopping",) if self.phase == "stopping" else ()
        whole = next((service.reasons for service in self.services if not service.name), ("nothing is known",))
        return tuple(dict.fromkeys([*stopping, *whole]))
