"""What became of each record of a topic, in input order, read back from the store."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from gristmill.domain.commit import StoredQuarantine, StoredRun
from gristmill.domain.contribution import Resolved, decide_labels
from gristmill.domain.front.standing import fields_of
from gristmill.domain.intake import LeftOut
from gristmill.domain.item import AppliedLabel
from gristmill.domain.log import DeadLetter, Delivery, Lease, StoredRecord
from gristmill.engine.core.recovery import read_origin
from gristmill.engine.settings import recovery_topic_of, topics_of
from gristmill.intake.mapping import RecordMapper
from gristmill.intake.reader import FAULT_HEADER
from gristmill.intake.sources.mapper import SourceMapper
from gristmill.plans.plan import Generator
from gristmill.ports.log import Log
from gristmill.ports.state import State
from gristmill.runtime.composition.decode import fallback_id_of

__all__ = ["LabelLine", "OutcomeLine", "Status", "compose_line", "read_outcomes"]

FETCH_MAX = 1_000
DEAD_LETTERS_MAX = 10_000
"""Looked at for records whose engine died of them; every other failure stands on its run."""

Status = Literal["done", "rejected", "failed", "quarantined", "filtered", "skipped"]


class LabelLine(msgspec.Struct, frozen=True):
    """A label in the output."""

    val: str
    score: float
    reason: str
    evidence: tuple[str, ...]
    operator: str
    revision: str


class OutcomeLine(msgspec.Struct, frozen=True):
    """One line of the output, for one record of the input.

    Attributes:
        id: as the input calls it.
        item_id: decimal digits; None for a record that never became an item.
        error: what failed, or why it is in quarantine or left out; empty otherwise.
    """

    id: str
    item_id: str | None
    status: Status
    labels: tuple[LabelLine, ...]
    fields: dict[str, Any]
    error: str


async def read_outcomes(
    log: Log, state: State, *, generator: Generator, mapper: RecordMapper | SourceMapper
) -> AsyncIterator[OutcomeLine]:
    """Yield one line for each record of a generator's topic, in the order in which they were appended."""
    dead = await _read_dead_letters(log, generator)
    runs = _Cursor(lambda after: state.runs_between(generator.type, after=after, limit=FETCH_MAX))
    quarantine = _Cursor(lambda after: state.quarantined(generator.type, after=after, limit=FETCH_MAX))
    async for records in log.read_all(generator.topic):
        upto = records[-1].offset
        runs_at = _by_position(await runs.take(upto))
        quarantined_at = {entry.position: entry for entry in await quarantine.take(upto)}
        item_ids = {run.item_id for found in runs_at.values() for run in found}
        shared = await state.contributions(sorted(item_ids))
        for record in records:
            input_id = mapper.identify(record.value, fallback_id=fallback_id_of(record.headers, record.offset))
            found = runs_at.get(record.offset, [])
            is_stored = found or record.offset in quarantined_at or record.offset in dead
            yield compose_line(
                input_id,
                found,
                quarantined=quarantined_at.get(record.offset),
                dead=dead.get(record.offset),
                left_out=None if is_stored else _find_left_out(mapper, record),
                shared=shared.get(found[0].item_id, []) if found else [],
            )


def compose_line(
    input_id: str,
    runs: Sequence[StoredRun],
    *,
    quarantined: StoredQuarantine | None = None,
    dead: DeadLetter | None = None,
    left_out: LeftOut | None = None,
    shared: Sequence[Resolved] = (),
) -> OutcomeLine:
    """Return the line of one record from all that is stored about it.

    Args:
        left_out: its Source wants nothing stored of it.
        shared: all contributions of its item; those that came of other runs are not told here.
    """
    if left_out is not None:
        return OutcomeLine(input_id, None, left_out.outcome, (), {}, left_out.reason)
    if quarantined is not None:
        return OutcomeLine(input_id, None, "quarantined", (), {}, "; ".join(quarantined.violations))
    errors = [f"{run.plan}: {run.error}" for run in runs if run.status == "failed"]
    if dead is not None and not errors:
        errors = [dead.diagnosis.error]
    if not runs and not errors:
        errors = ["no result is stored"]
    labels = [label for run in runs for label in run.labels]
    item_id = runs[0].item_id if runs else None
    if item_id is not None:
        tasks = {report.task for run in runs for report in run.tasks}
        ours = [resolved for resolved in shared if resolved.task in tasks]
        labels += decide_labels(item_id, ours, given=frozenset(label.val for label in labels))
    status: Status = "done"
    if errors:
        status = "failed"
    elif any(run.status == "rejected" for run in runs):
        status = "rejected"
    return OutcomeLine(
        id=input_id,
        item_id=None if item_id is None else str(item_id),
        status=status,
        labels=tuple(_label_line(label) for label in labels),
        fields=fields_of(runs),
        error="; ".join(errors),
    )


def _find_left_out(mapper: RecordMapper | SourceMapper, record: StoredRecord) -> LeftOut | None:
    """Ask the mapping once more why nothing is stored of a record."""
    fallback_id = fallback_id_of(record.headers, record.offset)
    found = mapper.map(record.value, fallback_id=fallback_id, broken=record.headers.get(FAULT_HEADER, ""))
    return found if isinstance(found, LeftOut) else None


def _label_line(label: AppliedLabel) -> LabelLine:
    return LabelLine(label.val, label.score, label.reason, label.evidence, label.operator, label.revision)


async def _read_dead_letters(log: Log, generator: Generator) -> dict[int, DeadLetter]:
    """Return dead letters by the offset of the record as it first came."""
    found: dict[int, DeadLetter] = {}
    for topic in topics_of(generator):
        for letter in await log.dead_letters(topic=topic, group=generator.type, limit=DEAD_LETTERS_MAX):
            found[_first_offset(letter, recovery_topic_of(generator))] = letter
    return found


def _first_offset(letter: DeadLetter, recovery_topic: str) -> int:
    """Return where a record that was given up first stood; only the recovery topic is believed about that."""
    lease = Lease(letter.topic, letter.group, letter.offset, owner="", epoch=0)
    delivery = Delivery(lease, letter.value, letter.key, letter.headers, letter.attempt, letter.failed_at_ms)
    return read_origin(delivery, recovery_topic=recovery_topic).offset


def _by_position(runs: Sequence[StoredRun]) -> dict[int, list[StoredRun]]:
    found: dict[int, list[StoredRun]] = {}
    for run in runs:
        found.setdefault(run.position, []).append(run)
    return found


class _Positioned(Protocol):
    @property
    def position(self) -> int: ...


P = TypeVar("P", bound=_Positioned)


class _Cursor(Generic[P]):
    """Reads what is ordered by position, as far as asked."""

    def __init__(self, fetch: Callable[[int], Awaitable[list[P]]]) -> None:
        self._fetch = fetch
        self._waiting: deque[P] = deque()
        self._after = 0
        self._is_over = False

    async def take(self, upto: int) -> list[P]:
        """Return the entries with position <= `upto` that were not returned before."""
        while not self._is_over and (not self._waiting or self._waiting[-1].position <= upto):
            entries = await self._fetch(self._after)
            self._is_over = not entries
            if entries:
                self._after = entries[-1].position
                self._waiting.extend(entries)
        taken: list[P] = []
        while self._waiting and self._waiting[0].position <= upto:
            taken.append(self._waiting.popleft())
        return taken
