"""The file that a backup is: a plain tar, which any tool can list and unpack.

    gristmill-backup.txt    says what it is, and how it is restored
    gristmill.sqlite        the store at one moment, whole by itself
    models/ inputs/ ...     the other files of the state folder
    manifest.json           schema, time, counts, and the SHA-256 of every file above; its own stands in its tar header

The manifest comes last: a file that was cut off has none.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from gristmill.domain.errors import DataError
from gristmill.runtime.backup.manifest import FORMAT, BackupManifest, FileEntry, is_part_of_a_backup

__all__ = ["BackupReader", "BackupWriter", "open_backup"]

FIRST_NAME = "gristmill-backup.txt"
FIRST_TEXT = b"A backup of Gristmill. To go on with it: gristmill restore --from THIS_FILE --state FOLDER\n"
MANIFEST_NAME = "manifest.json"
HASH_HEADER = "comment"
"""A keyword that other tools know and pass over."""
OWNER_ONLY = 0o600
CHUNK_BYTES = 1024 * 1024
MANIFEST_BYTES_MAX = 64 * 1024 * 1024

OnBytes = Callable[[int], None]


class BackupWriter:
    """Writes a backup into an open file."""

    def __init__(self, file: IO[bytes], *, at_ms: int) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._at_ms = at_ms
        self.files: dict[str, FileEntry] = {}
        self._add_bytes(FIRST_NAME, FIRST_TEXT)

    def add(self, name: str, path: Path, *, on_bytes: OnBytes) -> None:
        """Add a file."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            reading = _Hashing(file, on_bytes)
            self._tar.addfile(self._describe(name, size), reading)  # type: ignore[arg-type]
        self.files[name] = FileEntry(size, reading.digest.hexdigest())

    def close(self, manifest: BackupManifest) -> None:
        """Add the manifest and end the file."""
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
        self._add_bytes(MANIFEST_NAME, content, {HASH_HEADER: hashlib.sha256(content).hexdigest()})
        self._tar.close()

    def _add_bytes(self, name: str, content: bytes, headers: dict[str, str] | None = None) -> None:
        entry = self._describe(name, len(content))
        entry.pax_headers = headers or {}
        self._tar.addfile(entry, io.BytesIO(content))

    def _describe(self, name: str, size: int) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mtime, entry.mode = size, self._at_ms // 1000, OWNER_ONLY
        return entry


class BackupReader:
    """A backup whose manifest was read and is in order; see `open_backup`."""

    def __init__(self, path: Path, tar: tarfile.TarFile, manifest: BackupManifest) -> None:
        self._path = path
        self._tar = tar
        self.manifest = manifest

    def unpack(self, folder: Path, *, on_bytes: OnBytes) -> None:
        """Write every file below a folder, synced, and check that each is what the manifest says.

        Raises:
            DataError: a file is missing, too many, or differs.
        """
        missing = dict(self.manifest.files)
        for entry in self._members():
            if entry.name in (FIRST_NAME, MANIFEST_NAME):
                continue
            expected = missing.pop(entry.name, None)
            if expected is None or not _is_plain(entry) or not is_part_of_a_backup(entry.name):
                raise _damaged(self._path, f"{entry.name} does not belong into it")
            # Its size first: nothing longer than was said may fill the disk.
            is_same = entry.size == expected.bytes and self._unpack_one(entry, folder, on_bytes) == expected
            if not is_same:
                raise _damaged(self._path, f"{entry.name} is not what was backed up")
        if missing:
            raise _damaged(self._path, f"{min(missing)} is missing")

    def _members(self) -> Iterator[tarfile.TarInfo]:
        try:
            yield from self._tar.getmembers()
        except (tarfile.TarError, OSError, EOFError) as error:
            raise _damaged(self._path, str(error)) from error

    def _unpack_one(self, entry: tarfile.TarInfo, folder: Path, on_bytes: OnBytes) -> FileEntry:
        path, digest, size = folder / entry.name, hashlib.sha256(), 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWNER_ONLY)
        except (FileExistsError, NotADirectoryError, ValueError) as error:
            raise _damaged(self._path, f"{entry.name!r} is no name of a file in it") from error
        with os.fdopen(descriptor, "wb") as file:
            for chunk in _read_chunks(self._tar, entry, self._path):
                digest.update(chunk)
                size += file.write(chunk)
                on_bytes(len(chunk))
            file.flush()
            os.fsync(file.fileno())
        return FileEntry(size, digest.hexdigest())


@contextmanager
def open_backup(path: Path) -> Iterator[BackupReader]:
    """Open a backup and read its manifest.

    Raises:
        DataError: it is no backup of Gristmill, a damaged one, or one of a newer format.
        FileNotFoundError and other OSErrors: it cannot be read.
    """
    with path.open("rb") as file:
        try:
            tar = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115
            first = tar.next()
        except (tarfile.TarError, EOFError) as error:
            raise _foreign(path) from error
        if first is None or first.name != FIRST_NAME:
            raise _foreign(path)
        with tar:
            yield BackupReader(path, tar, _read_manifest(path, tar))


def _read_manifest(path: Path, tar: tarfile.TarFile) -> BackupManifest:
    try:
        last = tar.getmembers()[-1]
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _damaged(path, str(error)) from error
    if last.name != MANIFEST_NAME or last.size > MANIFEST_BYTES_MAX:
        raise _damaged(path, "it is cut off: its end is missing")
    content = b"".join(_read_chunks(tar, last, path))
    if hashlib.sha256(content).hexdigest() != last.pax_headers.get(HASH_HEADER):
        raise _damaged(path, "its manifest was changed")
    try:
        found = msgspec.json.decode(content, type=dict[str, object]).get("format")
        if found != FORMAT:
            advice = "restore it with the Gristmill that wrote it, or a newer one"
            raise DataError(f"backup {path} has another format than {FORMAT}", value=found, advice=advice)
        return msgspec.json.decode(content, type=BackupManifest)
    except msgspec.MsgspecError as error:
        raise _damaged(path, str(error)) from error


def _read_chunks(tar: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> Iterator[bytes]:
    try:
        file = tar.extractfile(entry)
        while file is not None and (chunk := file.read(CHUNK_BYTES)):
            yield chunk
    except (tarfile.TarError, EOFError) as error:
        raise _damaged(path, str(error)) from error


def _is_plain(entry: tarfile.TarInfo) -> bool:
    """Whether it is a file with all its bytes: a sparse one says of some that they are zero, for any number of them."""
    return entry.isreg() and not entry.issparse()


class _Hashing:
    """A file as tarfile reads it, hashed on the way."""

    def __init__(self, file: IO[bytes], on_bytes: OnBytes) -> None:
        self._file = file
        self._on_bytes = on_bytes
        self.digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        chunk = self._file.read(size)
        self.digest.update(chunk)
        self._on_bytes(len(chunk))
        return chunk


def _foreign(path: Path) -> DataError:
    return DataError("file is no backup of Gristmill", value=str(path), advice="name one that `gristmill backup` wrote")


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"backup {path} is damaged", value=what, advice="use another backup; nothing was changed")
