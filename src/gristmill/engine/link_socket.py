"""Links over a Unix socket, for dispatcher and engines in processes of their own.

Layout: each message is four bytes, its length in little-endian order, and that many bytes of MessagePack. The first
message of an engine is its hello. Whatever cannot be read ends the connection: the other side is broken, or of another
version.
"""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from gristmill.domain.errors import DataError, Unavailable
from gristmill.domain.frame import EngineHello, FromEngine, ToEngine
from gristmill.engine.core.backoff import Backoff
from gristmill.engine.link import Joined, Left, LinkEvent, Said
from gristmill.ports.clock import Clock

__all__ = ["SocketDispatcherLink", "SocketEngineLink"]

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""A frame holds 4 MiB of payload or one record of at most 8 MiB; anything near this is no message."""

BUFFER_BYTES = 1024 * 1024

CONNECT_MS_MIN = 50
CONNECT_MS_MAX = 1_000

_LENGTH = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()
_from_engine: msgspec.msgpack.Decoder[FromEngine] = msgspec.msgpack.Decoder(FromEngine)
_to_engine: msgspec.msgpack.Decoder[ToEngine] = msgspec.msgpack.Decoder(ToEngine)

_log = structlog.get_logger()


class SocketDispatcherLink:
    """The dispatcher's side: listens at `path`, which is made anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._server: asyncio.Server | None = None
        # No bound of its own: engines say one thing for each record that they were given.
        self._events: asyncio.Queue[LinkEvent] = asyncio.Queue()
        self._engines: dict[str, asyncio.StreamWriter] = {}
        self._readers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Take connections from now on."""
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self._path, limit=BUFFER_BYTES)
        self._path.chmod(0o600)

    async def receive(self) -> LinkEvent:
        """Wait for the next event of any engine."""
        return await self._events.get()

    async def send(self, engine: str, message: ToEngine) -> None:
        """Hand a message to an engine; waits while the engine is slow to take it."""
        writer = self._engines.get(engine)
        if writer is None:
            raise Unavailable("engine is not connected", value=engine)
        try:
            await _write(writer, message)
        except ConnectionError as error:
            raise Unavailable("engine is gone", value=engine) from error

    async def close(self) -> None:
        """End every connection; safe twice."""
        if self._server is None:
            return
        self._server.close()
        for task in self._readers:
            task.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._server = None
        self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._readers.add(task)
            task.add_done_callback(self._readers.discard)
        try:
            await self._listen(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        except (msgspec.MsgspecError, DataError) as error:
            _log.warning("engine is not understood", error=str(error))
        except asyncio.CancelledError:
            # We are closing. To let it through would only have the stream's own callback complain.
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = _from_engine.decode(await _read(reader))
        if not isinstance(hello, EngineHello):
            raise DataError("first message of an engine is not its hello", value=type(hello).__name__)
        if hello.owner in self._engines:
            raise DataError("two engines have one owner name", value=hello.owner)
        self._engines[hello.owner] = writer
        try:
            self._events.put_nowait(Joined(hello))
            while True:
                self._events.put_nowait(Said(hello.owner, _from_engine.decode(await _read(reader))))
        finally:
            del self._engines[hello.owner]
            self._events.put_nowait(Left(hello.owner))


class SocketEngineLink:
    """An engine's side: connects to the dispatcher at `path`, again and again if need be."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def connect(self, hello: EngineHello) -> None:
        """Connect and say hello; waits with back-off until there is a dispatcher."""
        backoff = Backoff(min_ms=CONNECT_MS_MIN, max_ms=CONNECT_MS_MAX)
        while True:
            await self.close()
            try:
                self._reader, self._writer = await asyncio.open_unix_connection(self._path, limit=BUFFER_BYTES)
                await _write(self._writer, hello)
                return
            except OSError:
                await self._clock.sleep_ms(backoff.on_failure(now_ms=self._clock.now_ms()))

    async def receive(self) -> ToEngine | None:
        """Wait for the next message; None when the connection has ended."""
        if self._reader is None:
            return None
        try:
            return _to_engine.decode(await _read(self._reader))
        except (OSError, asyncio.IncompleteReadError):
            return None
        except (msgspec.MsgspecError, DataError) as error:
            _log.warning("dispatcher is not understood", error=str(error))
            return None

    async def send(self, message: FromEngine) -> None:
        """Hand a message to the dispatcher; dropped without a word when the connection has ended."""
        if self._writer is not None:
            with suppress(ConnectionError):
                await _write(self._writer, message)

    async def close(self) -> None:
        """End the connection; safe twice."""
        writer, self._writer, self._reader = self._writer, None, None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _write(writer: asyncio.StreamWriter, message: ToEngine | FromEngine) -> None:
    body = _encoder.encode(message)
    writer.write(_LENGTH.pack(len(body)) + body)
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > MESSAGE_BYTES_MAX:
        raise DataError("message is too long", value=length)
    return await reader.readexactly(length)
