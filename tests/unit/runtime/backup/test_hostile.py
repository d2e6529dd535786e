"""Backups that somebody has tampered with, and folders in which something has gone on meanwhile."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import ConfigError, DataError, Unavailable, UsageError
from gristmill.runtime.backup import restore_backup, take_backup
from gristmill.runtime.folder import StateFolder
from tests.backups import NOW_MS, count_items, empty, flip_store, rewrite


@pytest.mark.parametrize("name", ["../escaped", "models/../../escaped", "run/x", "gristmill.log"])
def test_no_file_is_unpacked_anywhere_else(backup: Path, tmp_path: Path, name: str) -> None:
    def rename(manifest: dict[str, object]) -> None:
        files = manifest["files"]
        assert isinstance(files, dict)
        files[name] = files.pop("blobs/abc")

    rewrite(backup, rename, name="blobs/abc", extra=name)
    with pytest.raises(DataError, match="does not belong"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)
    assert not (tmp_path / "escaped").exists()


def test_a_failing_second_attempt_does_not_open_the_way_to_an_empty_installation(
    folder: StateFolder, backup: Path, tmp_path: Path
) -> None:
    """The first was killed when the store had been moved aside already."""
    other = take_backup(folder, tmp_path / "other.tar", now_ms=NOW_MS).path
    flip_store(other)
    (folder.path / ".replaced.part").mkdir()
    folder.restore_part_dir.mkdir()
    folder.lock_file.touch()
    folder.store_file.rename(folder.path / ".replaced.part" / "gristmill.sqlite")
    with pytest.raises(DataError, match="not what was backed up"):
        restore_backup(other, folder, now_ms=NOW_MS, is_forced=True)
    assert not list(folder.restore_part_dir.iterdir())
    with pytest.raises(ConfigError, match="has not ended"):
        folder.prepare()
    restored = restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True)
    assert restored.aside is not None
    assert (restored.aside / "gristmill.sqlite").is_file()
    folder.prepare()


def test_a_store_that_somebody_opens_meanwhile_is_not_moved_away(folder: StateFolder, backup: Path) -> None:
    opened: list[SqliteStore] = []

    def open_store(what: str, done: int, total: int) -> None:
        if not opened:
            opened.append(SqliteStore.open(folder.store_file, clock=SystemClock(), owner="host:1:late"))

    with pytest.raises(UsageError, match="in use by host:1:late"):
        restore_backup(backup, folder, now_ms=NOW_MS, is_forced=True, on_progress=open_store)
    asyncio.run(opened[0].close())
    assert not folder.restore_part_dir.exists()
    assert asyncio.run(count_items(folder)) == 2


def test_a_disk_that_is_too_small_to_restore_to_is_found_out_first(backup: Path, tmp_path: Path) -> None:
    def grow(manifest: dict[str, object]) -> None:
        files = manifest["files"]
        assert isinstance(files, dict)
        files["gristmill.sqlite"]["bytes"] = 1 << 60

    rewrite(backup, grow)
    with pytest.raises(Unavailable, match=r"too little space.*nothing was changed"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)
    assert not empty(tmp_path).restore_part_dir.exists()


def test_a_backup_without_a_store_is_none(backup: Path, tmp_path: Path) -> None:
    def lose(manifest: dict[str, object]) -> None:
        files = manifest["files"]
        assert isinstance(files, dict)
        del files["gristmill.sqlite"]

    rewrite(backup, lose)
    with pytest.raises(DataError, match="holds no store"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)
    assert not empty(tmp_path).path.exists()


def _name(name: str) -> Callable[[tarfile.TarInfo], None]:
    return lambda entry: setattr(entry, "name", name)


def _link(entry: tarfile.TarInfo) -> None:
    entry.type, entry.linkname, entry.size = tarfile.SYMTYPE, "/etc/passwd", 0


def _device(entry: tarfile.TarInfo) -> None:
    entry.type, entry.devmajor, entry.devminor, entry.size = tarfile.CHRTYPE, 1, 5, 0


def _sparse(entry: tarfile.TarInfo) -> None:
    """A few bytes that say of themselves that they are a tebibyte."""
    entry.pax_headers = {
        "GNU.sparse.size": str(1 << 40),
        "GNU.sparse.numblocks": "1",
        "GNU.sparse.map": f"0,{entry.size}",
    }


@pytest.mark.parametrize(
    "change",
    [_link, _device, _sparse, _name("blobs"), _name("blobs/a\x00b"), _name("x" * 300)],
    ids=["link", "device", "sparse", "folder", "nul", "long"],
)
def test_members_that_are_no_plain_files_are_refused(
    backup: Path, tmp_path: Path, change: Callable[[tarfile.TarInfo], None]
) -> None:
    with tarfile.open(backup) as old:
        members = [(entry, old.extractfile(entry)) for entry in old.getmembers()]
        parts = [(entry, b"" if file is None else file.read()) for entry, file in members]
    with tarfile.open(backup, "w", format=tarfile.PAX_FORMAT) as new:
        for entry, body in parts:
            if entry.name == "blobs/abc":
                change(entry)
            new.addfile(entry, io.BytesIO(body[: entry.size]))
    with pytest.raises(DataError, match="is damaged"):
        restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)
    assert not empty(tmp_path).restore_part_dir.exists()


def test_a_state_folder_is_made_for_its_owner_alone(backup: Path, tmp_path: Path) -> None:
    StateFolder(tmp_path / "a" / "made").prepare()
    restore_backup(backup, empty(tmp_path), now_ms=NOW_MS)
    assert (tmp_path / "a" / "made").stat().st_mode & 0o777 == 0o700
    assert empty(tmp_path).path.stat().st_mode & 0o777 == 0o700
