"""Whoever sends slowly or too much gets no place and no memory, whichever request of a connection it is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from gristmill.runtime.faces import web
from gristmill.runtime.faces.web import WebServer, bind

TIMEOUT_S = 0.2
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
ANSWER_BYTES_MAX = 200

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/slow":
        await asyncio.sleep(2 * TIMEOUT_S)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(web, "HEAD_TIMEOUT_S", TIMEOUT_S)
    bound = bind("api", "127.0.0.1", 0)
    server = WebServer(answer, bound)
    await server.start()
    yield bound.getsockname()[1]
    await server.stop()


async def ask(port: int, request: bytes) -> Opened:
    """Send a first request, and return the connection once it is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    assert (await reader.read(ANSWER_BYTES_MAX)).startswith(b"HTTP/1.1 200")
    return reader, writer


async def is_closed_while(opened: Opened, parts: list[bytes]) -> bool:
    """Send parts, four in the time that a head may take, and say whether the server has closed meanwhile."""
    reader, writer = opened
    for part in parts:
        writer.write(part)
        await asyncio.sleep(TIMEOUT_S / 4)
        if reader.at_eof():
            break
    writer.close()
    return reader.at_eof()


async def test_a_later_head_has_no_more_time_than_the_first(port: int) -> None:
    opened = await ask(port, REQUEST)
    assert await is_closed_while(opened, [b"GET / HTTP/1.1\r\nX: ", *[b"a"] * 11])
    opened = await ask(port, REQUEST)
    assert await is_closed_while(opened, [b"\r\n"] * 12)


async def test_a_body_that_nobody_waits_for_keeps_no_connection(port: int) -> None:
    opened = await ask(port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
    assert await is_closed_while(opened, [b"a"] * 12)


async def test_an_answer_may_take_longer_than_a_head(port: int) -> None:
    reader, writer = await ask(port, REQUEST)
    writer.write(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n" * 2)
    for _ in range(2):
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
    writer.close()


async def test_trailers_are_bounded_and_kept_by_nobody(port: int) -> None:
    reader, writer = await ask(port, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    line = b"X: " + b"a" * 8_000 + b"\r\n"
    for _ in range(2 * web.HEAD_BYTES_MAX // len(line)):
        writer.write(line)
        await asyncio.sleep(0)
    with suppress(ConnectionError):
        assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()


async def test_a_body_may_be_as_long_as_it_likes_and_come_in_chunks(port: int) -> None:
    chunk = b"2000\r\n" + b"a" * 0x2000 + b"\r\n"
    head = b"POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    reader, writer = await ask(port, head + chunk * 20 + b"0\r\n\r\n")
    writer.write(REQUEST)
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
    writer.close()
