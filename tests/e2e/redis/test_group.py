"""`gristmill up` with its log on Redis, over HTTP: the Valkey of a wheel stands for the server."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gristmill.testing.crash.processes import choose_pids, kill_hard
from gristmill.testing.redis_server import RedisProcess
from tests.commands import run, wait_until
from tests.e2e.test_http import serving
from tests.redis_servers import program_or_skip


@pytest.fixture
def process(tmp_path: Path) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path / "redis", program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


def settings_of(process: RedisProcess) -> dict[str, str]:
    return {"GRISTMILL_LOG__BACKEND": "redis", "GRISTMILL_LOG__URL": process.url}


def test_what_is_published_is_done_once_though_engine_and_server_die(process: RedisProcess, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serving(state, **settings_of(process)) as service:
        wait_until(service.is_ready, "a group that is ready")
        post = {"source": "posts", "input_id": "a", "text": "Buy 1000 followers for $5 https://cheap.example"}
        headers = {"Idempotency-Key": "k1"}
        status, first = service.call("POST", "/v1/items", post, **headers)
        assert status == 202
        assert service.call("POST", "/v1/items", post, **headers) == (202, first)
        wait_until(lambda: service.status_of(first["item_id"]) == "done", "the first item")

        kill_hard(choose_pids(service.process.pid, "engine"))
        _, second = service.call("POST", "/v1/items", {**post, "input_id": "b"})
        wait_until(lambda: service.status_of(second["item_id"]) == "done", "an item after the death of the engine")

        process.kill()
        headers = {"Idempotency-Key": "k3"}
        status, third = service.call("POST", "/v1/items", {**post, "input_id": "c"}, **headers)
        assert status == 202
        assert service.call("POST", "/v1/items", {**post, "input_id": "c"}, **headers) == (202, third)
        process.start()
        wait_until(lambda: service.status_of(third["item_id"]) == "done", "an item published while the server was dead")
        assert process.say("EXISTS", "gristmill:{items}") == b":1\r\n"

        os.kill(service.process.pid, signal.SIGTERM)
        service.process.wait(timeout=30)
    letters = run("dlq", "ls", "--state", str(state), env=settings_of(process))
    assert "no dead letters" in letters.stdout


def test_a_server_that_may_forget_records_is_refused_at_the_start(process: RedisProcess, tmp_path: Path) -> None:
    process.say("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    env = {**settings_of(process), "GRISTMILL_API__PORT": "0"}
    refused = run("up", "--state", str(tmp_path / "state"), env=env)
    assert refused.returncode == 2
    assert "maxmemory-policy noeviction" in refused.stderr
