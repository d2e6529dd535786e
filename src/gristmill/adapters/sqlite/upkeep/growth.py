"""Who answers for the growth of each table: a rule that lets rows go, or the reason why none is needed.

Every table of the schema stands here; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import apsw
import msgspec

from gristmill.adapters.packing import unpack_ended_at, unpack_events
from gristmill.domain.upkeep.retention import RetentionRules

__all__ = ["GROWTH", "Growth"]

ReadTime = Callable[[apsw.Connection], int | None]


class Growth(msgspec.Struct, frozen=True):
    """One table.

    Attributes:
        rule: for people; names the setting where there is one.
        oldest: reads the time of the oldest row, in UTC epoch ms.
        age_ms: what is set, 0 keeps for good; None where no age is set for the table.
    """

    rule: str
    oldest: ReadTime | None = None
    age_ms: Callable[[RetentionRules], int] | None = None


def _time(sql: str) -> ReadTime:
    def read(db: apsw.Connection) -> int | None:
        found = db.execute(sql).get
        return None if found is None else int(found)

    return read


def _time_of_run(db: apsw.Connection) -> int | None:
    body = db.execute("SELECT body FROM run ORDER BY run_row LIMIT 1").get
    return None if body is None else unpack_ended_at(body)


def _time_of_event(db: apsw.Connection) -> int | None:
    body = db.execute("SELECT body FROM event ORDER BY event_row LIMIT 1").get
    return None if body is None else min((event.at_ms for event in unpack_events(body)), default=None)


NAMES = "a name and its number, one for each that was ever used"
SHARED = "goes with its item (store.retention.items_days): newcomers are compared with it"

GROWTH: Mapping[str, Growth] = MappingProxyType(
    {
        "schema_version": Growth("one row"),
        "tally": Growth("one row for each thing that is counted"),
        "topic": Growth(f"{NAMES}, with what was ever appended"),
        "grp": Growth(f"{NAMES}, with its progress"),
        "generator": Growth(NAMES),
        "space": Growth(NAMES),
        "owner": Growth("the newest 1,000, and whoever lives, holds a lease or gave a letter up"),
        "log": Growth(
            "when every group has accepted it; inputs of `gristmill run` after store.retention.inputs_days",
            _time("SELECT appended_at_ms FROM log ORDER BY position LIMIT 1"),
        ),
        "lease": Growth("goes with the acceptance of its record"),
        "dead": Growth(
            "open ones stay until somebody decides, closed ones for store.retention.letters_days",
            _time("SELECT failed_at_ms FROM dead ORDER BY dead_id LIMIT 1"),
        ),
        "closing": Growth(
            "store.retention.letters_days",
            _time("SELECT at_ms FROM closing ORDER BY closing_id LIMIT 1"),
            lambda rules: rules.letters_ms,
        ),
        "id_segment": Growth("one row for each namespace of ids"),
        "id_map": Growth("kept for good, some 100 bytes an item: an input never gets another id"),
        "item": Growth(
            "store.retention.items_days after its newest run, unless in a group or judged by people",
            None,
            lambda rules: rules.items_ms,
        ),
        "run": Growth(
            "the newest of a plan goes with its item, replaced ones after store.retention.runs_days",
            _time_of_run,
        ),
        "event": Growth(
            "moves to the archive after store.retention.events_days, when its month is over",
            _time_of_event,
            lambda rules: rules.events_ms,
        ),
        "effect": Growth("goes with its run"),
        "contribution": Growth(SHARED),
        "join_key": Growth(SHARED),
        "join_member": Growth(SHARED),
        "sighting": Growth("goes with its item (store.retention.items_days): its labels are read from it"),
        "quarantine": Growth(
            "store.retention.quarantine_days, and as long as its record is in the log",
            _time("SELECT at_ms FROM quarantine ORDER BY quarantine_id LIMIT 1"),
            lambda rules: rules.quarantine_ms,
        ),
        "sample": Growth("eight days of one row a sweep", _time("SELECT min(at_ms) FROM sample")),
        "cache": Growth("until the time that each entry carries"),
        "fence": Growth("until the time that each carries; none while the log is in this file"),
        "outbox": Growth(
            "until its record is in the log, with a run of what it publishes; none while the log is in this file",
            _time("SELECT min(created_at_ms) FROM outbox"),
        ),
        "origin": Growth("until the time that each carries; none while the log is in this file"),
        "once": Growth("until the time that each remembered call carries"),
        "definition": Growth(
            "kept for good: people write it, a file at a time",
            _time("SELECT min(at_ms) FROM definition"),
        ),
        "label_fact": Growth("kept for good: what people said"),
        "subscription": Growth("one row for each subscription"),
        "sent": Growth("goes with its item (store.retention.items_days), or when its receiver has let go of it"),
        "attempt": Growth("the newest 200 of each subscription"),
        "token": Growth(
            "kept for good, revoked ones too: who had access, a row at a time",
            _time("SELECT min(created_at_ms) FROM token"),
        ),
    }
)
