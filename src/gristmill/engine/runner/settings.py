"""Bounds of a Runner, each with its unit and its reason."""

from __future__ import annotations

import msgspec

from gristmill.domain.errors import ConfigError
from gristmill.engine.runner.core.breaker import FAILURES_IN_A_ROW, PROBE_MS
from gristmill.engine.runner.core.waiting import Ordering

__all__ = ["LEASE_MS_MIN", "RunnerSettings"]

LEASE_MS_MIN = 50
"""Below it a beat would fall due before a slow disk has answered the last; 3 s and more are sensible outside tests."""


class RunnerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one group is driven.

    Attributes:
        workers: records worked on at once; records are claimed only when one is free.
        prefetch: records claimed ahead of the workers; above 0 a record waits in one process while others idle.
        batch: records claimed in one call at most.
        lease_ms: renewed every third of it.
        may_retry: whether a failure may be followed by another run. Off makes every failure a dead letter.
        attempts: runs of one record in all, process deaths included; then it is a dead letter.
        delays_ms: before the second run, the third and so on.
        swing: share by which delays differ, so that what failed together does not come back together.
        dependency_delay_ms: before a record comes again whose run failed for a dependency.
        dependency_failures_max: runs in a row that fail so before claiming stops.
        probe_ms: how often one record is tried while it has stopped.
        ordering: `key` works on one record of a key at a time, in order. Within one process: run a group with keys in
            one process only, or on a log that gives each key to one process.
        is_optional: whether the process goes on when the group cannot be joined at the start; a gauge shows it down.
        drain_ms: how long running work may end after a stop; then it is cancelled and handed back uncounted.
        lag_interval_ms: between two looks at how far the group is behind.
        reclaim_interval_ms: between two looks for dead owners.
        item_header: the header of a record that names its item in lines of the log.
    """

    workers: int = 4
    prefetch: int = 0
    batch: int = 10
    lease_ms: int = 30_000
    may_retry: bool = True
    attempts: int = 3
    delays_ms: tuple[int, ...] = (5_000, 60_000, 600_000)
    swing: float = 0.2
    dependency_delay_ms: int = 1_000
    dependency_failures_max: int = FAILURES_IN_A_ROW
    probe_ms: int = PROBE_MS
    ordering: Ordering = "none"
    is_optional: bool = False
    drain_ms: int = 25_000
    lag_interval_ms: int = 10_000
    reclaim_interval_ms: int = 15_000
    item_header: str = "item_id"

    def check(self, group: str) -> None:
        """Return if a group can be driven so.

        Raises:
            ConfigError: it cannot; the setting is named.
        """
        if self.may_retry and self.attempts <= 0:
            raise ConfigError(
                f"attempts of group {group!r}, whose handler may retry",
                value=self.attempts,
                advice="allow at least 1 run, or set may_retry = false so that a failure is a dead letter at once",
            )
        lowest = {"workers": 1, "batch": 1, "lease_ms": LEASE_MS_MIN, "dependency_failures_max": 1, "probe_ms": 1}
        lowest |= {"prefetch": 0, "drain_ms": 0, "lag_interval_ms": 1, "reclaim_interval_ms": 1}
        for name, least in lowest.items():
            if getattr(self, name) < least:
                value = getattr(self, name)
                raise ConfigError(f"{name} of group {group!r}", value=value, advice=f"give at least {least}")
        if not 0 <= self.swing < 1:
            raise ConfigError(f"swing of group {group!r}", value=self.swing, advice="give a share from 0 to below 1")
