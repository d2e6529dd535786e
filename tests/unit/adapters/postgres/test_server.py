"""What is refused of a database, and what its failures mean to the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import msgspec
import pytest

from gristmill.adapters.postgres import PostgresOutbox, PostgresServer, PostgresTarget
from gristmill.adapters.postgres.schema import STEPS
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.outbox import outbox_rows
from tests.on_postgres.servers import fresh_server, postgres_url

Make = Callable[..., PostgresServer]

NOBODY_LISTENS = "postgresql://gristmill@127.0.0.1:9/postgres"


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes servers over tables of its own, with changes to their target; all are closed at the end."""
    made: list[PostgresServer] = []
    target = fresh_server().target

    def make(**changes: Any) -> PostgresServer:
        made.append(PostgresServer(msgspec.structs.replace(target, **changes)))
        return made[-1]

    yield make
    for server in made:
        await server.close()


async def execute(*statements: str) -> None:
    """Run statements as the owner of the database."""
    connection = await asyncpg.connect(postgres_url())
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def version_of(server: PostgresServer) -> int:
    async with server.reading() as connection:
        return int(await connection.fetchval("SELECT version FROM schema_version"))


async def test_many_that_open_at_once_make_the_tables_once(make: Make) -> None:
    assert await asyncio.gather(*(version_of(make()) for _ in range(6))) == [len(STEPS)] * 6


async def test_tables_of_a_newer_version_are_refused(make: Make) -> None:
    server = make()
    await version_of(server)
    await execute(f"UPDATE {server.target.schema}.schema_version SET version = 99")
    with pytest.raises(ConfigError, match=r"newer version: 99"):
        await version_of(make())


async def test_a_database_that_forgets_what_it_confirmed_is_refused(make: Make) -> None:
    role = f"forgetful_{make().target.schema}"
    await execute(f"CREATE ROLE {role} LOGIN SUPERUSER", f"ALTER ROLE {role} SET synchronous_commit = off")
    with pytest.raises(ConfigError, match=r"synchronous_commit: 'off' \(set synchronous_commit = on"):
        await version_of(make(url=postgres_url().replace("gristmill@", f"{role}@")))


async def test_a_user_who_may_not_do_what_is_needed_is_refused(make: Make) -> None:
    role = f"weak_{make().target.schema}"
    await execute(f"CREATE ROLE {role} LOGIN")
    with pytest.raises(ConfigError, match="the right to connect and to make a schema"):
        await version_of(make(url=postgres_url().replace("gristmill@", f"{role}@")))
    with pytest.raises(ConfigError, match="nowhere"):
        await version_of(make(url=postgres_url().replace("/postgres", "/nowhere")))


@pytest.mark.parametrize("schema", ["", "Upper", "a b", "a;b", "x" * 64])
def test_a_schema_is_a_plain_name(schema: str) -> None:
    with pytest.raises(ConfigError, match="schema of PostgreSQL"):
        PostgresServer(PostgresTarget(NOBODY_LISTENS, schema=schema))


def test_a_password_does_not_stand_in_the_address() -> None:
    with pytest.raises(ConfigError, match="holds a password") as refused:
        PostgresServer(PostgresTarget("postgresql://me:secret@db.example:5432/x"))
    assert "secret" not in str(refused.value)
    assert PostgresTarget("postgresql://me@db.example:5432/x", password="secret").address == "db.example:5432/x"


async def test_a_server_that_cannot_be_reached_is_unavailable_and_waiting_goes_on(make: Make) -> None:
    clock = FakeClock()
    outbox = PostgresOutbox(make(url=NOBODY_LISTENS), clock)
    with pytest.raises(Unavailable, match=r"PostgreSQL at 127\.0\.0\.1:9/postgres"):
        await outbox.add(outbox_rows("a"))
    waiting = asyncio.create_task(outbox.wait(timeout_ms=1_000))
    await clock.somebody_waits()
    clock.advance(1_000)
    await waiting


async def test_a_connection_that_is_cut_is_unavailable_and_replaced(make: Make) -> None:
    server = make()

    async def write() -> None:
        async with server.writing() as connection:
            await _end(await connection.fetchval("SELECT pg_backend_pid()"))
            await connection.fetchval("SELECT 1")

    with pytest.raises(Unavailable) as cut:
        await write()
    assert not isinstance(cut.value, OutcomeUnknown)
    assert await version_of(server) == len(STEPS)


async def test_a_connection_that_is_cut_while_it_commits_leaves_the_outcome_open(make: Make) -> None:
    async def write() -> None:
        async with make().writing() as connection:
            await _end(await connection.fetchval("SELECT pg_backend_pid()"))

    with pytest.raises(OutcomeUnknown, match="look before you repeat it"):
        await write()


async def test_what_is_wrong_with_a_statement_undoes_the_rest(make: Make) -> None:
    server = make()

    async def write() -> None:
        async with server.writing() as connection:
            await connection.execute("UPDATE schema_version SET version = 0")
            await connection.execute("SELECT 1 / 0")

    with pytest.raises(Unavailable, match="22012"):
        await write()
    assert await version_of(server) == len(STEPS)


async def _end(pid: int) -> None:
    """Cut the connection of a backend, and return when it is cut."""
    connection = await asyncpg.connect(postgres_url())
    try:
        await connection.execute("SELECT pg_terminate_backend($1, 10000)", pid)
    finally:
        await connection.close()
