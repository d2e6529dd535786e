"""Puts a file into its topic, from where an earlier run stopped, and tells how much of it has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from gristmill.domain.log import Lag
from gristmill.engine.settings import recovery_topic_of
from gristmill.intake.reader import InputFile
from gristmill.plans.plan import Generator
from gristmill.ports.log import Log

__all__ = ["Progress", "feed_input", "measure_progress"]


class Progress(msgspec.Struct, frozen=True):
    """How far a topic is.

    Attributes:
        ended: records that were accepted, quarantined or given up.
        waiting: records that failed and wait for their next attempt.
    """

    appended: int
    ended: int
    waiting: int

    @property
    def is_idle(self) -> bool:
        """Whether every record appended so far has ended."""
        return self.ended == self.appended


async def feed_input(log: Log, topic: str, input_file: InputFile, *, blobs: Path) -> int:
    """Append what the topic does not have yet and return how many records the file has.

    Appending is all or nothing for each batch and nobody else appends to this topic, so its length says where to go on.
    """
    skip = await log.end(topic)
    count = 0
    batches = input_file.read(blobs=blobs)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        fresh = batch[max(0, skip - count) :]
        if fresh:
            await log.append(topic, fresh)
        count += len(batch)
    return count


async def measure_progress(log: Log, generator: Generator) -> Progress:
    """Return how far a generator's topic is.

    The topic is looked at before its recovery topic: a record moves over in one step, so none is missed.
    """
    appended = await log.end(generator.topic)
    fresh = _open_records(await log.lag(generator.topic, generator.type))
    waiting = _open_records(await log.lag(recovery_topic_of(generator), generator.type))
    return Progress(appended, appended - fresh - waiting, waiting)


def _open_records(lag: Lag) -> int:
    return lag.undelivered + lag.in_flight + lag.waiting
