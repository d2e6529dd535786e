"""A main process that dies when a publication is in the log and not confirmed: it is answered, there and done once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.testing.redis_server import RedisProcess
from tests.commands import wait_until
from tests.e2e.test_http import serving
from tests.redis_servers import program_or_skip

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path / "redis", program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


def test_P1_a_death_after_sending_leaves_one_record_and_one_run(process: RedisProcess, tmp_path: Path) -> None:
    settings = {"GRISTMILL_LOG__BACKEND": "redis", "GRISTMILL_LOG__URL": process.url}
    state = tmp_path / "state"
    post = {"source": "posts", "input_id": "b", "text": "hello"}
    key = {"Idempotency-Key": "once"}
    with serving(state, GRISTMILL_FAULT="outbox.sent:kill:after=1", **settings) as service:
        wait_until(service.is_ready, "a group that is ready")
        status, first = service.call("POST", "/v1/items", {**post, "input_id": "a"})
        assert status == 202
        wait_until(lambda: service.status_of(first["item_id"]) == "done", "the first item")
        with suppress(OSError):  # It may die before it has answered.
            service.call("POST", "/v1/items", post, **key)
        wait_until(lambda: service.process.poll() is not None, "the death of main")
        token = service.token
    with serving(state, token, **settings) as service:
        wait_until(service.is_ready, "a group again")
        status, second = service.call("POST", "/v1/items", post, **key)
        assert status == 202
        wait_until(lambda: service.status_of(second["item_id"]) == "done", "the second item")
        for item_id in (first["item_id"], second["item_id"]):
            assert len(service.call("GET", f"/v1/items/{item_id}/runs")[1]["runs"]) == 1
    assert asyncio.run(count_records(process)) == 2


async def count_records(process: RedisProcess) -> int:
    log = RedisLog(RedisServer(RedisTarget(url=process.url)), SystemClock())
    try:
        return await log.end("items")
    finally:
        await log.close()
