"""Takes a backup: the store as it is at one moment, then the files that it may refer to, in one file."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from gristmill.adapters.sqlite.file.connection import StoreFile
from gristmill.adapters.sqlite.upkeep import CopiedStore, copy_database, copy_store
from gristmill.domain.errors import Unavailable, UsageError
from gristmill.runtime.backup.backup_file import BackupWriter
from gristmill.runtime.backup.manifest import FORMAT, KEPT_FOLDERS, STORE_NAME, BackupManifest
from gristmill.runtime.folder import StateFolder

__all__ = ["OnBackup", "Taken", "part_folder", "sync_folder", "take_backup"]

OWNER_ONLY = 0o600
PACKED, ARCHIVED = "packed", "archived"
ARCHIVE_SUFFIX = ".sqlite"
UNFINISHED_SUFFIXES = (".part", ".sqlite-journal")
"""What is being written, like all that begins with a dot."""

PART_NAMES = (STORE_NAME, PACKED, ARCHIVED)
"""What a backup that is not whole yet consists of, with the journals of SQLite."""

HOLD_ATTEMPTS = 10
"""As often as another backup of the same name may end between two looks."""

COPIES = 2
"""A store is copied, then packed: for a moment both lie beside each other."""

OnBackup = Callable[[str, int, int], None]
"""Told what is done now, how much of it is done, and how much there is to do."""


class Taken(msgspec.Struct, frozen=True):
    """A backup that was taken."""

    path: Path
    bytes: int
    manifest: BackupManifest


def take_backup(
    folder: StateFolder,
    target: Path,
    *,
    now_ms: int,
    is_forced: bool = False,
    on_progress: OnBackup = lambda what, done, total: None,
) -> Taken:
    """Write a backup of a state folder, of which a group may be working.

    Args:
        is_forced: replace a file of that name.
    Raises:
        UsageError: nothing was ever stored there, or the file exists.
        ConfigError: the store is damaged.
        Unavailable: there is not enough space, or the disk failed.
    """
    folder.require()
    target = target.absolute()
    _check_target(folder, target, is_forced=is_forced)
    with _naming_a_full_disk(target), part_folder(target) as part:
        copied = copy_store(
            StoreFile(folder.store_file),
            part / STORE_NAME,
            on_progress=lambda done, total: on_progress("copying the store", done, total),
        )
        packed = part / PACKED
        manifest = _pack(folder, part / STORE_NAME, packed, copied, now_ms=now_ms, on_progress=on_progress)
        size = packed.stat().st_size
        _put_into_place(packed, target, is_forced=is_forced)
    return Taken(target, size, manifest)


def _check_target(folder: StateFolder, target: Path, *, is_forced: bool) -> None:
    if target.is_dir() or not target.parent.is_dir():
        advice = "name a file in a folder that exists"
        raise UsageError("--to names no place for a file", value=str(target), advice=advice)
    if target.exists() and not is_forced:
        raise _exists(target)
    needed = COPIES * folder.store_file.stat().st_size
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        advice = f"it takes up to {needed} bytes while it is written: free space, or write to another disk"
        raise Unavailable(f"disk of {target} has too little space for a backup", value=free, advice=advice)


def _pack(
    folder: StateFolder, copy: Path, packed: Path, copied: CopiedStore, *, now_ms: int, on_progress: OnBackup
) -> BackupManifest:
    done, total = 0, copy.stat().st_size

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        on_progress("packing", min(done, total), total)

    descriptor = os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        writer = BackupWriter(file, at_ms=now_ms)
        writer.add(STORE_NAME, copy, on_bytes=on_bytes)
        # After the store: a file is there before anything in the store refers to it.
        for name, path in _other_files(folder):
            if path.suffix == ARCHIVE_SUFFIX:
                path = _copy_archive(path, copy.with_name(ARCHIVED))
            writer.add(name, path, on_bytes=on_bytes)
        manifest = BackupManifest(
            format=FORMAT,
            gristmill=version("gristmill"),
            schema_version=copied.schema_version,
            created_at_ms=now_ms,
            created_at=datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="seconds"),
            counts=copied.counts,
            files=writer.files,
        )
        writer.close(manifest)
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _other_files(folder: StateFolder) -> Iterator[tuple[str, Path]]:
    for name in KEPT_FOLDERS:
        for path in sorted((folder.path / name).rglob("*")):
            is_whole = path.suffix not in UNFINISHED_SUFFIXES and not path.name.startswith(".")
            if path.is_file() and is_whole:
                yield path.relative_to(folder.path).as_posix(), path


def _copy_archive(path: Path, copy: Path) -> Path:
    """Return a copy of a file of events, to which a sweep may be adding some just now."""
    copy.unlink(missing_ok=True)
    copy_database(path, copy)
    return copy


def _put_into_place(packed: Path, target: Path, *, is_forced: bool) -> None:
    if is_forced:
        packed.replace(target)
    else:
        try:
            # A link never replaces a file that has appeared meanwhile, as a rename would.
            os.link(packed, target)
        except FileExistsError:
            raise _exists(target) from None
        except OSError:
            packed.rename(target)  # A disk without links.
    sync_folder(target.parent)


@contextmanager
def part_folder(target: Path) -> Iterator[Path]:
    """Give a folder beside a file for what is not whole yet; it is removed, also what a killed attempt has left in it.

    Raises:
        UsageError: somebody else writes that file just now, or something that is not ours lies in its place.
    """
    part = target.with_name(f".{target.name}.part")
    held = _hold(part, target)
    try:
        left = list(part.iterdir())
        if not all(path.name.startswith(PART_NAMES) for path in left):
            raise _not_ours(part)
        try:
            for path in left:
                path.unlink()
            yield part
        finally:
            shutil.rmtree(part, ignore_errors=True)
    finally:
        os.close(held)


def _hold(part: Path, target: Path) -> int:
    """Return a lock on a folder that we have made, and that nobody but us can look into or put something into.

    Others may write where backups go, as in `/tmp`: what they have laid there, such as a link, is not followed.
    """
    for _ in range(HOLD_ATTEMPTS):
        try:
            part.mkdir(mode=0o700, exist_ok=True)
            held = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EEXIST):
                raise _not_ours(part) from error
            raise
        try:
            if os.fstat(held).st_uid != os.geteuid():
                raise _not_ours(part)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before may have removed it since we opened it.
            if part.exists() and os.fstat(held).st_ino == part.lstat().st_ino:
                os.fchmod(held, 0o700)
                return held
        except BlockingIOError:
            os.close(held)
            break
        except BaseException:
            os.close(held)
            raise
        os.close(held)
    advice = "wait until that one has ended, or choose another name"
    raise UsageError("another backup writes this file", value=str(target), advice=advice)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _naming_a_full_disk(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        advice = "free space, or write to another disk; nothing was left there"
        raise Unavailable("disk of the backup is full", value=str(target), advice=advice) from error


def _not_ours(part: Path) -> UsageError:
    advice = "move it away, or choose another name"
    return UsageError("something else lies where the backup is put together", value=str(part), advice=advice)


def _exists(target: Path) -> UsageError:
    return UsageError(
        "backup exists already", value=str(target), advice="choose another name, or --force to replace it"
    )
