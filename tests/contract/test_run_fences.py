"""Run fences hold their contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gristmill.adapters.postgres import PostgresRuns, PostgresServer
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.fencing import FencesBackend, RunFencesContract
from tests.on_postgres.servers import SERVERS, fresh_server


class TestPostgresRuns(RunFencesContract):
    @pytest.fixture(params=SERVERS)
    async def backend(self, request: pytest.FixtureRequest) -> AsyncIterator[FencesBackend]:
        clock = FakeClock()
        server = fresh_server(request.param)
        other = PostgresServer(server.target)
        yield FencesBackend(PostgresRuns(server, clock=clock), PostgresRuns(other, clock=clock), clock)
        await server.close()
        await other.close()
