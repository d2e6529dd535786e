"""What is made of a server's own words: whether a log can live on it, and what its errors mean."""

from __future__ import annotations

from typing import Any

import pytest
from redis import exceptions
from structlog.testing import capture_logs

from gristmill.adapters.redis import RedisServer, RedisTarget
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable

FIT = {"redis_version": "7.0.15", "role": "master", "maxmemory_policy": "noeviction", "aof_enabled": "1"}


class Client:
    """Answers every command alike, or fails."""

    def __init__(self, answer: bytes | Exception) -> None:
        self._answer = answer

    async def execute_command(self, *command: Any) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return [b"appendfsync", b"always"] if command[0] == "CONFIG" else self._answer


def server_that(answer: dict[str, str] | Exception, *, is_ephemeral: bool = False) -> RedisServer:
    server = RedisServer(RedisTarget(is_ephemeral=is_ephemeral))
    text = answer if isinstance(answer, Exception) else "".join(f"{k}:{v}\r\n" for k, v in answer.items()).encode()
    server.client = Client(text)
    return server


async def test_a_fit_server_is_taken_without_a_word() -> None:
    with capture_logs() as logs:
        await server_that(FIT).check()
    assert logs == []


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        ({"redis_version": "6.2.14"}, r"6\.2\.14.*7\.0"),
        ({"cluster_enabled": "1"}, "cluster"),
        ({"role": "slave"}, "replica"),
        ({"maxmemory_policy": "allkeys-lru"}, "allkeys-lru.*noeviction"),
        ({"aof_enabled": "0"}, r"appendonly.*log\.ephemeral"),
    ],
)
async def test_an_unfit_server_is_refused_and_the_setting_named(facts: dict[str, str], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        await server_that({**FIT, **facts}).check()


async def test_a_server_that_forgets_at_a_restart_is_taken_with_a_warning_where_somebody_has_said_so() -> None:
    with capture_logs() as logs:
        await server_that({**FIT, "aof_enabled": "0"}, is_ephemeral=True).check()
    assert [(log["event"], log["found"]) for log in logs] == [("redis appendonly", "no")]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exceptions.ConnectionError("Error 111 connecting to 127.0.0.1:6379."), Unavailable),
        (exceptions.ConnectionError("Connection closed by server."), OutcomeUnknown),
        (exceptions.TimeoutError("Timeout reading from socket"), OutcomeUnknown),
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), Unavailable),
        (exceptions.ReadOnlyError("READONLY You can't write against a read only replica."), Unavailable),
        (exceptions.ResponseError("MISCONF Redis is configured to save"), Unavailable),
        (exceptions.OutOfMemoryError("OOM command not allowed"), Unavailable),
        (exceptions.AuthenticationError("WRONGPASS invalid username-password pair"), ConfigError),
        (exceptions.ResponseError("WRONGTYPE Operation against a key"), ConfigError),
        (exceptions.ResponseError("something new"), Unavailable),
    ],
)
async def test_an_error_says_what_the_caller_can_do(error: Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        await server_that(error).check()
    assert type(raised.value) is kind


async def test_a_server_that_still_loads_is_not_judged() -> None:
    with pytest.raises(Unavailable, match="starting"):
        await server_that({**FIT, "aof_enabled": "0", "loading": "1"}).check()


async def test_a_check_that_failed_is_made_again() -> None:
    server = server_that(exceptions.ConnectionError("Error 111 connecting to 127.0.0.1:6379."))
    with pytest.raises(Unavailable):
        await server.check()
    server.client = server_that(FIT).client
    await server.check()


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"log\.url"):
        RedisServer(RedisTarget(url="http://somewhere"))
