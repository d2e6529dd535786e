"""A file layer for SQLite whose disk is slow to sync: what runs well here runs well on slow disks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

__all__ = ["SlowFsync"]


class SlowFsync(apsw.VFS):
    """Registers itself under `name`; every sync of its files takes `delay_ms` longer.

    Hand `vfs=name` to `SqliteStore.open` and keep the object alive as long as files are open.
    """

    def __init__(self, name: str, *, delay_ms: float) -> None:
        self.delay_ms = delay_ms
        self.sync_count = 0
        super().__init__(name, "")

    @classmethod
    @contextmanager
    def registered(cls, name: str, *, delay_ms: float) -> Iterator[SlowFsync]:
        """Register the layer for a block; all its files must be closed within."""
        disk = cls(name, delay_ms=delay_ms)
        try:
            yield disk
        finally:
            disk.unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """Open a file of the usual disk."""
        return _SlowFile(self, name, flags)

    def wait(self) -> None:
        """Take the time of one slow sync."""
        self.sync_count += 1
        threading.Event().wait(self.delay_ms / 1000)


class _SlowFile(apsw.VFSFile):
    def __init__(self, disk: SlowFsync, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:
        self._disk.wait()
        super().xSync(flags)
