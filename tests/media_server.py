"""A web server on loopback that answers byte for byte what a test tells it to."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType

__all__ = ["MediaServer", "answer"]


def answer(body: bytes = b"", *, status: str = "200 OK", headers: str = "") -> bytes:
    """Return a whole HTTP answer."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


class MediaServer:
    """Answers `routes`, path -> answers in turn, the last one again and again; an empty one is silence.

    Attributes:
        asked: paths in the order in which they were asked for.
        heads: the whole head of each request.
    """

    def __init__(self, routes: dict[str, list[bytes]] | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self.routes = routes or {}
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.port = 0
        self._tls = tls
        self._server: asyncio.Server | None = None

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.authority}{path}"

    async def __aenter__(self) -> MediaServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1]
            self.asked.append(path)
            self.heads.append(head)
            answers = self.routes.get(path) or [answer(status="404 Not Found")]
            said = answers.pop(0) if len(answers) > 1 else answers[0]
            writer.write(said)
            await writer.drain()
            if not said:
                await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass  # The client went away, which some tests want.
        finally:
            writer.close()
