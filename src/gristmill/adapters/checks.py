"""What every backend refuses before it does anything, so that all of them refuse alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gristmill.domain.commit import Commit, RunCommit
from gristmill.domain.errors import StaleRead, UsageError
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.front.publication import Publication
from gristmill.domain.ids import RunId
from gristmill.domain.log import NewRecord
from gristmill.domain.run import Event
from gristmill.ports.front import PUBLICATIONS_PER_CALL_MAX
from gristmill.ports.log import RECORD_BYTES_MAX, RECORDS_PER_CALL_MAX
from gristmill.ports.state import COMMITS_PER_CALL_MAX, INPUT_IDS_PER_CALL_MAX

__all__ = [
    "check_commits",
    "check_fact_is_new",
    "check_input_ids",
    "check_limit",
    "check_publications",
    "check_records",
    "check_run_id",
    "event_of_fact",
]

RUN_ID_BYTES = 16


def check_records(records: Sequence[NewRecord]) -> None:
    """Refuse an append of no, too many or too large records."""
    if not records:
        raise UsageError("append needs at least one record", advice="do not call it with an empty batch")
    if len(records) > RECORDS_PER_CALL_MAX:
        advice = f"append at most {RECORDS_PER_CALL_MAX} records a call"
        raise UsageError("too many records in one append", value=len(records), advice=advice)
    largest_bytes = max(len(record.value) for record in records)
    if largest_bytes > RECORD_BYTES_MAX:
        advice = f"keep values within {RECORD_BYTES_MAX} bytes; put more into a blob that the record refers to"
        raise UsageError("record is too large", value=largest_bytes, advice=advice)


def check_limit(limit: int, *, most: int = RECORDS_PER_CALL_MAX) -> None:
    """Refuse a limit that asks for nothing or for more than one answer may hold."""
    if not 1 <= limit <= most:
        raise UsageError("limit is out of range", value=limit, advice=f"ask for 1..{most}")


def check_commits(commits: Sequence[Commit]) -> None:
    """Refuse too many commits in one call, and run ids that cannot be keys."""
    if len(commits) > COMMITS_PER_CALL_MAX:
        advice = f"commit at most {COMMITS_PER_CALL_MAX} runs a call"
        raise UsageError("too many commits in one call", value=len(commits), advice=advice)
    for commit in commits:
        if isinstance(commit, RunCommit):
            check_run_id(commit.run_id)


def check_input_ids(input_ids: Collection[str]) -> None:
    """Refuse to look up more input ids than one call may hold."""
    if len(input_ids) > INPUT_IDS_PER_CALL_MAX:
        advice = f"resolve at most {INPUT_IDS_PER_CALL_MAX} a call"
        raise UsageError("too many input ids in one call", value=len(input_ids), advice=advice)


def check_run_id(run_id: RunId) -> None:
    """Refuse a run id that is not 32 lower-case hexadecimal digits."""
    try:
        key = bytes.fromhex(run_id)
    except ValueError:
        key = b""
    # The way back shows upper-case digits and blanks, which `fromhex` lets pass.
    if len(key) != RUN_ID_BYTES or key.hex() != run_id:
        raise UsageError("run id is not 32 hexadecimal digits", value=run_id, advice="derive it with compute_run_id")


def check_publications(publications: Sequence[Publication]) -> None:
    """Refuse to publish nothing, too much, or too large a record."""
    if len(publications) > PUBLICATIONS_PER_CALL_MAX:
        advice = f"publish at most {PUBLICATIONS_PER_CALL_MAX} a call"
        raise UsageError("too many publications in one call", value=len(publications), advice=advice)
    check_records([publication.record for publication in publications])


def check_fact_is_new(fact: LabelFact, last_fact_id: int, newest: int) -> None:
    """Refuse a fact of somebody who has not seen the newest one.

    Raises:
        StaleRead: there is a newer one.
    """
    if newest != last_fact_id:
        raise StaleRead(f"labels of item {fact.item_id}", value=last_fact_id, advice="read the item again")


def event_of_fact(fact: LabelFact) -> Event:
    """Return what the item's events tell of a fact."""
    body = {"val": fact.val, "actor": fact.actor, "reason": fact.reason, "fact_id": fact.fact_id}
    kind = "label.negated" if fact.is_negated else "label.applied"
    return Event(kind, fact.item_id, RunId(""), fact.at_ms, body)
