"""Keeps the leases of a process alive, and says at once when one is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import structlog

from gristmill.domain.log import Lease
from gristmill.engine.runner.core.holding import BEATS_PER_LEASE, HeldLeases
from gristmill.engine.runner.metrics import RunnerMetrics
from gristmill.engine.wake import Wake, wait_first
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log

__all__ = ["Beat"]

RETRY_MS = 1_000
"""Longest pause after a renewal that failed; leases of seconds are tried again sooner."""

LOCAL_BEAT_MS = 250
"""Where the claiming object keeps the leases, asking costs nothing: a partition that left is noticed so much later."""

_Loss = Literal["taken", "unrenewed"]
REASONS: dict[_Loss, str] = {
    "taken": "somebody else has the record",
    "unrenewed": "lease could not be renewed in time",
}

_log = structlog.get_logger()


class Beat:
    """Renews all leases in one call for each length; Runners of one process over one log share it.

    A renewal that fails is tried again until a sixth of the lease is left; then, or at once when the log says that
    somebody else has the record, whoever holds the lease is told.
    """

    def __init__(self, log: Log, clock: Clock, metrics: RunnerMetrics) -> None:
        self._log = log
        self._clock = clock
        self._metrics = metrics
        self._held = HeldLeases()
        self._on_lost: dict[Lease, Callable[[str], None]] = {}
        self._wake = Wake()
        self._due_at_ms = 0
        self._beat_ms_max = LOCAL_BEAT_MS if "claimer_settles" in log.capabilities else None

    def hold(self, lease: Lease, *, lease_ms: int, asked_at_ms: int, on_lost: Callable[[str], None]) -> None:
        """Keep a lease alive from now on; `on_lost` is called once with the reason if that fails.

        Args:
            asked_at_ms: monotonic time before the claim was sent.
        """
        if not len(self._held):
            self._due_at_ms = asked_at_ms + self._beat_ms(lease_ms)
        self._held.add(lease, lease_ms=lease_ms, asked_at_ms=asked_at_ms)
        self._on_lost[lease] = on_lost
        self._due_at_ms = min(self._due_at_ms, asked_at_ms + self._beat_ms(lease_ms))
        self._wake.set()

    def drop(self, lease: Lease) -> None:
        """Let a lease be, since its record is done with."""
        self._held.drop(lease)
        self._on_lost.pop(lease, None)

    async def run(self) -> None:
        """Renew for ever."""
        while True:
            unsafe_in_ms = self._held.unsafe_in_ms(now_ms=self._now_ms())
            if unsafe_in_ms is None:
                await self._wake.wait()
                continue
            pause_ms = min(unsafe_in_ms, self._due_at_ms - self._now_ms())
            if pause_ms > 0:
                await self._wake.wait_for(self._clock, timeout_ms=pause_ms)
            await self.run_once()

    async def run_once(self) -> None:
        """Renew if it is time, and give up what cannot be relied upon any more."""
        self._lose(self._held.take_unsafe(now_ms=self._now_ms()), "unrenewed")
        if not len(self._held) or self._now_ms() < self._due_at_ms:
            return
        lengths = self._held.by_length()
        beat_ms = self._beat_ms(min(lengths))
        self._due_at_ms = self._now_ms() + beat_ms
        for lease_ms, leases in lengths.items():
            try:
                limit_ms = self._held.unsafe_in_ms(now_ms=self._now_ms()) or 1
                await wait_first(self._renew(leases, lease_ms), self._clock.sleep_ms(limit_ms))
            except Exception as error:
                # Whatever it was, the leases still stand: they are given up by their end and not by an error.
                self._count(leases, "failed")
                self._due_at_ms = self._now_ms() + min(beat_ms, RETRY_MS)
                _log.warning("leases cannot be renewed", count=len(leases), error=repr(error))

    async def _renew(self, leases: Sequence[Lease], lease_ms: int) -> None:
        asked_at_ms = self._now_ms()
        answers = await self._log.renew(leases, lease_ms=lease_ms)
        lost = self._held.on_renewed(zip(leases, answers, strict=True), asked_at_ms=asked_at_ms)
        self._count([lease for lease, is_ours in zip(leases, answers, strict=True) if is_ours], "renewed")
        self._lose(lost, "taken")

    def _lose(self, leases: Sequence[Lease], result: _Loss) -> None:
        for lease in leases:
            self._metrics.lease_lost.labels(lease.topic, lease.group, result).inc()
            if (on_lost := self._on_lost.pop(lease, None)) is not None:
                on_lost(REASONS[result])

    def _count(self, leases: Sequence[Lease], result: str) -> None:
        for lease in leases:
            self._metrics.renewals.labels(lease.topic, lease.group, result).inc()

    def _beat_ms(self, lease_ms: int) -> int:
        beat_ms = max(1, lease_ms // BEATS_PER_LEASE)
        return beat_ms if self._beat_ms_max is None else min(beat_ms, self._beat_ms_max)

    def _now_ms(self) -> int:
        return self._clock.monotonic_us() // 1_000
