"""What a store may let go of, and what each of its tables has grown to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["HeldTopic", "RetentionRules", "TableUse"]


class RetentionRules(msgspec.Struct, frozen=True, kw_only=True):
    """Ages in milliseconds; 0 keeps for good.

    Attributes:
        inputs_ms: records of topics that a file was put into, from the youngest of the topic on.
        letters_ms: dead letters that are closed.
        events_ms: events; what is older moves to the archive with the rest of its month.
        runs_ms: runs that a newer run of the same plan over the same item has replaced.
        quarantine_ms: records that never became an item.
        items_ms: items with all that belongs to them, from the end of their newest run on.
        input_topics: how the names of topics begin that a file was put into. Their output is read from them again, so
            being consumed is no reason to let go of their records.
        groups: topic -> groups that will claim from it. Until all of them have, nobody can say what is consumed.
    """

    inputs_ms: int = 0
    letters_ms: int = 0
    events_ms: int = 0
    runs_ms: int = 0
    quarantine_ms: int = 0
    items_ms: int = 0
    input_topics: str = "run."
    groups: Mapping[str, tuple[str, ...]] = {}


class HeldTopic(msgspec.Struct, frozen=True):
    """A topic with records in the log, and the group that is the furthest behind; empty where none has claimed yet."""

    topic: str
    records: int
    oldest_at_ms: int
    group: str


class TableUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one table holds, and who answers for its growth.

    Attributes:
        bytes: its pages and those of its indexes.
        oldest_at_ms: of its oldest row, where rows have a time.
        due_at_ms: when that row may go, where there is a rule by age and it is set.
        rule: what lets rows go, or why that is not needed.
    """

    name: str
    rows: int
    bytes: int
    oldest_at_ms: int | None
    due_at_ms: int | None
    rule: str
