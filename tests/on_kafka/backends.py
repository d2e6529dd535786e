"""Kafka as the contracts want it: one broker for all tests, a prefix of its own for each."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gristmill.adapters.kafka import KafkaLog, KafkaOutlet, KafkaSettings
from gristmill.ports.front import Inlet
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts import Backend
from gristmill.testing.kafka_broker import KafkaBroker, missing_for_kafka
from tests.apart.outboxes import SentInlet, open_state, pump_of

SETTLE_MS = 30_000

_numbers = count(1)


def require_kafka() -> None:
    """Skip where no broker can be started; under CI that is a failure."""
    if reason := missing_for_kafka():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


def start_broker(folder: Path) -> tuple[str, KafkaBroker | None]:
    """Return the address of a broker, and the broker if it was started here."""
    if address := os.environ.get("GRISTMILL_TEST_KAFKA"):
        return address, None
    broker = KafkaBroker(folder)
    broker.start()
    return broker.address, broker


def fresh_prefix() -> str:
    """Return a prefix that no other test uses."""
    return f"test{os.getpid()}-{next(_numbers)}."


class ApartFront:
    """Only what the contracts of an inlet ask for."""

    def __init__(self, inlet: Inlet) -> None:
        self.inlet = inlet


class KafkaBackends:
    """Opens the same topics again and again; the last one is to be closed."""

    def __init__(self, brokers: str, clock: FakeClock, folder: Path, *, partition_count: int = 1) -> None:
        self._clock = clock
        self._settings = KafkaSettings(
            brokers=brokers,
            prefix=fresh_prefix(),
            partition_count=partition_count,
            retention_ms=-1,  # The clock of the tests stands in the past.
            fetched_max=10_000,
            settle_ms=SETTLE_MS,
            drain_ms=0,
        )
        self._store = open_state(folder / "store.sqlite", clock)
        self._log: KafkaLog | None = None

    async def open(self) -> Backend:
        await self.close()
        self._log = KafkaLog(self._settings, self._clock, origins=self._store.origins)
        await self._log.start()
        store = self._store
        outlet = KafkaOutlet(self._log)
        pump = pump_of(store.outbox, outlet, self._clock)
        front: Any = ApartFront(SentInlet(store.front.inlet, pump))
        return Backend(self._log, store.state, store.cache, self._clock, front, outlet, reopen=self.open)

    async def close(self) -> None:
        if self._log is not None:
            await self._log.close()

    async def end(self) -> None:
        await self.close()
        await self._store.close()
