"""Records that were given up, and how one of them comes back for its group alone."""

from __future__ import annotations

from dataclasses import dataclass

from gristmill.adapters.memory.ledger import Held, Ledger
from gristmill.domain.log import DeadLetter, Diagnosis, Lease, Rejected

__all__ = ["DeadLetters"]


@dataclass(slots=True)
class _Buried:
    """`lease` is the one that gave it up: it answers a repeated reject, and its epoch is where a requeue goes on."""

    letter: DeadLetter
    lease: Lease
    is_open: bool = True


class DeadLetters:
    """Dead letters of one ledger; requeued ones are kept so that a repeated reject is recognised."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._buried: list[_Buried] = []

    def reject(self, lease: Lease, diagnosis: Diagnosis, *, now_ms: int) -> Rejected:
        """Write a dead letter and accept the record if the lease still holds."""
        held = self._ledger.find(lease)
        if held is None:
            return "already" if any(buried.lease == lease for buried in self._buried) else "lost"
        placed = self._ledger.topics[lease.topic].records[lease.offset]
        letter = DeadLetter(
            dead_letter_id=len(self._buried) + 1,
            topic=lease.topic,
            group=lease.group,
            offset=lease.offset,
            generation=held.generation,
            value=placed.record.value,
            key=placed.record.key,
            headers=dict(placed.record.headers),
            attempt=held.attempt,
            diagnosis=diagnosis,
            failed_at_ms=now_ms,
        )
        self._buried.append(_Buried(letter, lease))
        self._ledger.accept(lease)
        return "written"

    def requeue(self, dead_letter_id: int, *, now_ms: int) -> DeadLetter | None:
        """Set the record aside for its group again, attempt 0, with a later generation and a growing epoch."""
        if not self.close(dead_letter_id):
            return None
        buried = self._buried[dead_letter_id - 1]
        letter, epoch = buried.letter, buried.lease.epoch
        group = self._ledger.topics[letter.topic].groups[letter.group]
        group.set_aside(letter.offset, Held("", epoch, 0, now_ms, letter.generation + 1))
        return letter

    def close(self, dead_letter_id: int) -> bool:
        """Close an open letter; False if there is none."""
        if not 1 <= dead_letter_id <= len(self._buried) or not self._buried[dead_letter_id - 1].is_open:
            return False
        self._buried[dead_letter_id - 1].is_open = False
        return True

    def open_letters(self, *, topic: str = "", group: str = "") -> list[DeadLetter]:
        """Return letters that are still open, oldest first; an empty name stands for all."""
        return [
            buried.letter
            for buried in self._buried
            if buried.is_open and topic in ("", buried.letter.topic) and group in ("", buried.letter.group)
        ]

    def all_letters(self, topic: str, group: str) -> list[tuple[DeadLetter, bool]]:
        """Return every letter of a group with whether it is open, oldest first."""
        where = (topic, group)
        return [(one.letter, one.is_open) for one in self._buried if (one.letter.topic, one.letter.group) == where]

    def open_offsets(self, topic: str) -> set[int]:
        """Return the offsets of a topic whose record a requeue may still need."""
        return {letter.offset for letter in self.open_letters(topic=topic)}
