"""A file layer for SQLite whose disk is slow to sync: what runs well here runs well on slow disks.

In one process: `SlowFsync.registered`. In a whole group of processes: start it with `slow_disk_environment`; then every
Python process of it makes the layer its default before anything of Gristmill runs, so the product knows nothing of it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import apsw
import msgspec

__all__ = ["DELAY_VARIABLE", "SlowFsync", "SyncTally", "install_slow_disk", "read_tallies", "slow_disk_environment"]

DELAY_VARIABLE = "GRISTMILL_SLOW_FSYNC_MS"
TALLY_VARIABLE = "GRISTMILL_SLOW_FSYNC_TALLY"
PRELOAD = Path(__file__).with_name("preload")
"""Holds a `sitecustomize`, which the interpreter imports before anything else where this folder is on its path."""


class SyncTally(msgspec.Struct):
    """What one process has waited for; `command` is how it was started."""

    pid: int
    command: list[str]
    syncs: int = 0
    total_us: int = 0
    least_us: int = 0


class SlowFsync(apsw.VFS):
    """Registers itself under `name`; every sync of its files takes `delay_ms` longer.

    Hand `vfs=name` to `SqliteStore.open` and keep the object alive as long as files are open.

    Args:
        is_default: every file that names no layer gets this one.
        tally_file: holds what was waited for, always up to date.
    """

    def __init__(self, name: str, *, delay_ms: float, is_default: bool = False, tally_file: Path | None = None) -> None:
        self.delay_ms = delay_ms
        self.tally = SyncTally(os.getpid(), list(sys.orig_argv))
        self._tally_file = tally_file
        self._lock = threading.Lock()
        # By name: the empty one means the default, which may be this layer in a moment.
        self.below = apsw.vfs_names()[0]
        super().__init__(name, self.below, is_default)

    @classmethod
    @contextmanager
    def registered(cls, name: str, *, delay_ms: float) -> Iterator[SlowFsync]:
        """Register the layer for a block; all its files must be closed within."""
        disk = cls(name, delay_ms=delay_ms)
        try:
            yield disk
        finally:
            disk.unregister()

    @property
    def sync_count(self) -> int:
        """How often a file was synced."""
        return self.tally.syncs

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """Open a file of the usual disk."""
        return _SlowFile(self, name, flags)

    def wait(self) -> None:
        """Take the time of one slow sync."""
        threading.Event().wait(self.delay_ms / 1000)

    def note(self, took_us: int) -> None:
        """Count a sync that has taken so long."""
        with self._lock:
            tally = self.tally
            tally.least_us = min(tally.least_us, took_us) if tally.syncs else took_us
            tally.syncs += 1
            tally.total_us += took_us
            if self._tally_file is not None:
                # Whole at any moment: the process may be killed in the next.
                unfinished = self._tally_file.with_suffix(".part")
                unfinished.write_bytes(msgspec.json.encode(tally))
                unfinished.replace(self._tally_file)


class _SlowFile(apsw.VFSFile):
    def __init__(self, disk: SlowFsync, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__(disk.below, name, flags)

    def xSync(self, flags: int) -> None:
        began_ns = time.perf_counter_ns()
        self._disk.wait()
        super().xSync(flags)
        self._disk.note((time.perf_counter_ns() - began_ns) // 1000)


def slow_disk_environment(
    environment: Mapping[str, str], *, delay_ms: float, tallies: Path | None = None
) -> dict[str, str]:
    """Return an environment in which every Python process has a slow disk.

    Args:
        tallies: folder in which each process notes what it has waited for; see `read_tallies`.
    """
    path = os.pathsep.join(filter(None, [str(PRELOAD), environment.get("PYTHONPATH", "")]))
    changed = {**environment, "PYTHONPATH": path, DELAY_VARIABLE: str(delay_ms)}
    if tallies is not None:
        changed[TALLY_VARIABLE] = str(tallies)
    return changed


def install_slow_disk() -> None:
    """Make the slow disk the default of this process, if its environment says so."""
    global _installed
    delay_ms = os.environ.get(DELAY_VARIABLE)
    if delay_ms and _installed is None:
        folder = os.environ.get(TALLY_VARIABLE)
        file = Path(folder) / f"{os.getpid()}.json" if folder else None
        _installed = SlowFsync("gristmill-slow", delay_ms=float(delay_ms), is_default=True, tally_file=file)


def read_tallies(folder: Path) -> list[SyncTally]:
    """Return what each process has waited for."""
    return [msgspec.json.decode(path.read_bytes(), type=SyncTally) for path in sorted(folder.glob("*.json"))]


_installed: SlowFsync | None = None
"""Kept alive here: files are open as long as the process lives."""
