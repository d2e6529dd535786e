"""What a store may let go of, and what each of its tables has grown to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gristmill.domain.upkeep.topics import LossyRule

__all__ = ["HeldTopic", "RetentionRules", "StandingGroup", "TableUse"]


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
        lossy: topics of which records go that nobody has read, and are counted as lost.
        abandoned_ms: how long a group that nobody of this installation serves may stand still behind records before it
            no longer holds them back.
    """

    inputs_ms: int = 0
    letters_ms: int = 0
    events_ms: int = 0
    runs_ms: int = 0
    quarantine_ms: int = 0
    items_ms: int = 0
    input_topics: str = "run."
    groups: Mapping[str, tuple[str, ...]] = {}
    lossy: Mapping[str, LossyRule] = {}
    abandoned_ms: int = 0


class HeldTopic(msgspec.Struct, frozen=True):
    """A topic with records in the log, and the group that is the furthest behind; empty where none has claimed yet.

    Attributes:
        bytes: of all its records together, judged by the oldest hundred.
    """

    topic: str
    records: int
    oldest_at_ms: int
    group: str
    bytes: int = 0


class StandingGroup(msgspec.Struct, frozen=True):
    """A group that nobody of this installation serves, and that has not moved since.

    Attributes:
        is_let_go: it no longer holds records back; what it misses is counted as lost to it.
    """

    topic: str
    group: str
    since_ms: int
    is_let_go: bool


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
