"""The state folder: what lies where in it, and the lock that keeps two groups from sharing it.

- `gristmill.sqlite`: log, state and cache; what is called `gristmill.sqlite-*` and `gristmill.sqlite.*` belongs to it
- `group.lock`: held for life by the group's main process
- `run/`: sockets, of no use once the group is gone
- `metrics/`: counters of the processes
- `inputs/`: what `gristmill run` was given, one file an input
- `blobs/`: oversize lines, whole
- `models/`: trained revisions, and which of them is active
- `archive/`: events of months that are over
- `replaced-<time>/`: what a restore has moved aside
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gristmill.domain.errors import ConfigError, Unavailable, UsageError

__all__ = ["FOLDER_MODE", "GroupLock", "StateFolder"]

FOLDER_MODE = 0o700
"""It holds all contents, and hashes of tokens. A folder that is there already keeps the mode that somebody chose."""

SOCKET_PATH_BYTES_MAX = 100
"""The kernel takes 107; a longer path gets its sockets in the system's folder for temporary files."""

HASH_BYTES = 8

FREE_BYTES_MIN = 1024 * 1024
"""With less than this on its disk, whatever fails in a state folder fails because of that."""


class StateFolder:
    """One installation's folder. Nothing is created before `prepare`."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.store_file = self.path / "gristmill.sqlite"
        self.run_dir = self.path / "run"
        self.owners_dir = self.path / "gristmill.sqlite.owners"
        self.metrics_dir = self.path / "metrics"
        self.inputs_dir = self.path / "inputs"
        self.blobs_dir = self.path / "blobs"
        self.models_dir = self.path / "models"
        self.archive_dir = self.path / "archive"
        self.restore_part_dir = self.path / ".restore.part"
        self.log_file = self.path / "gristmill.log"
        self.lock_file = self.path / "group.lock"

    @property
    def is_disk_full(self) -> bool:
        """Whether its disk has so little room that writers wait for more, or fail for the lack of it."""
        return shutil.disk_usage(self.path).free < FREE_BYTES_MIN

    @property
    def exists(self) -> bool:
        """Whether something was ever stored here."""
        return self.store_file.is_file()

    def prepare(self) -> None:
        """Create what is missing.

        Raises:
            ConfigError: the folder cannot be created or written, has a name that settings cannot hold, or a restore
                into it was killed, so that it seems to be empty.
        """
        if self.restore_part_dir.exists() and not self.exists:
            advice = "call `gristmill restore` again, with --force"
            raise ConfigError("a restore into the state folder has not ended", value=str(self.path), advice=advice)
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            raise ConfigError(
                "name of the state folder is not UTF-8", value=str(self.path), advice="rename it"
            ) from None
        try:
            self.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            for folder in (self.run_dir, self.metrics_dir):
                folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):
                pass
        except OSError as error:
            advice = f"{error.strerror or error}; choose another with --state DIR"
            raise ConfigError("state folder cannot be written", value=str(self.path), advice=advice) from error

    def require(self) -> None:
        """Refuse where nothing was ever stored.

        Raises:
            UsageError: there is no store in this folder.
        """
        if not self.exists:
            advice = "run something first, or name another folder with --state DIR"
            raise UsageError("state folder holds nothing", value=str(self.path), advice=advice)

    @contextmanager
    def naming_a_full_disk(self) -> Iterator[None]:
        """Say that the disk is full where a failure inside is only what comes of it; the log cannot tell it then.

        Raises:
            Unavailable: in place of the failure.
        """
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, Unavailable) as error:
            is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            if not is_full and not self.is_disk_full:
                raise
            advice = f"free space, then call again: nothing is lost, and it goes on where it stopped; {error}"
            raise Unavailable("disk of the state folder is full", value=str(self.path), advice=advice) from error

    def socket(self, name: str) -> Path:
        """Return the path of a socket of this folder, short enough for the kernel."""
        path = self.run_dir / f"{name}.sock"
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
            return path
        digest = hashlib.blake2b(os.fsencode(self.path), digest_size=HASH_BYTES).hexdigest()
        shared = Path(tempfile.gettempdir()) / f"gristmill-{os.getuid()}"
        shared.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if shared.is_symlink() or shared.stat().st_uid != os.getuid():
            advice = "name a state folder with a shorter path: --state DIR"
            raise ConfigError("folder for sockets belongs to somebody else", value=str(shared), advice=advice)
        return shared / f"{digest}-{name}.sock"


class GroupLock:
    """Held by the main process of the one group that may work on a state folder; freed with its death.

    Raises:
        UsageError: another group holds it.
    """

    def __init__(self, folder: StateFolder, *, purpose: str) -> None:
        self._descriptor = os.open(folder.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._descriptor, 200, 0).decode("utf-8", "replace").strip()
            self.close()
            advice = "wait until it has ended, stop it, or use another folder with --state DIR"
            thing = f"state folder is in use by {holder or 'another process'}"
            raise UsageError(thing, value=str(folder.path), advice=advice) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"process {os.getpid()} ({purpose})\n".encode(), 0)

    def close(self) -> None:
        """Let go; safe twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
