"""An outlet in memory that can be taken away and that refuses what a test does not like."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gristmill.domain.errors import ConfigError, Unavailable, UsageError
from gristmill.domain.outbox import OutboxRow

__all__ = ["FakeOutlet"]


class FakeOutlet:
    """Offsets count from 1 in each topic; what begins with `bad` is refused, and a topic `away` cannot be reached."""

    def __init__(self) -> None:
        self.records: dict[str, list[bytes]] = {}
        self.markers: dict[str, int] = {}
        self.is_down = False
        self.calls: list[tuple[str, int]] = []
        self.gone: set[int] = set()
        self.forgotten: list[bytes] = []
        self.is_unfit = False
        self.cannot_forget = False

    async def append(self, topic: str, rows: Sequence[OutboxRow]) -> list[int]:
        self.calls.append((topic, len(rows)))
        self._look(topic)
        if any(row.record.value.startswith(b"bad") for row in rows):
            raise UsageError("record", value="bad", advice="make it smaller")
        return [self._append(topic, row) for row in rows]

    async def forget(self, rows: Sequence[OutboxRow]) -> None:
        if self.cannot_forget:
            raise Unavailable("markers stay")
        for row in rows:
            self._look(row.topic)
            self.markers.pop(row.outbox_id, None)
            self.forgotten.append(row.record.value)

    async def present(self, topic: str, offsets: Collection[int]) -> set[int]:
        self._look(topic)
        return set(offsets) - self.gone

    def _look(self, topic: str) -> None:
        if self.is_unfit:
            raise ConfigError("log is not fit")
        if self.is_down or topic == "away":
            raise Unavailable("log is away")

    def _append(self, topic: str, row: OutboxRow) -> int:
        if row.outbox_id not in self.markers:
            records = self.records.setdefault(topic, [])
            records.append(row.record.value)
            self.markers[row.outbox_id] = len(records)
        return self.markers[row.outbox_id]
