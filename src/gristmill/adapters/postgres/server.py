"""Connections to one database, and what has to be true of it before anything is written there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import msgspec

from gristmill.adapters.postgres.fitness_core import ASKED, judge_database
from gristmill.adapters.postgres.schema import STEPS
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable
from gristmill.domain.upkeep.finding import Finding, first_refused

__all__ = ["PostgresServer", "PostgresTarget"]

CONNECTIONS_MAX = 8
CONNECT_TIMEOUT_S = 5.0
COMMAND_TIMEOUT_S = 30.0

SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

REFUSED = (
    asyncpg.InvalidPasswordError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
"""Somebody has to change something before another try can help."""

CUT = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError, TimeoutError)


class PostgresTarget(msgspec.Struct, frozen=True):
    """Where the tables live.

    Attributes:
        url: postgresql://[user@]host[:port]/database; no password in it.
        schema: holds the tables; installations that share a database differ in it.
    """

    url: str
    password: str = ""
    schema: str = "gristmill"

    @property
    def address(self) -> str:
        """The address as it may be shown."""
        parts = urlsplit(self.url)
        return f"{parts.hostname or 'localhost'}{f':{parts.port}' if parts.port else ''}{parts.path}"


class PostgresServer:
    """A pool that is made, and a database that is looked at, with the first use. Use it from one event loop."""

    def __init__(self, target: PostgresTarget) -> None:
        if not SCHEMA_NAME.fullmatch(target.schema):
            advice = "use lower-case letters, digits and '_', at most 63 of them"
            raise ConfigError("schema of PostgreSQL", value=target.schema, advice=advice)
        if urlsplit(target.url).password:
            raise ConfigError("address of PostgreSQL holds a password", value=target.address, advice="give it apart")
        self.target = target
        self._pool: Any = None
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Any]:
        """Lend a connection for statements that change nothing.

        Raises:
            Unavailable: the database cannot be reached.
            ConfigError: nothing can live in it; the setting is named.
        """
        pool = await self._open()
        with self._translated():
            async with pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        """Lend a connection with an open transaction, which is committed at the end, or undone when that raises.

        Raises:
            Unavailable: nothing was written.
            OutcomeUnknown: the connection was cut while it committed.
            ConfigError: nothing can live in this database; the setting is named.
        """
        pool = await self._open()
        with self._translated():
            async with pool.acquire() as connection:
                transaction = connection.transaction()
                await transaction.start()
                try:
                    yield connection
                except BaseException:
                    with _ignoring_cuts():
                        await transaction.rollback()
                    raise
                try:
                    await transaction.commit()
                except CUT as error:
                    where = f"PostgreSQL at {self.target.address}"
                    raise OutcomeUnknown(where, value=str(error), advice="look before you repeat it") from error

    async def listen(self, channel: str, on_notice: Callable[..., None]) -> Any:
        """Return a connection of its own that hands over the notices of a channel; whoever asks for it closes it.

        Raises:
            Unavailable: the database cannot be reached.
            ConfigError: nothing can live in it, or it does not let us in.
        """
        await self._open()
        with self._translated():
            connection = await self._connect()
            try:
                await connection.add_listener(channel, on_notice)
            except BaseException:
                connection.terminate()
                raise
        return connection

    async def examine(self) -> tuple[list[Finding], int]:
        """Return all that there is to say about the database, and its clock in UTC epoch ms; nothing is made there.

        Raises:
            ConfigError: it does not let us in.
            Unavailable: it cannot be reached.
        """
        with self._translated():
            connection = await self._connect()
            try:
                findings = await _ask(connection)
                at_s = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())")
            finally:
                await connection.close()
        return findings, round(float(at_s) * 1_000)

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        pool, self._pool = self._pool, None
        if pool is not None:
            with _ignoring_cuts():
                await asyncio.wait_for(pool.close(), CONNECT_TIMEOUT_S)

    async def _open(self) -> Any:
        async with self._opening:
            if self._pool is None:
                with self._translated():
                    connection = await self._connect()
                    try:
                        await _check(connection, self.target)
                        await _prepare(connection, self.target.schema)
                    finally:
                        await connection.close()
                    self._pool = await asyncpg.create_pool(min_size=1, max_size=CONNECTIONS_MAX, **self._options())
        return self._pool

    async def _connect(self) -> Any:
        return await asyncpg.connect(**self._options())

    def _options(self) -> dict[str, Any]:
        password = {"password": self.target.password} if self.target.password else {}
        return {
            "dsn": self.target.url,
            "timeout": CONNECT_TIMEOUT_S,
            "command_timeout": COMMAND_TIMEOUT_S,
            "server_settings": {"search_path": self.target.schema, "application_name": "gristmill"},
            **password,
        }

    @contextmanager
    def _translated(self) -> Iterator[None]:
        where = f"PostgreSQL at {self.target.address}"
        try:
            yield
        except REFUSED as error:
            advice = "give the user of the address the right to connect and to make a schema"
            raise ConfigError(where, value=str(error), advice=advice) from error
        except asyncpg.PostgresError as error:
            raise Unavailable(where, value=f"{error.sqlstate} {error}", advice="try again later") from error
        except CUT as error:
            advice = "check that it is up and that the address is right"
            raise Unavailable(where, value=str(error) or type(error).__name__, advice=advice) from error


@contextmanager
def _ignoring_cuts() -> Iterator[None]:
    """Leave it at that where the connection is gone: the server undoes what was not committed."""
    try:
        yield
    except CUT:
        return


async def _ask(connection: Any) -> list[Finding]:
    return judge_database({name: str(await connection.fetchval(f"SHOW {name}")) for name in ASKED})


async def _check(connection: Any, target: PostgresTarget) -> None:
    """Refuse a database that forgets what it has confirmed."""
    refused = first_refused(await _ask(connection))
    if refused is not None:
        where = f"PostgreSQL at {target.address}"
        raise ConfigError(f"{where}: {refused.check}", value=refused.found, advice=refused.advice)


async def _prepare(connection: Any, schema: str) -> None:
    """Bring the tables of a schema up to date, as a whole or not at all; of many that try at once one does it."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", f"gristmill schema {schema}")
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        await connection.execute("CREATE TABLE IF NOT EXISTS schema_version(version integer NOT NULL)")
        version = await connection.fetchval("SELECT max(version) FROM schema_version") or 0
        if version > len(STEPS):
            advice = f"this Gristmill knows steps up to {len(STEPS)}: start the one that made the tables, or newer"
            raise ConfigError(f"schema {schema!r} is of a newer version", value=version, advice=advice)
        for step in STEPS[version:]:
            await connection.execute(step)
        if version < len(STEPS):
            await connection.execute("INSERT INTO schema_version VALUES($1)", len(STEPS))
