"""Wakes the other processes of a host: each has a datagram socket in one folder, a ring goes to every other socket.

A ring names topics, one a line; an empty one means any topic. Rings may be lost (a full queue, a process that starts
just now), so whoever waits also looks once a second. A socket nobody listens to any more is removed by the next ring.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["Doorbell"]

ADDRESS_BYTES_MAX = 100
"""Addresses of Unix sockets hold 104 to 108 bytes, the closing zero included."""

RING_BYTES_MAX = 8_192
RINGS_PER_WAKE_MAX = 64
QUEUE_MIN = 10
"""Shortest queue of datagrams on any Linux; when this many are waiting, some may have been lost."""


class Doorbell:
    """The socket of one process. `ring` may be called from any thread; `listen` belongs to one event loop."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._path = folder / f"{os.getpid()}-{os.urandom(6).hex()}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(self._address(self._path.name))
        self._loop: asyncio.AbstractEventLoop | None = None

    def ring(self, topics: Iterable[str] = ()) -> None:
        """Tell every other process that the topics may have claimable records; never blocks, never fails."""
        message = "\n".join(topics).encode("utf-8", "surrogatepass")
        if len(message) > RING_BYTES_MAX:
            message = b""
        for name in os.listdir(self._folder):
            if name != self._path.name:
                self._send(message, name)

    def listen(self, on_ring: Callable[[list[str]], None]) -> None:
        """Call back in the running loop with the topics of each ring, an empty list for any; again does nothing."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._stop_listening()
            self._loop = loop
            loop.add_reader(self._socket.fileno(), self._receive, on_ring)

    def close(self) -> None:
        """Remove the socket; safe to call twice."""
        if self._socket.fileno() < 0:
            return
        self._stop_listening()
        self._socket.close()
        self._path.unlink(missing_ok=True)
        os.close(self._folder)

    def _stop_listening(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket.fileno())
        self._loop = None

    def _send(self, message: bytes, name: str) -> None:
        try:
            self._socket.sendto(message, self._address(name))
        except BlockingIOError:
            return  # Its queue is full, so it is about to look anyway.
        except ConnectionRefusedError:
            (self._path.parent / name).unlink(missing_ok=True)
        except OSError:
            return

    def _receive(self, on_ring: Callable[[list[str]], None]) -> None:
        topics: set[str] = set()
        is_any, count = False, 0
        while count < RINGS_PER_WAKE_MAX:
            try:
                message = self._socket.recv(RING_BYTES_MAX)
            except OSError:
                break
            count += 1
            is_any = is_any or not message
            topics.update(message.decode("utf-8", "surrogatepass").split("\n"))
        on_ring([] if is_any or count >= QUEUE_MIN else sorted(topics))

    def _address(self, name: str) -> str:
        address = str(self._path.parent / name)
        if len(os.fsencode(address)) <= ADDRESS_BYTES_MAX:
            return address
        # The folder's descriptor is a short name for a deep folder; where that does not exist, rings are lost.
        return f"/proc/self/fd/{self._folder}/{name}"
