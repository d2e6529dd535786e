"""Both kinds of links keep the same promises: order, hello, the end of a connection, and coming back."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.domain.errors import Unavailable
from gristmill.domain.frame import EngineHello, Frame, FrameDone, RecordEnded, Stop
from gristmill.domain.log import Delivery, Diagnosis, Lease
from gristmill.engine.link import DispatcherLink, EngineLink, Joined, Left, LocalLink, Said
from gristmill.engine.link_socket import SocketDispatcherLink, SocketEngineLink

HELLO = EngineHello("e1", 64)
LEASE = Lease("posts", "G", 7, "e1", 3)
FRAME = Frame(1, "G", (Delivery(LEASE, b"\x00\xff" * 500_000, "k", {"h": "v"}, 1, 5),))
DONE = FrameDone(1, (RecordEnded(LEASE, accepted=False, diagnosis=Diagnosis("E", "text", ("p",), "t")),))


class Pair:
    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.path = folder / "link"
        self.local = LocalLink()
        self.server: DispatcherLink = self.local if kind == "local" else SocketDispatcherLink(self.path)

    def client(self) -> EngineLink:
        if self.kind == "local":
            return self.local.engine_side()
        return SocketEngineLink(self.path, SystemClock())


@pytest.fixture(params=["local", "socket"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    # A path of a Unix socket is short; the test's own folder may not be.
    with TemporaryDirectory(prefix="gm") as folder:
        made = Pair(request.param, Path(folder))
        yield made
        await made.server.close()


async def test_messages_pass_both_ways_in_order(pair: Pair) -> None:
    await pair.server.start()
    client = pair.client()
    await client.connect(HELLO)
    assert await pair.server.receive() == Joined(HELLO)
    await asyncio.gather(pair.server.send("e1", FRAME), pair.server.send("e1", Stop()), receive_both(client))
    await client.send(DONE)
    assert await pair.server.receive() == Said("e1", DONE)
    await client.close()
    await client.close()
    assert await pair.server.receive() == Left("e1")


async def receive_both(client: EngineLink) -> None:
    assert [await client.receive(), await client.receive()] == [FRAME, Stop()]


async def test_an_engine_that_is_not_connected_cannot_be_sent_to(pair: Pair) -> None:
    await pair.server.start()
    with pytest.raises(Unavailable):
        await pair.server.send("e1", Stop())


async def test_an_engine_learns_of_the_end_and_comes_back(pair: Pair) -> None:
    await pair.server.start()
    client = pair.client()
    await client.connect(HELLO)
    await pair.server.receive()
    await pair.server.close()
    await pair.server.close()
    assert await client.receive() is None
    await client.send(DONE)
    if pair.kind == "socket":
        pair.server = SocketDispatcherLink(pair.path)
    await pair.server.start()
    await client.connect(HELLO)
    while not isinstance(event := await pair.server.receive(), Joined):
        assert event == Left("e1")
    await client.close()


async def test_two_engines_are_told_apart(pair: Pair) -> None:
    await pair.server.start()
    first, second = pair.client(), pair.client()
    await first.connect(HELLO)
    assert await pair.server.receive() == Joined(HELLO)
    await second.connect(EngineHello("e2", 1))
    assert await pair.server.receive() == Joined(EngineHello("e2", 1))
    await pair.server.send("e2", Stop())
    assert await second.receive() == Stop()
    await first.close()
    assert await pair.server.receive() == Left("e1")
    await second.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="gm") as name:
        yield Path(name)


async def test_an_engine_waits_until_there_is_a_dispatcher(folder: Path) -> None:
    server, client = SocketDispatcherLink(folder / "link"), SocketEngineLink(folder / "link", SystemClock())
    connecting = asyncio.ensure_future(client.connect(HELLO))
    await asyncio.sleep(0)
    assert not connecting.done()
    await server.start()
    assert await server.receive() == Joined(HELLO)
    await connecting
    await client.close()
    await server.close()


async def test_a_socket_that_a_dead_dispatcher_left_is_taken_over(folder: Path) -> None:
    (folder / "link").write_text("stale")
    server = SocketDispatcherLink(folder / "link")
    await server.start()
    assert (folder / "link").stat().st_mode & 0o777 == 0o600
    await server.close()


@pytest.mark.parametrize(
    "said",
    [
        b"\xff\xff\xff\xff",
        struct.pack("<I", 3) + b"\xc1\xc1\xc1",
        struct.pack("<I", 11) + b"\x81\xa4type\xa4stop",
        struct.pack("<I", 100) + b"cut short",
    ],
)
async def test_whoever_says_what_cannot_be_understood_is_cut_off(folder: Path, said: bytes) -> None:
    server = SocketDispatcherLink(folder / "link")
    await server.start()
    reader, writer = await asyncio.open_unix_connection(folder / "link")
    writer.write(said)
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()
    client = SocketEngineLink(folder / "link", SystemClock())
    await client.connect(HELLO)
    assert await server.receive() == Joined(HELLO)
    await client.close()
    await server.close()


async def test_a_second_engine_of_the_same_name_is_refused(folder: Path) -> None:
    server = SocketDispatcherLink(folder / "link")
    await server.start()
    first, second = (SocketEngineLink(folder / "link", SystemClock()) for _ in range(2))
    await first.connect(HELLO)
    assert await server.receive() == Joined(HELLO)
    await second.connect(HELLO)
    assert await second.receive() is None
    await server.send("e1", Stop())
    assert await first.receive() == Stop()
    for link in (first, second):
        await link.close()
    await server.close()


async def test_a_dispatcher_that_says_what_cannot_be_understood_is_left(folder: Path) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(struct.pack("<I", 1) + b"\xc1")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(babble, folder / "link")
    client = SocketEngineLink(folder / "link", SystemClock())
    await client.connect(HELLO)
    assert await client.receive() is None
    await client.close()
    assert await client.receive() is None
    await client.send(DONE)
    server.close()


async def test_sending_to_an_engine_that_has_just_gone_says_so(folder: Path) -> None:
    server = SocketDispatcherLink(folder / "link")
    await server.start()
    client = SocketEngineLink(folder / "link", SystemClock())
    await client.connect(HELLO)
    await server.receive()
    await client.close()
    with pytest.raises(Unavailable):
        await send_on_and_on(server)
    await server.close()


async def send_on_and_on(server: SocketDispatcherLink) -> None:
    for _ in range(100):
        await server.send("e1", FRAME)
