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
        began_us, began_wall_ms = now_us(), _wall_ms(descriptor)
        block = os.urandom(BLOCK_BYTES)
        growing = _time_syncs(descriptor, now_us, lambda number: os.pwrite(descriptor, block, number * BLOCK_BYTES))
        os.pwrite(descriptor, block * IN_PLACE_BLOCKS, 0)
        os.fsync(descriptor)

        def write_over(number: int) -> None:
            os.pwrite(descriptor, block, number % IN_PLACE_BLOCKS * BLOCK_BYTES)

        in_place = _time_syncs(descriptor, now_us, write_over)
        drift_ms = _wall_ms(descriptor) - began_wall_ms - (now_us() - began_us) // 1_000
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


def _wall_ms(descriptor: int) -> int:
    os.utime(descriptor)
    return os.fstat(descriptor).st_mtime_ns // 1_000_000
