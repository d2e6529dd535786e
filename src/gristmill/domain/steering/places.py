"""Where a group stands in a topic, partition by partition, and what moving it would do."""

from __future__ import annotations

import msgspec

from gristmill.domain.log import NEVER_MS

__all__ = ["PartitionLag", "SeekTo", "Sought"]


class SeekTo(msgspec.Struct, frozen=True, kw_only=True):
    """The first record that a group is to get: the one at an offset, or the first appended at a time or later.

    Attributes:
        offset: 0 stands for the oldest record that there is. Where a log has partitions, any other offset names one of
            them, and the others stay as they are.
        at_ms: UTC epoch; `NEVER_MS` stands for behind the newest record.
    """

    offset: int | None = None
    at_ms: int | None = None

    @classmethod
    def earliest(cls) -> SeekTo:
        """Return the oldest record that there is."""
        return cls(offset=0)

    @classmethod
    def now(cls) -> SeekTo:
        """Return the place behind the newest record."""
        return cls(at_ms=NEVER_MS)


class Sought(msgspec.Struct, frozen=True):
    """What a seek did, or would do.

    Attributes:
        again: records that the group was done with and gets once more, each with a fresh budget of attempts.
        skipped: records that the group has not begun, or that wait for a further attempt, and that it never gets.
        in_flight: records under a lease; they end as they would have.
    """

    again: int
    skipped: int
    in_flight: int


class PartitionLag(msgspec.Struct, frozen=True, kw_only=True):
    """How far a group is behind in one partition.

    Attributes:
        position: offset of the last record that was handed out, 0 for none; of Kafka the offset that is committed.
        end: offset of the last record that was appended; of Kafka the next one.
        undelivered: records that were never handed out.
        is_ours: whether this process holds the partition; None where a log does not share partitions out.
        open_count: records behind `position` that are not done with, where that is told apart.
    """

    partition: int
    position: int
    end: int
    undelivered: int
    is_ours: bool | None = None
    open_count: int | None = None
