"""State folders to back up, and backups to tamper with."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.runtime.folder import StateFolder
from gristmill.testing.contracts.backend import make_commit, records

NOW_MS = 1_796_000_000_000


async def fill(path: Path) -> None:
    store = SqliteStore.open(path, clock=SystemClock(), owner="filler", synchronous="NORMAL")
    await store.log.append("t", records("a", "b"))
    await store.state.commit([make_commit(1), make_commit(2)])
    await store.close()


async def count_items(folder: StateFolder) -> int:
    store = SqliteStore.open(folder.store_file, clock=SystemClock(), owner="counter", synchronous="NORMAL")
    try:
        return (await store.state.counts())["items"]
    finally:
        await store.close()


def empty(tmp_path: Path, name: str = "restored") -> StateFolder:
    return StateFolder(tmp_path / name)


def flip_store(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(200_000)
        file.write(b"\xff\x00\xff")


def rewrite(path: Path, change: Callable[[dict[str, object]], None], *, name: str = "", extra: str = "") -> None:
    """Write a backup again with another manifest, whose hash is right, and perhaps a file of another name."""
    with tarfile.open(path) as old:
        members = [(entry, old.extractfile(entry)) for entry in old.getmembers()]
        parts = [(entry, b"" if file is None else file.read()) for entry, file in members]
    manifest = msgspec.json.decode(parts[-1][1], type=dict[str, object])
    change(manifest)
    content = msgspec.json.encode(manifest)
    parts[-1][0].size, parts[-1][0].pax_headers = len(content), {"comment": hashlib.sha256(content).hexdigest()}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as new:
        for entry, body in parts[:-1]:
            entry.name = extra if extra and entry.name == name else entry.name
            new.addfile(entry, io.BytesIO(body))
        new.addfile(parts[-1][0], io.BytesIO(content))
