"""A TCP proxy on the loopback that cuts, stalls and mutes connections: what networks do, on demand."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress

__all__ = ["CutProxy"]

CHUNK_BYTES = 65_536
LOOK_S = 0.05


class CutProxy:
    """Passes bytes on to a port of this host until it is told otherwise; every method may be called from any thread."""

    def __init__(self, port: int) -> None:
        self._target_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._is_stalled = False
        self._is_muted = False
        threading.Thread(target=self._accept, daemon=True, name="cut-proxy").start()

    def cut(self) -> int:
        """Break every connection; return how many there were. New ones are taken."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        return len(pairs)

    def stall(self, *, is_stalled: bool) -> None:
        """Pass nothing on and keep connections open, as a network does that has lost its way."""
        self._is_stalled = is_stalled

    def mute(self, *, is_muted: bool) -> None:
        """Pass requests on and swallow the answers."""
        self._is_muted = is_muted

    def close(self) -> None:
        """Break everything and take nothing new."""
        self._stopped.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target_port), timeout=1.0)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._pairs.append((client, server))
            threading.Thread(target=self._pump, args=(client, server), daemon=True, name="cut-proxy-pair").start()

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(OSError):
            while not self._stopped.is_set():
                if self._is_stalled:
                    self._stopped.wait(LOOK_S)
                    continue
                for source in select.select([client, server], [], [], LOOK_S)[0]:
                    data = source.recv(CHUNK_BYTES)
                    if not data:
                        return
                    if source is client:
                        server.sendall(data)
                    elif not self._is_muted:
                        client.sendall(data)
