"""Refuses to open a store on a file system whose locks and shared memory other hosts do not see."""

from __future__ import annotations

from pathlib import Path

from gristmill.domain.errors import ConfigError

__all__ = ["NETWORK_FILESYSTEMS", "filesystem_of", "find_filesystem", "refuse_network_filesystem"]

NETWORK_FILESYSTEMS = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs"}
) | {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.juicefs"}

MOUNTS = Path("/proc/self/mountinfo")


def refuse_network_filesystem(path: Path) -> None:
    """Check the file system that a file lies on, or will lie on; does nothing where the system has no mount table.

    Raises:
        ConfigError: it is a network file system.
    """
    kind = find_filesystem(path)
    if kind in NETWORK_FILESYSTEMS:
        advice = "put the file on a disk of this host; on several hosts use PostgreSQL with Kafka or Redis"
        raise ConfigError(f"store {path} lies on a network file system", value=kind, advice=advice)


def find_filesystem(path: Path) -> str:
    """Return the type of the file system that holds a path, empty where the system has no mount table."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    return filesystem_of(path.resolve(), mounts)


def filesystem_of(path: Path, mountinfo: str) -> str:
    """Return the type of the file system that holds an absolute path, given the text of a mount table."""
    best_length, best_kind = -1, ""
    for line in mountinfo.splitlines():
        fields, _, tail = line.partition(" - ")
        words = fields.split(" ")
        if len(words) < 5 or not tail:
            continue
        # Spaces and the like are written in octal (\040).
        mount = Path(words[4].encode("utf-8", "surrogateescape").decode("unicode_escape"))
        # Later lines lie on top of earlier ones at the same place.
        if path.is_relative_to(mount) and len(mount.parts) >= best_length:
            best_length, best_kind = len(mount.parts), tail.split(" ")[0]
    return best_kind
