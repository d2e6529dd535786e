"""The proxy does to a plain echo server what a network does, and nothing when nothing was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gristmill.testing.proxy import FaultProxy, LineFaults

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]

SILENCE_S = 0.15


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, FaultProxy(server.sockets[0].getsockname()[1]) as proxy:
        yield proxy


@asynccontextmanager
async def connected(proxy: FaultProxy) -> AsyncIterator[Ends]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def say(ends: Ends, data: bytes) -> float:
    """Send data, wait for its echo, and return how many seconds that took."""
    reader, writer = ends
    began = asyncio.get_running_loop().time()
    writer.write(data)
    await writer.drain()
    assert await reader.readexactly(len(data)) == data
    return asyncio.get_running_loop().time() - began


async def is_silent(ends: Ends) -> bool:
    """Whether a word gets no echo for a while, though the connection stands."""
    reader, writer = ends
    writer.write(b"anybody?")
    await writer.drain()
    try:
        async with asyncio.timeout(SILENCE_S):
            await reader.readexactly(8)
    except TimeoutError:
        return True
    return False


async def test_without_faults_every_byte_passes_both_ways_and_an_end_is_passed_on(proxy: FaultProxy) -> None:
    async with connected(proxy) as (reader, writer):
        data = bytes(range(256)) * 8_192
        await say((reader, writer), data)
        assert (proxy.connections[0].bytes_up, proxy.connections[0].bytes_down) == (len(data), len(data))
        writer.write_eof()
        assert await reader.read() == b""


async def test_latency_is_added_each_way_and_much_can_be_on_its_way_at_once(proxy: FaultProxy) -> None:
    late = LineFaults(latency_ms=100)
    proxy.set(up=late, down=late)
    async with connected(proxy) as ends:
        assert await say(ends, b"x") >= 0.2
        assert await say(ends, bytes(500_000)) < 2.0, "a chunk waits for itself, not for all before it"


async def test_jitter_adds_up_to_its_bound_and_keeps_the_order(proxy: FaultProxy) -> None:
    proxy.set(down=LineFaults(jitter_ms=60))
    async with connected(proxy) as ends:
        for number in range(5):
            await say(ends, b"%d" % number)
        await say(ends, bytes(range(256)) * 1_000)


async def test_bandwidth_is_bounded(proxy: FaultProxy) -> None:
    proxy.set(down=LineFaults(bytes_per_s=100_000))
    async with connected(proxy) as ends:
        assert await say(ends, bytes(30_000)) >= 0.25


async def test_a_connection_is_reset_after_so_many_bytes(proxy: FaultProxy) -> None:
    proxy.set(down=LineFaults(cut_after_bytes=1_000))
    async with connected(proxy) as (reader, writer):
        await say((reader, writer), bytes(999))
        writer.write(b"two")
        assert await reader.readexactly(1) == b"t"
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(1)


async def test_a_reset_breaks_one_connection_or_all(proxy: FaultProxy) -> None:
    async with connected(proxy) as one, connected(proxy) as two:
        await say(one, b"a")
        await say(two, b"b")
        proxy.connections[0].reset()
        with pytest.raises(ConnectionResetError):
            await one[0].readexactly(1)
        await say(two, b"c")
        assert proxy.reset() == 1
        with pytest.raises(ConnectionResetError):
            await two[0].readexactly(1)


async def test_a_half_open_line_passes_nothing_on_until_it_is_mended(proxy: FaultProxy) -> None:
    async with connected(proxy) as one, connected(proxy) as two:
        await say(one, b"a")
        await say(two, b"b")
        proxy.connections[0].set(up=LineFaults(is_stalled=True))
        assert await is_silent(one)
        assert not await is_silent(two)
        proxy.connections[0].set()
        assert await one[0].readexactly(8) == b"anybody?"


async def test_an_answer_can_be_held_back_alone(proxy: FaultProxy) -> None:
    async with connected(proxy) as ends:
        await say(ends, b"a")
        proxy.set(down=LineFaults(is_stalled=True))
        assert await is_silent(ends)
        assert proxy.connections[0].bytes_up == 9


async def test_a_black_hole_takes_connections_and_says_nothing(proxy: FaultProxy) -> None:
    await proxy.set_mode("blackhole")
    async with connected(proxy) as ends:
        assert await is_silent(ends)
    await proxy.set_mode("pass")
    async with connected(proxy) as ends:
        assert not await is_silent(ends)


async def test_a_refused_connection_is_refused_and_others_stay(proxy: FaultProxy) -> None:
    async with connected(proxy) as ends:
        await say(ends, b"a")
        await proxy.set_mode("refuse")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", proxy.port)
        await say(ends, b"b")
    await proxy.set_mode("pass")
    async with connected(proxy) as ends:
        await say(ends, b"c")


async def test_a_server_that_is_not_there_ends_the_connection() -> None:
    async with FaultProxy(1) as proxy, connected(proxy) as (reader, _):
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
