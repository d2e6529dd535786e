"""The outbox of every store holds its contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.postgres import PostgresOutbox, PostgresRuns, PostgresServer
from gristmill.domain.ids import ItemId
from gristmill.ports.fencing import RunName, Started
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit
from gristmill.testing.contracts.outbox import OutboxBackend, OutboxContract
from tests.apart.outboxes import open_state
from tests.on_postgres.servers import SERVERS, fresh_server


class TestSqliteOutbox(OutboxContract):
    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[OutboxBackend]:
        clock = FakeClock()
        store, other = (open_state(tmp_path / "store.sqlite", clock, owner=owner) for owner in ("one", "other"))

        async def store_run(item_id: ItemId, position: int) -> None:
            await store.state.commit([make_commit(item_id, position=position)])

        yield OutboxBackend(store.outbox, other.outbox, clock, store_run)
        await store.close()
        await other.close()


class TestPostgresOutbox(OutboxContract):
    @pytest.fixture(params=SERVERS)
    async def backend(self, request: pytest.FixtureRequest) -> AsyncIterator[OutboxBackend]:
        clock = FakeClock()
        server = fresh_server(request.param)
        outbox, other = PostgresOutbox(server, clock), PostgresOutbox(PostgresServer(server.target), clock)
        runs = PostgresRuns(server)

        async def store_run(item_id: ItemId, position: int) -> None:
            run = RunName("enrich", str(item_id))
            started = await runs.start(run, owner="me", lease_ms=1_000, position=position)
            assert isinstance(started, Started)
            await runs.store(run, epoch=started.epoch, status="done", result=b"")

        yield OutboxBackend(outbox, other, clock, store_run)
        for one in (outbox, other):
            await one.close()
            await one.server.close()
