"""One Redis server: connections that notice when it is gone, scripts, and what is checked before the first call.

Calls are tried again only where that is safe: every script that changes something can tell a repeated call by its
leases or by a token. What still fails is `Unavailable`, or `OutcomeUnknown` where the answer to a sent call is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import structlog

from gristmill.adapters.redis.core.fitness import judge_server
from gristmill.adapters.redis.places import KeyNames
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable
from gristmill.domain.upkeep.finding import Finding, first_refused

try:
    import redis.asyncio as redis_client
    from redis import exceptions
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
except ImportError as error:
    raise ConfigError("log on Redis needs the Redis client", advice="pip install 'gristmill[redis]'") from error

__all__ = ["RedisServer", "RedisTarget", "Script"]

TIMEOUT_S = 3.0
"""Longest wait for one answer. A script works on a batch for milliseconds; a disk that syncs may take a second."""

CONNECT_TIMEOUT_S = 2.0
CONNECTIONS_MAX = 32
TRIES = 2
"""A connection that was cut while it was idle fails at the first use; the second try has a new one."""

REDIS_PORT = 6379

SCRIPT_FLAGS = {name: "flags=allow-oom" for name in ("accept", "release", "renew", "reject", "close", "trim", "free")}
"""What makes room must go on when there is no more memory."""

TRANSIENT = ("LOADING", "READONLY", "OOM", "MISCONF", "BUSY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS")

T = TypeVar("T")

_log = structlog.get_logger()


class RedisTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Which server, and what our keys begin with.

    Attributes:
        url: `redis://[user@]host[:port][/db]`, `rediss://` with TLS, or `unix:///path`.
        password: kept out of the address, so that it is in no message.
        ca_file: certificates to trust beside those of the system; empty for none.
        prefix: begin of every key; installations that share a server differ in it.
        foreign: see `KeyNames`.
        is_ephemeral: a server that keeps nothing over its own restart will do.
    """

    url: str = f"redis://127.0.0.1:{REDIS_PORT}"
    password: str = ""
    ca_file: str = ""
    prefix: str = "gristmill:"
    foreign: Mapping[str, str] = MappingProxyType({})
    is_ephemeral: bool = False

    @property
    def names(self) -> KeyNames:
        """What our keys are called."""
        return KeyNames(self.prefix, self.foreign)

    @property
    def address(self) -> str:
        """The address as it may be shown."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"


class Script(msgspec.Struct, frozen=True):
    """A script as the server gets it."""

    name: str
    text: str


@cache
def _load_script(name: str) -> Script:
    """Return a script of this package."""
    folder = files("gristmill.adapters.redis") / "lua"
    head = (folder / "head.lua").read_text(encoding="utf-8")
    body = (folder / f"{name}.lua").read_text(encoding="utf-8")
    return Script(name, f"#!lua {SCRIPT_FLAGS.get(name, '')}\n{head}\n{body}")


class RedisServer:
    """Connections to one server, made when they are needed. Use it from one event loop."""

    def __init__(self, target: RedisTarget) -> None:
        self.target = target
        self.client: Any = redis_client.Redis.from_pool(_make_pool(target))  # Its own types stop half-way.
        # Answers come as they are: making dictionaries of entries would take longer than all the rest.
        self.client.response_callbacks.clear()
        self._hashes: dict[str, str] = {}
        self._checking: asyncio.Task[None] | None = None

    async def run(self, name: str, keys: Sequence[str], arguments: Sequence[Any], *, is_safe: bool = True) -> Any:
        """Run a script and return its answer.

        Args:
            is_safe: a call whose answer got lost may be repeated.
        """
        return await self.call(lambda: self._evaluate(_load_script(name), keys, arguments), is_safe=is_safe)

    async def do(self, *command: Any) -> Any:
        """Run one command that may be repeated."""
        return await self.call(lambda: self.client.execute_command(*command))

    async def do_all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Run commands that may be repeated in one round trip."""
        if not commands:
            return []

        async def run() -> list[Any]:
            pipeline = self.client.pipeline(transaction=False)
            pipeline.response_callbacks.clear()
            for command in commands:
                pipeline.execute_command(*command)
            answers: list[Any] = await pipeline.execute()
            return answers

        return await self.call(run)

    async def call(self, call: Callable[[], Awaitable[T]], *, is_safe: bool = True) -> T:
        """Make a call once the server is known to be fit.

        Raises:
            ConfigError: the server is not one that a log can live on.
            Unavailable: nothing was done.
            OutcomeUnknown: it may have been done.
        """
        await self.check()
        return await self._try(call, tries=TRIES if is_safe else 1)

    async def check(self) -> None:
        """Look once whether a log can live on this server.

        Raises:
            ConfigError: it cannot; the setting of the server is named.
            Unavailable: it cannot be reached.
        """
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())
        checking = self._checking
        try:
            await asyncio.shield(checking)
        except BaseException:
            if checking.done() and self._checking is checking:
                self._checking = None
            raise

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        if self._checking is not None:
            self._checking.cancel()
        await self.client.aclose()
        await self.client.connection_pool.disconnect()

    async def _try(self, call: Callable[[], Awaitable[T]], *, tries: int) -> T:
        for number in range(1, tries + 1):
            try:
                return await call()
            except exceptions.RedisError as error:
                translated = _translate(error, self.target)
                if number == tries or not isinstance(translated, OutcomeUnknown):
                    raise translated from error
        raise AssertionError("tries is at least 1")  # pragma: no cover

    async def _evaluate(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        known = self._hashes.get(script.name)
        if known is None:
            loaded = await self.client.execute_command("SCRIPT LOAD", script.text)
            known = self._hashes[script.name] = loaded.decode()
        try:
            return await self.client.execute_command("EVALSHA", known, len(keys), *keys, *arguments)
        except exceptions.NoScriptError:
            # The server has started anew: it keeps no scripts.
            return await self.client.execute_command("EVAL", script.text, len(keys), *keys, *arguments)

    async def examine(self) -> list[Finding]:
        """Return all that there is to say about whether a log can live on this server, the worst first.

        Raises:
            Unavailable: it cannot be reached, or is still starting.
            ConfigError: it does not let us in.
        """
        facts = await self._ask_facts()
        policy = await self._ask_fsync_policy()
        return judge_server(facts, fsync_policy=policy, is_ephemeral=self.target.is_ephemeral)

    async def read_time_ms(self) -> int:
        """Return the server's clock, UTC epoch in ms."""
        seconds, microseconds = await self._try(lambda: self.client.execute_command("TIME"), tries=TRIES)
        return int(seconds) * 1_000 + int(microseconds) // 1_000

    async def _check(self) -> None:
        findings = await self.examine()
        where = f"Redis at {self.target.address}"
        refused = first_refused(findings)
        if refused is not None:
            raise ConfigError(f"{where}: {refused.check}", value=refused.found, advice=refused.advice)
        for finding in findings:
            if finding.verdict == "warning":
                _log.warning(finding.check, server=self.target.address, found=finding.found, advice=finding.advice)

    async def _ask_facts(self) -> dict[str, str]:
        info = await self._try(lambda: self.client.execute_command("INFO"), tries=TRIES)
        facts = dict(
            line.split(":", 1)
            for line in info.decode("utf-8", "replace").splitlines()
            if ":" in line and line[0] != "#"
        )
        if facts.get("loading") == "1":
            # It says wrong things about itself meanwhile, such as that it writes no append-only file.
            raise Unavailable(f"Redis at {self.target.address} is starting", advice="try again in a moment")
        return facts

    async def _ask_fsync_policy(self) -> str | None:
        """Return `appendfsync`, None where this user may not ask or the server has no such command."""

        async def ask() -> Any:
            try:
                return await self.client.execute_command("CONFIG", "GET", "appendfsync")
            except exceptions.ResponseError:
                return None

        answer = await self._try(ask, tries=TRIES)
        return answer[1].decode() if isinstance(answer, list) and len(answer) == 2 else None


def _make_pool(target: RedisTarget) -> redis_client.BlockingConnectionPool:
    if urlsplit(target.url).password:
        advice = "give it by log.password or GRISTMILL_LOG__PASSWORD, which no command shows"
        raise ConfigError("log.url holds a password", value=target.address, advice=advice)
    options: dict[str, Any] = {"ssl_ca_certs": target.ca_file} if target.ca_file else {}
    if target.password:
        options["password"] = target.password
    try:
        return redis_client.BlockingConnectionPool.from_url(
            target.url,
            max_connections=CONNECTIONS_MAX,
            timeout=TIMEOUT_S,
            protocol=2,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_keepalive=True,
            # Tries are ours: only we know which call may be repeated.
            retry=Retry(NoBackoff(), 0),
            **options,
        )
    except ValueError as error:
        advice = "write redis://host:port, rediss://host:port or unix:///path"
        raise ConfigError("log.url", value=target.address, advice=advice) from error


def _translate(error: exceptions.RedisError, target: RedisTarget) -> Exception:
    """Return what the caller is told."""
    where = f"Redis at {target.address}"
    text = str(error)
    if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError):
        return ConfigError(f"{where} refuses us", value=text, advice="check log.password and the user in log.url")
    if isinstance(error, exceptions.BusyLoadingError) or text.startswith(TRANSIENT):
        return Unavailable(where, value=text)
    if isinstance(error, exceptions.MaxConnectionsError) or "Connect call failed" in text or "onnecting to" in text:
        return Unavailable(f"{where} cannot be reached", value=text, advice="start it, or mend log.url")
    if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError):
        return OutcomeUnknown(f"{where} did not answer", value=text or type(error).__name__)
    if text.startswith("GROUPTAKEN"):
        advice = "give the generator another type: its group on a stream of others is named after it"
        return ConfigError(f"{where} has a group of this name that is not ours", value=text, advice=advice)
    if "WRONGTYPE" in text:
        advice = "set log.prefix to something that no other program uses"
        return ConfigError(f"{where} holds other things under our names", value=text, advice=advice)
    return Unavailable(where, value=text)
