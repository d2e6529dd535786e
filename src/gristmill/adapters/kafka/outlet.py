"""Sending rows of an outbox to topics on Kafka: each record names its row, and readers leave out a second one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from gristmill.adapters.kafka.core.wire import DEDUP
from gristmill.adapters.kafka.log import KafkaLog
from gristmill.domain.log import NewRecord
from gristmill.domain.outbox import OutboxRow

__all__ = ["KafkaOutlet"]


class KafkaOutlet:
    """See `ports.outbox.Outlet`. Brokers drop what the client itself repeats; what we repeat, `KafkaLog.claim` does."""

    def __init__(self, log: KafkaLog) -> None:
        self._log = log

    async def append(self, topic: str, rows: Sequence[OutboxRow]) -> list[int]:
        """Append the records of rows, each with the id of its row."""
        return await self._log.append(topic, [_marked(row) for row in rows])

    async def forget(self, rows: Sequence[OutboxRow]) -> None:
        """Nothing to do: what readers remember ends with the time that topics keep records."""

    async def present(self, topic: str, offsets: Collection[int]) -> set[int]:
        """Return those offsets that lie between the begin and the end of their partition."""
        return await self._log.present(topic, offsets)


def _marked(row: OutboxRow) -> NewRecord:
    return msgspec.structs.replace(row.record, headers={**row.record.headers, DEDUP: row.outbox_id})
