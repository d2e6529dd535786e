"""How long a disk takes to promise that bytes are on it, and what the clock of this host does meanwhile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

__all__ = ["DiskTimes", "measure_disk"]

BLOCK_BYTES = 4_096
SYNCS_MAX = 48
SECONDS_MAX = 2.0
"""Of each kind; a disk that is so slow is known after fewer."""

IN_PLACE_BLOCKS = 64
US_PER_S = 1_000_000
READ_US_MAX = 5_000
READS_MAX = 20


class DiskTimes(msgspec.Struct, frozen=True):
    """What was measured.

    Attributes:
        growing_us: microseconds of each sync of a file that grew before it.
        in_place_us: the same of a file whose size stays, as a log that is written over.
        wall_ms: the wall clock at the begin, UTC epoch in ms, as the file system saw it.
        drift_ms: how far the wall clock moved against steady time; below 0 where it was set back.
    """

    growing_us: tuple[int, ...]
    in_place_us: tuple[int, ...]
    wall_ms: int
    drift_ms: int


def measure_disk(folder: Path, *, now_us: Callable[[], int]) -> DiskTimes:
    """Write and sync a file without a name in a folder; nothing is left of it.

    Args:
        now_us: steady time.
    Raises:
        OSError: the folder cannot be written.
    """
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        descriptor = file.fileno()
        began_wall_ms, began_us = _read_clocks(descriptor, now_us)
        block = os.urandom(BLOCK_BYTES)
        growing = _time_syncs(descriptor, now_us, lambda number: os.pwrite(descriptor, block, number * BLOCK_BYTES))
        os.pwrite(descriptor, block * IN_PLACE_BLOCKS, 0)
        os.fsync(descriptor)

        def write_over(number: int) -> None:
            os.pwrite(descriptor, block, number % IN_PLACE_BLOCKS * BLOCK_BYTES)

        in_place = _time_syncs(descriptor, now_us, write_over)
        wall_ms, at_us = _read_clocks(descriptor, now_us)
        drift_ms = wall_ms - began_wall_ms - (at_us - began_us) // 1_000
    return DiskTimes(growing, in_place, began_wall_ms, drift_ms)


def _time_syncs(descriptor: int, now_us: Callable[[], int], write: Callable[[int], object]) -> tuple[int, ...]:
    times: list[int] = []
    for number in range(SYNCS_MAX):
        write(number)
        began_us = now_us()
        os.fdatasync(descriptor)
        times.append(now_us() - began_us)
        if sum(times) > SECONDS_MAX * US_PER_S:
            break
    return tuple(times)


def _read_clocks(descriptor: int, now_us: Callable[[], int]) -> tuple[int, int]:
    """Return wall clock in ms and steady time in us of about the same moment: a busy host may pause us in between."""
    for _ in range(READS_MAX):
        before_us = now_us()
        os.utime(descriptor)
        after_us = now_us()
        if after_us - before_us <= READ_US_MAX:
            break
    return os.fstat(descriptor).st_mtime_ns // 1_000_000, (before_us + after_us) // 2
