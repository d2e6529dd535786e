"""A TCP proxy on the loopback that does on demand what networks do: slowness, cuts, resets, silence.

Each connection has two lines, `up` to the server and `down` to the client, and each line its faults. Faults are set
for all connections, those to come among them, or for one; whatever is on its way follows them from then on.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self

import msgspec

__all__ = ["Connection", "FaultProxy", "LineFaults", "Mode"]

Mode = Literal["pass", "blackhole", "refuse"]
"""What becomes of new connections. `blackhole`: they are taken, and nothing ever comes; `refuse`: nobody listens."""

CHUNK_BYTES = 16_384
CHUNKS_MAX = 256
"""Most of what is on its way in one line at once (4 MiB); beyond it the sender has to wait."""

TICKS_PER_S = 20
"""A line with a bandwidth passes on so many pieces a second."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time at all: the close is a reset, and what was not sent is gone."""


class LineFaults(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one line.

    Attributes:
        latency_ms: every byte takes so long.
        jitter_ms: and up to this much more, drawn for each chunk; the order stays.
        bytes_per_s: bandwidth, None for all there is.
        cut_after_bytes: with this many bytes passed on in all, the connection is reset; None for never.
        is_stalled: nothing is passed on, and nobody is told: the line is half-open.
    """

    latency_ms: int = 0
    jitter_ms: int = 0
    bytes_per_s: int | None = None
    cut_after_bytes: int | None = None
    is_stalled: bool = False


SOUND = LineFaults()


class FaultProxy:
    """Passes connections on to a port of this host; an asynchronous context manager.

    Args:
        target_port: where the server listens.
        seed: of what jitter draws.
    """

    def __init__(self, target_port: int, *, seed: int = 1) -> None:
        self.port = 0
        self.connections: list[Connection] = []
        """Those that are open, oldest first."""
        self.up = self.down = SOUND
        self.mode: Mode = "pass"
        self._target_port = target_port
        self._chance = random.Random(seed)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._hang_up()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def set(self, *, up: LineFaults = SOUND, down: LineFaults = SOUND) -> None:
        """Set the faults of all lines, present and to come."""
        self.up, self.down = up, down
        for connection in self.connections:
            connection.set(up=up, down=down)

    async def set_mode(self, mode: Mode) -> None:
        """Say what becomes of new connections. Present ones stay as they are."""
        self.mode = mode
        if mode == "refuse":
            await self._hang_up()
        elif self._server is None:
            await self._listen()

    def reset(self) -> int:
        """Reset every connection; return how many there were."""
        count = len(self.connections)
        for connection in list(self.connections):
            connection.reset()
        return count

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _hang_up(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        connection = Connection(reader, writer, chance=self._chance)
        connection.set(up=self.up, down=self.down)
        self.connections.append(connection)
        try:
            if self.mode == "blackhole":
                await connection.swallow()
            else:
                await connection.pass_on(self._target_port)
        except asyncio.CancelledError:
            # We are closing. To let it through would only have the stream's own callback complain.
            pass
        finally:
            self.connections.remove(connection)
            connection.reset()


class Connection:
    """One client and, unless it was swallowed, the server's end of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, chance: random.Random) -> None:
        self.bytes_up = self.bytes_down = 0
        """What was passed on so far."""
        self._reader = reader
        self._ends = [writer]
        self._chance = chance
        self._lines: dict[str, LineFaults] = {"up": SOUND, "down": SOUND}
        self._changed = asyncio.Event()

    def set(self, *, up: LineFaults = SOUND, down: LineFaults = SOUND) -> None:
        """Set the faults of both lines."""
        self._lines = {"up": up, "down": down}
        self._changed.set()

    def reset(self) -> None:
        """Break the connection for both ends, as a reset: what is on its way is gone."""
        for end in self._ends:
            with suppress(OSError):
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.transport.abort()

    async def swallow(self) -> None:
        """Take what comes and answer nothing, until the client has had enough."""
        with suppress(OSError):
            while await self._reader.read(CHUNK_BYTES):
                pass

    async def pass_on(self, port: int) -> None:
        """Connect to the server and pass on what comes, both ways, until both have said all or one is broken."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return
        self._ends.append(writer)
        try:
            async with asyncio.TaskGroup() as lines:
                lines.create_task(self._run("up", self._reader, writer))
                lines.create_task(self._run("down", reader, self._ends[0]))
        except* (OSError, _CutError):
            pass

    async def _run(self, line: Literal["up", "down"], reader: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        on_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(CHUNKS_MAX)
        async with asyncio.TaskGroup() as ends:
            ends.create_task(self._read(line, reader, on_way))
            ends.create_task(self._write(line, on_way, sink))

    async def _read(
        self, line: Literal["up", "down"], reader: asyncio.StreamReader, on_way: asyncio.Queue[tuple[float, bytes]]
    ) -> None:
        now = asyncio.get_running_loop().time
        while True:
            data = await reader.read(CHUNK_BYTES)
            faults = self._lines[line]
            late_ms = faults.latency_ms + (self._chance.randrange(faults.jitter_ms + 1) if faults.jitter_ms else 0)
            await on_way.put((now() + late_ms / 1_000, data))
            if not data:
                return

    async def _write(
        self, line: Literal["up", "down"], on_way: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter
    ) -> None:
        now = asyncio.get_running_loop().time
        while True:
            due_at, data = await on_way.get()
            await asyncio.sleep(max(0.0, due_at - now()))
            if not data:
                await self._wait_while_stalled(line)
                sink.write_eof()
                return
            while data:
                await self._wait_while_stalled(line)
                faults = self._lines[line]
                rate = faults.bytes_per_s
                piece = data[: max(1, rate // TICKS_PER_S)] if rate else data
                data = data[len(piece) :]
                await self._send(line, piece, faults, sink)
                if rate:
                    await asyncio.sleep(len(piece) / rate)

    async def _send(
        self, line: Literal["up", "down"], piece: bytes, faults: LineFaults, sink: asyncio.StreamWriter
    ) -> None:
        passed = self.bytes_up if line == "up" else self.bytes_down
        if faults.cut_after_bytes is not None:
            piece = piece[: max(0, faults.cut_after_bytes - passed)]
        if piece:
            sink.write(piece)
            await sink.drain()
        if line == "up":
            self.bytes_up += len(piece)
        else:
            self.bytes_down += len(piece)
        if faults.cut_after_bytes is not None and passed + len(piece) >= faults.cut_after_bytes:
            raise _CutError

    async def _wait_while_stalled(self, line: Literal["up", "down"]) -> None:
        while self._lines[line].is_stalled:
            self._changed.clear()
            await self._changed.wait()


class _CutError(Exception):
    """The line has passed on all that it was to."""
