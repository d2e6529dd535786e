"""A state folder with a bit of everything, and a backup of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gristmill.runtime.backup import take_backup
from gristmill.runtime.folder import StateFolder
from tests.backups import NOW_MS, fill


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "state")
    folder.prepare()
    asyncio.run(fill(folder.store_file))
    for name in ("models/spam/active", "inputs/run.a.1.json", "blobs/abc", "inputs/.stdin.1.part", "run/x.sock"):
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return folder


@pytest.fixture
def backup(folder: StateFolder, tmp_path: Path) -> Path:
    return take_backup(folder, tmp_path / "backup.tar", now_ms=NOW_MS).path
