"""Stores whose log is apart, and ways to publish into it, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry

from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.intake.outbox import OutboxMetrics, OutboxPump
from gristmill.ports.clock import Clock
from gristmill.ports.front import Inlet
from gristmill.ports.outbox import Outbox, Outlet


def open_state(path: Path, clock: Clock, *, owner: str = "state") -> SqliteStore:
    """Open a store whose log is apart."""
    return SqliteStore.open(path, clock=clock, owner=owner, synchronous="NORMAL", is_log_apart=True)


def pump_of(outbox: Outbox, outlet: Outlet, clock: Clock) -> OutboxPump:
    """Return a pump that counts for itself."""
    return OutboxPump(outbox, outlet, clock, OutboxMetrics(CollectorRegistry()))


def publication(text: str, item_id: int, *, topic: str = "t", input_id: str = "") -> Publication:
    """Return a publication; its input id is its text unless one is given."""
    record = NewRecord(text.encode())
    return Publication(
        topic=topic, record=record, tenant="main", source="s", input_id=input_id or text, proposed=ItemId(item_id)
    )


class SentInlet:
    """An inlet whose publications are in the log when it answers, as its contract wants to see them."""

    def __init__(self, inlet: Inlet, pump: OutboxPump) -> None:
        self._inlet = inlet
        self._pump = pump

    async def publish(self, publications: Sequence[Publication], *, once: Once | None = None) -> Published | KeyTaken:
        published = await self._inlet.publish(publications, once=once)
        await self._pump.run_once()
        return published
