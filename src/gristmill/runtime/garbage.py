"""A full garbage collection now and then, at a moment of our own choice."""

from __future__ import annotations

import gc

import structlog

from gristmill.ports.clock import Clock, Random

__all__ = ["collect_periodically", "settle_heap"]

YOUNG_OBJECTS_MAX = 50_000
"""An engine holds some ten thousand young objects until their commit, without any cycle; at the interpreter's 700 it
looks through them all over and over, which cost a seventh of its time. Above that it looks only when it must."""

_log = structlog.get_logger()


def settle_heap() -> None:
    """Set what start-up has left aside from every later collection, and collect the young less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, *gc.get_threshold()[1:])


async def collect_periodically(clock: Clock, random: Random, *, interval_s: float, jitter_s: float) -> None:
    """Collect for ever; the jitter is drawn once, so that the processes of a group do not stop together."""
    pause_ms = round((interval_s + random.uniform() * jitter_s) * 1000)
    if pause_ms <= 0:
        return
    while True:
        await clock.sleep_ms(pause_ms)
        _log.info("garbage collected", objects=gc.collect())
