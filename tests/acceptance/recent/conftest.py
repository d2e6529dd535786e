"""The logs that feeding and serving of recent items are proved over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.ports.log import Log


@pytest.fixture(params=["memory", "sqlite"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    """A log in real time."""
    if request.param == "memory":
        yield MemoryStore(SystemClock()).log
        return
    store = SqliteStore.open(tmp_path / "store.sqlite", clock=SystemClock(), owner="me", synchronous="NORMAL")
    yield store.log
    await store.close()
