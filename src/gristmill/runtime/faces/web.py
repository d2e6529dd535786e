"""Serves an application over HTTP in the loop that is already running; signals stay with whoever runs that loop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gristmill.domain.errors import ConfigError

__all__ = ["WebServer", "bind", "is_loopback"]

HEAD_BYTES_MAX = 64 * 1024
HEAD_TIMEOUT_S = 30.0
"""A client that has not sent its whole head by then holds a connection for nothing."""

KEEP_ALIVE_S = 30
CONNECTIONS_MAX = 1_000
"""More get 503 at once, before anything of theirs is held."""

STOP_S = 5
BACKLOG = 1_024
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

_log = structlog.get_logger()


def bind(section: str, host: str, port: int) -> socket.socket:
    """Return a socket that is bound already, so that a port in use is found out before anything starts.

    Raises:
        ConfigError: the address is none of ours, or in use.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, number)
    except OSError as error:
        raise ConfigError(f"{section}.host", value=host, advice=str(error)) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.setblocking(False)
    except OSError as error:
        bound.close()
        advice = f"{error.strerror}; set {section}.port to another, or to 0 for any that is free"
        raise ConfigError(f"{section}.port cannot be listened on", value=f"{host}:{port}", advice=advice) from error
    return bound


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine reaches a socket."""
    host = str(bound.getsockname()[0])
    return host == "::1" or host.startswith("127.")


class WebServer:
    """One service; `start` and `stop` are safe to call twice."""

    def __init__(self, app: Any, bound: socket.socket) -> None:
        self._bound = bound
        self._server = _Server(
            uvicorn.Config(
                app,
                http=_BoundedProtocol,
                ws="none",
                loop="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=STOP_S,
                limit_concurrency=CONNECTIONS_MAX,
                backlog=BACKLOG,
            )
        )
        self._main: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        host, port = self._bound.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def start(self) -> None:
        """Begin to answer."""
        if self._main is None:
            _divert_logs()
            # From here on connections wait instead of being refused, whenever the server gets to them.
            self._bound.listen(BACKLOG)
            self._main = asyncio.create_task(self._server.serve([self._bound]), name="web")

    async def join(self) -> None:
        """Return when it has stopped; raise what ended it otherwise."""
        if self._main is not None:
            await asyncio.wait([self._main])
            self._main.result()

    async def stop(self) -> None:
        """Take no new request, finish those under way within five seconds, and close the socket."""
        main, self._main = self._main, None
        if main is not None:
            self._server.should_exit = True
            await asyncio.wait([main])
        self._bound.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The main process has one place that reacts to signals, and it drains first.
        yield


class _BoundedProtocol(HttpToolsProtocol):
    """Closes connections that send too much or too slowly: the parser itself would keep any number of bytes.

    The time for a head runs from the start of the connection, and again from each answer, whatever comes meanwhile.
    """

    _loose_bytes = 0
    """Since the last part of a body, or the beginning of a request: a head, or what nobody asked for behind a body."""

    _is_in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._loose_bytes += len(data)
        if self._loose_bytes > HEAD_BYTES_MAX + len(data):
            if self._is_in_head:
                self.transport.write(TOO_LARGE)
            self.transport.close()
            return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._is_in_head, self._loose_bytes = True, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes behind a body would be kept with the head, and nobody reads it.
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._deadline.cancel()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._loose_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Otherwise the next request is here already, and being answered.
        if self.cycle.response_complete:
            self._deadline.cancel()
            self._await_head()

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._on_deadline)

    def _on_deadline(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class _ToStructlog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        _log.warning("web server", text=record.getMessage(), exc_info=record.exc_info)


def _divert_logs() -> None:
    """Have what the server logs by itself come out as our lines; a broken request is no event worth one."""
    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [_ToStructlog()], False
    logger.setLevel(logging.ERROR)
