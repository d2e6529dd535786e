"""Has a group work off the topic of one input, and tells how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from gristmill.intake.reader import InputFile
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.runtime.batch.feed import Progress, feed_input, measure_progress

__all__ = ["OnProgress", "work_off"]

LOOK_MS = 200
"""Between two looks at how far it is; also how late the end of a run is noticed."""

OnProgress = Callable[[Progress, int | None], None]
"""Told how far it is, and how many records the file has once that is known."""


async def work_off(
    log: Log, generator: Generator, input_file: InputFile, *, blobs: Path, clock: Clock, on_progress: OnProgress
) -> None:
    """Put the file into its topic and return when every record of it has ended."""
    feeding = asyncio.create_task(feed_input(log, generator.topic, input_file, blobs=blobs))
    try:
        while True:
            total = feeding.result() if feeding.done() else None
            progress = await measure_progress(log, generator)
            on_progress(progress, total)
            if total is not None and progress.is_idle and progress.appended >= total:
                return
            if total is None:
                await asyncio.wait([feeding], timeout=LOOK_MS / 1000)
            else:
                await clock.sleep_ms(LOOK_MS)
    finally:
        feeding.cancel()
        await asyncio.wait([feeding])
