"""The outbox of every store holds its contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.domain.ids import ItemId
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit
from gristmill.testing.contracts.outbox import OutboxBackend, OutboxContract
from tests.outboxes import open_state


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
