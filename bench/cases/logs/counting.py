"""What an idle log asks for: requests to a Kafka broker, statements of SQLite."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

__all__ = ["RequestCounter", "counting_statements"]

LENGTH = struct.Struct(">i")


class RequestCounter:
    """A proxy on the loopback in front of a Kafka broker that counts requests: each says how long it is, then comes."""

    def __init__(self, port: int) -> None:
        self.count = 0
        self._target_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target_port))
                threading.Thread(target=self._pass_requests, args=(client, server), daemon=True).start()
                threading.Thread(target=_pass_answers, args=(server, client), daemon=True).start()

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as reader:
            while len(head := reader.read(LENGTH.size)) == LENGTH.size:
                self.count += 1
                server.sendall(head + reader.read(LENGTH.unpack(head)[0]))
        server.close()


@contextmanager
def counting_statements() -> Iterator[list[int]]:
    """Count, in the one entry of the list, the statements of all connections that are opened meanwhile."""
    counted = [0]

    def note(event: object) -> None:
        counted[0] += 1

    def trace(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)

    apsw.connection_hooks.append(trace)
    try:
        yield counted
    finally:
        apsw.connection_hooks.remove(trace)


def _pass_answers(server: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while data := server.recv(65_536):
            client.sendall(data)
    client.close()
