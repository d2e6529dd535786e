"""What a backup says of itself."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

__all__ = ["FORMAT", "KEPT_FOLDERS", "STORE_NAME", "BackupManifest", "FileEntry", "is_part_of_a_backup"]

FORMAT = 1
STORE_NAME = "gristmill.sqlite"
KEPT_FOLDERS = ("models", "inputs", "blobs", "archive")
"""Of a state folder, beside its store. Left out is what ends with the group: locks, sockets, counters and its log."""


class FileEntry(msgspec.Struct, frozen=True):
    """One file of a backup."""

    bytes: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Written last, so a backup that was cut off has none.

    Attributes:
        format: of the backup itself.
        gristmill: version that wrote it.
        counts: rows by what they are.
        files: by name, with `/` between folders.
    """

    format: int
    gristmill: str
    schema_version: int
    created_at_ms: int
    created_at: str
    counts: dict[str, int]
    files: dict[str, FileEntry]


def is_part_of_a_backup(name: str) -> bool:
    """Whether a file of this name may stand in a backup; no name leads out of the folder that it is unpacked into."""
    parts = PurePosixPath(name).parts
    if name == STORE_NAME:
        return True
    return len(parts) > 1 and parts[0] in KEPT_FOLDERS and ".." not in parts and "/".join(parts) == name
