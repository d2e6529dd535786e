"""A client whose connection breaks in the middle of a publish tries again with the same key: there is one item."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gristmill.testing.proxy import Connection, FaultProxy, LineFaults
from tests.commands import wait_until
from tests.e2e.test_http import Service, serving

BODY = {"id": "cut-1", "text": "a post that was cut " + "and cut again " * 200}


async def send(service: Service, port: int, *, key: str) -> bytes:
    """Publish over a port and return the answer as far as it comes."""
    body = json.dumps(BODY).encode()
    head = (
        f"POST /v1/items HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.token}\r\n"
        f"Content-Type: application/json\r\nIdempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head.encode() + body)
        await writer.drain()
        return await reader.read()
    except OSError:
        return b""
    finally:
        writer.close()


async def send_and_lose_the_answer(service: Service, proxy: FaultProxy, *, key: str) -> Connection:
    """Publish, have the answer held back until the item is there, and then break the connection."""
    proxy.set(down=LineFaults(is_stalled=True))
    sending = asyncio.create_task(send(service, proxy.port, key=key))
    await asyncio.to_thread(wait_until, lambda: count_items(service) == 1, "the item is there")
    (connection,) = proxy.connections
    proxy.reset()
    assert await sending == b""
    return connection


def count_items(service: Service) -> int:
    """How many items the group shows."""
    status, listed = service.call("GET", "/v1/items?limit=10")
    assert status == 200
    return len(listed["items"])


@pytest.mark.slow
async def test_P3_a_publish_that_was_cut_and_repeated_with_its_key_gives_one_item(tmp_path: Path) -> None:
    with serving(tmp_path / "state") as service:
        wait_until(service.is_ready, "ready")
        async with FaultProxy(int(service.url.rpartition(":")[2])) as proxy:
            proxy.set(up=LineFaults(cut_after_bytes=700))
            assert await send(service, proxy.port, key="k") == b""
            assert await asyncio.to_thread(count_items, service) == 0, "half a body is no publish"
            connection = await send_and_lose_the_answer(service, proxy, key="k")
            assert connection.bytes_down == 0
            proxy.set()
            first = await send(service, proxy.port, key="k")
            again = await send(service, proxy.port, key="k")
        assert first.startswith(b"HTTP/1.1 202")
        assert first.partition(b"\r\n\r\n")[2] == again.partition(b"\r\n\r\n")[2]
        assert await asyncio.to_thread(count_items, service) == 1
        item_id = json.loads(first.partition(b"\r\n\r\n")[2])["item_id"]
        await asyncio.to_thread(wait_until, lambda: service.status_of(item_id) == "done", "the item is done")
        status, runs = await asyncio.to_thread(service.call, "GET", f"/v1/items/{item_id}/runs")
        assert (status, len(runs["runs"])) == (200, 1)
