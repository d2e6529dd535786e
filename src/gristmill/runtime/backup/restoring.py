"""Puts a backup back as a state folder: checked as a whole before anything that is there is touched.

Everything is unpacked into `.restore.part` inside the state folder, so that it also works where that folder is a disk
of its own. Then what is there moves aside, its store first, and the new files move in, their store last: while there is
no store, and this folder is, no other command begins an empty one (`StateFolder.prepare`). Called again it starts over.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gristmill.adapters.local_host.owners import OwnerLock, registered_owners
from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.file.schema import SCHEMA_VERSION
from gristmill.adapters.sqlite.upkeep import fit_restored
from gristmill.domain.errors import DataError, Unavailable, UsageError
from gristmill.domain.upkeep.loss import Loss
from gristmill.intake.ids.segment_ids import NAMESPACE
from gristmill.intake.ids.stock_core import read_moment
from gristmill.runtime.backup.backup_file import BackupReader, open_backup
from gristmill.runtime.backup.manifest import KEPT_FOLDERS, STORE_NAME, BackupManifest
from gristmill.runtime.backup.taking import OnBackup, sync_folder
from gristmill.runtime.folder import FOLDER_MODE, GroupLock, StateFolder

__all__ = ["Restored", "restore_backup"]

ASIDE_PART = ".replaced.part"


class Restored(msgspec.Struct, frozen=True):
    """A state folder that was restored.

    Attributes:
        freed: records that somebody was working on when the backup was taken; they are delivered again.
        aside: where the former content went, if there was any.
    """

    manifest: BackupManifest
    freed: int
    aside: Path | None


def restore_backup(
    source: Path,
    folder: StateFolder,
    *,
    now_ms: int,
    is_forced: bool = False,
    on_progress: OnBackup = lambda what, done, total: None,
) -> Restored:
    """Make a state folder of a backup; afterwards `gristmill run` and `gristmill up` go on from where it was taken.

    Args:
        is_forced: move what is in the folder aside.
    Raises:
        UsageError: the folder is in use, not empty, or no state folder.
        DataError: the file is no backup, a damaged one, or one of a newer Gristmill; nothing was changed.
        Unavailable: the disk is too small for it; nothing was changed.
    """
    with open_backup(source) as backup:
        _refuse_unfit(source, backup.manifest)
        _refuse_content(folder, is_forced=is_forced)
        folder.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        _refuse_small_disk(folder.path, backup.manifest)
        lock = GroupLock(folder, purpose="gristmill restore")
        try:
            _refuse_owners(folder)
            fresh = folder.restore_part_dir
            # As long as it is there and the store is not, no other command begins an empty one.
            is_going_on = fresh.exists() and not folder.exists
            _empty(fresh)
            try:
                freed = _unpack(backup, fresh, now_ms=now_ms, on_progress=on_progress)
                # Unpacking takes a while, in which somebody may have opened the store that is there.
                _refuse_owners(folder)
            except BaseException:
                _empty(fresh)
                if not is_going_on:
                    fresh.rmdir()
                raise
            aside = _move_aside(folder, now_ms=now_ms)
            _move_in(fresh, folder.path)
            shutil.rmtree(fresh)
        finally:
            lock.close()
        return Restored(backup.manifest, freed, aside)


def _refuse_unfit(source: Path, manifest: BackupManifest) -> None:
    if STORE_NAME not in manifest.files:
        raise DataError(f"backup {source} holds no store", value=STORE_NAME, advice="use another backup")
    if manifest.schema_version > SCHEMA_VERSION:
        advice = f"this Gristmill reads up to {SCHEMA_VERSION}: restore it with version {manifest.gristmill} or newer"
        raise DataError(f"backup {source} has a newer schema", value=manifest.schema_version, advice=advice)


def _refuse_small_disk(path: Path, manifest: BackupManifest) -> None:
    needed, free = sum(entry.bytes for entry in manifest.files.values()), shutil.disk_usage(path).free
    if free < needed:
        advice = f"it takes {needed} bytes: free space, or restore to another disk; nothing was changed"
        raise Unavailable(f"disk of {path} has too little space for the backup", value=free, advice=advice)


def _refuse_content(folder: StateFolder, *, is_forced: bool) -> None:
    if folder.path.exists() and not folder.path.is_dir():
        raise UsageError("--state is no folder", value=str(folder.path), advice="name a folder")
    names = _content(folder)
    if not names:
        return
    if not (folder.exists or folder.lock_file.exists()):
        advice = "name an empty folder, or one that does not exist"
        raise UsageError("folder holds other things than state", value=str(folder.path), advice=advice)
    if not is_forced:
        advice = "name an empty folder, or --force to move what is there aside"
        raise UsageError("state folder is not empty", value=str(folder.path), advice=advice)


def _refuse_owners(folder: StateFolder) -> None:
    """Refuse while a process has the store open without being a group, such as a command that lists dead letters."""
    for owner in registered_owners(folder.owners_dir) if folder.owners_dir.is_dir() else []:
        lock = OwnerLock.try_take_dead(folder.owners_dir, owner)
        if lock is None:
            advice = "wait until it has ended, or use another folder with --state DIR"
            raise UsageError(f"state folder is in use by {owner}", value=str(folder.path), advice=advice)
        lock.release()


def _unpack(backup: BackupReader, fresh: Path, *, now_ms: int, on_progress: OnBackup) -> int:
    done, total = 0, sum(entry.bytes for entry in backup.manifest.files.values())

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        on_progress("unpacking", done, total)

    backup.unpack(fresh, on_bytes=on_bytes)
    return fit_restored(StoreFile(fresh / STORE_NAME), _measure_loss(backup.manifest, now_ms=now_ms)).freed


def _empty(folder: Path) -> None:
    """Make a folder that nobody else looks into, or clear it; it is there all the while."""
    folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _measure_loss(manifest: BackupManifest, *, now_ms: int) -> Loss:
    # A clock that is behind the backup's cannot say what was issued since; the backup's own time is the least it was.
    moment = read_moment(max(now_ms, manifest.created_at_ms), UTC)
    return Loss(
        elapsed_ms=moment.at_ms - manifest.created_at_ms,
        day=moment.day,
        since_midnight_ms=moment.since_midnight_ms,
        namespaces=(NAMESPACE,),
    )


def _move_aside(folder: StateFolder, *, now_ms: int) -> Path | None:
    """Move what is there into a folder of its own; what an earlier attempt has moved is in it already."""
    names = _content(folder)
    part = folder.path / ASIDE_PART
    if not names and not part.exists():
        return None
    part.mkdir(exist_ok=True)
    # With its store gone the folder counts as one that is being restored. Its log goes along right after it.
    for name in sorted(names, key=lambda name: (not name.startswith(STORE_NAME), name)):
        (folder.path / name).rename(part / name)
    stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = _free_name(folder.path / f"replaced-{stamp}")
    part.rename(aside)
    return aside


def _move_in(fresh: Path, folder: Path) -> None:
    for name in KEPT_FOLDERS:
        if (fresh / name).is_dir():
            (fresh / name).rename(folder / name)
    sync_folder(folder)
    (fresh / STORE_NAME).rename(folder / STORE_NAME)
    sync_folder(folder)


def _content(folder: StateFolder) -> list[str]:
    """Return what counts as content: not the lock that is held, nor what restores have left."""
    if not folder.path.is_dir():
        return []
    names = [name for name in os.listdir(folder.path) if not name.startswith("replaced-")]
    return [name for name in names if name not in (folder.lock_file.name, folder.restore_part_dir.name, ASIDE_PART)]


def _free_name(path: Path) -> Path:
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
