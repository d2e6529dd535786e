"""Sweeps again and again, in the main process of a group."""

from __future__ import annotations

import structlog

from gristmill.adapters.local_host import new_owner
from gristmill.ports.clock import Clock
from gristmill.ports.upkeep import Upkeep
from gristmill.runtime.background import BackgroundService, Rhythm
from gristmill.runtime.background.metrics import last_success_gauge
from gristmill.runtime.composition.stores import open_upkeep
from gristmill.runtime.retention.metrics import RetentionMetrics
from gristmill.runtime.retention.rules import rules_of
from gristmill.runtime.retention.topics import read_lossy
from gristmill.runtime.spec import GroupSpec

__all__ = ["RetentionFace", "RetentionSweep"]

NAME = "retention"

HELD_RECORDS_MAX = 1_000_000
"""Records of one topic above which somebody should look at the group that is behind."""

HELD_BYTES_MAX = 1024 * 1024 * 1024
"""Bytes of records, likewise."""

STANDING_TOLD_MS = 3_600_000
"""A group that stands still for an hour is no deployment any more."""

TELL_AGAIN_MS = 3_600_000
LEAP_TOLD_MS = 3_600_000
"""How far the clock is ahead of the time that ages are counted from before somebody should look at it."""

_log = structlog.get_logger()


class RetentionSweep:
    """One sweep, measured."""

    def __init__(self, upkeep: Upkeep, spec: GroupSpec, clock: Clock, metrics: RetentionMetrics) -> None:
        self._upkeep = upkeep
        self._rules = rules_of(
            spec.settings.store.retention,
            [*spec.generators, *spec.awaited],
            lossy=read_lossy(spec.settings.log),
        )
        self._clock = clock
        self._metrics = metrics
        self._told_at_ms: dict[str, int] = {}
        self._standing: set[tuple[str, str]] = set()
        self._leap_told_us: int | None = None

    async def run_once(self) -> None:
        """Let go of what is due.

        Raises:
            Unavailable: the store cannot be reached now; what went is gone, the rest goes with the next sweep.
        """
        began_us, now_ms = self._clock.monotonic_us(), self._clock.now_ms()
        deleted = await self._upkeep.sweep(self._rules, now_ms=now_ms)
        self._tell_leap(now_ms)
        self._metrics.seconds.set((self._clock.monotonic_us() - began_us) / 1_000_000)
        for table, count in deleted.items():
            self._metrics.deleted.labels(table).inc(count)
        for table, at_ms in (await self._upkeep.oldest()).items():
            self._metrics.oldest.labels(table).set(max(0, now_ms - at_ms) / 1000)
        await self._tell_held(now_ms)
        await self._tell_standing(self._upkeep.as_of_ms or now_ms)
        self._metrics.free_bytes.set(await self._upkeep.free_bytes())
        if deleted:
            _log.debug("retention swept", **deleted)

    def _tell_leap(self, now_ms: int) -> None:
        as_of_ms, now_us = self._upkeep.as_of_ms, self._clock.monotonic_us()
        if as_of_ms is None or now_ms - as_of_ms < LEAP_TOLD_MS:
            self._leap_told_us = None
        elif self._leap_told_us is None or now_us - self._leap_told_us >= TELL_AGAIN_MS * 1_000:
            self._leap_told_us = now_us
            _log.warning("clock is far ahead of the last sweep; ages follow", ahead_s=(now_ms - as_of_ms) // 1000)

    async def _tell_held(self, now_ms: int) -> None:
        for one in await self._upkeep.held(self._rules):
            if one.topic in self._rules.groups:
                self._metrics.held.labels(one.topic).set(one.records)
            is_large = one.records >= HELD_RECORDS_MAX or one.bytes >= HELD_BYTES_MAX
            if is_large and self._is_to_be_told(one.topic, now_ms):
                held_s = (now_ms - one.oldest_at_ms) // 1000
                _log.warning("topic grows", topic=one.topic, records=one.records, behind=one.group, oldest_s=held_s)

    async def _tell_standing(self, now_ms: int) -> None:
        standing = await self._upkeep.standing(self._rules, now_ms=now_ms)
        for topic, group in self._standing - {(one.topic, one.group) for one in standing}:
            self._metrics.standing.labels(topic, group).set(0)
        self._standing = {(one.topic, one.group) for one in standing}
        for one in standing:
            standing_ms = now_ms - one.since_ms
            self._metrics.standing.labels(one.topic, one.group).set(standing_ms / 1000)
            if standing_ms < STANDING_TOLD_MS or not self._is_to_be_told(f"{one.topic} {one.group}", now_ms):
                continue
            if one.is_let_go:
                _log.warning("group holds no records back any more", topic=one.topic, group=one.group)
            else:
                left_s = max(0, self._rules.abandoned_ms - standing_ms) // 1000 if self._rules.abandoned_ms else None
                _log.warning("nobody serves a group", topic=one.topic, group=one.group, lets_go_in_s=left_s)

    def _is_to_be_told(self, subject: str, now_ms: int) -> bool:
        """Whether it was not told within the hour."""
        if now_ms - self._told_at_ms.get(subject, 0) < TELL_AGAIN_MS:
            return False
        self._told_at_ms[subject] = now_ms
        return True


class RetentionFace:
    """A background service over a store of its own; `start` and `stop` are safe to call twice."""

    def __init__(self, spec: GroupSpec, clock: Clock) -> None:
        self._store = open_upkeep(spec, clock, new_owner())
        sweep = RetentionSweep(self._store.upkeep, spec, clock, RetentionMetrics())
        gauge = last_success_gauge()
        self.service = BackgroundService(
            NAME,
            sweep.run_once,
            rhythm=Rhythm(interval_ms=max(1, round(spec.settings.store.retention.sweep_interval_s * 1000))),
            clock=clock,
            on_success=lambda at_ms: gauge.labels(NAME).set(at_ms / 1000),
        )

    async def start(self) -> None:
        """Begin to sweep."""
        await self.service.start()

    async def join(self) -> None:
        """Return when it was stopped."""
        await self.service.join()

    async def stop(self) -> None:
        """Stop; a sweep under way ends with its present turn."""
        await self.service.stop()
        await self._store.close()
