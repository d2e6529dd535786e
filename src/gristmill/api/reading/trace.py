"""Everything that became of an item: its dossier, and what log, groups and dead letters know of it besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gristmill.api.reading.dossier import Dossier
from gristmill.api.reading.timeline_core import Moment, Recovery, compose_timeline
from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import Join, Resolved
from gristmill.domain.item import Item
from gristmill.domain.log import DeadLetter, Delivery, Hold, Lease, StoredRecord
from gristmill.engine.core.recovery import Origin, read_origin
from gristmill.engine.settings import recovery_topic_of
from gristmill.plans.plan import Generator
from gristmill.ports.front import Front
from gristmill.ports.log import Log

__all__ = ["PEERS_MAX", "OpenRecord", "SharedGroup", "Trace", "Tracer"]

PEERS_MAX = 20
"""Members of one group that are listed; of larger ones a person looks at the search."""

RECORDS_MAX = 10
"""Revisions whose records are fetched, the newest; each costs a read of the log."""

LETTERS_PER_READ = 200
LETTERS_SCANNED_MAX = 1_000
"""Dead letters of a generator that are looked through; more than that and nobody finds anything anyway."""

RECOVERY_BATCHES_MAX = 4
"""Of a recovery topic; what is worked off there is let go of soon, so it stays short."""

ERROR_HEADER = "gristmill-error"
"""See `engine.core.recovery`."""


class SharedGroup(msgspec.Struct, frozen=True):
    """What an item shares with others.

    Attributes:
        keys: what joins or is counted.
        peers: other members, the newest first, as far as they were found and may be seen.
        leader: None where it is counted, not grouped, or where the leader may not be seen.
        is_leader: the item leads its group itself.
    """

    resolved: Resolved
    keys: tuple[str, ...]
    peers: list[Item]
    leader: Item | None
    is_leader: bool

    @property
    def is_group(self) -> bool:
        """Whether it has members; else sightings are counted."""
        return isinstance(self.resolved.contribution, Join)


class OpenRecord(msgspec.Struct, frozen=True):
    """A record of the item that its group has not done with: under a lease, or waiting for its time."""

    topic: str
    offset: int
    hold: Hold


class Trace(msgspec.Struct, frozen=True):
    """Everything that became of an item.

    Attributes:
        records: position -> the record as it came, of the newest revisions, as far as the log still has it.
        letters: dead letters of its records, without their values.
        open_records: those that are still to be worked off.
        timeline: all of it in one order.
    """

    dossier: Dossier
    groups: list[SharedGroup]
    records: dict[int, StoredRecord]
    letters: list[DeadLetter]
    open_records: list[OpenRecord]
    timeline: list[Moment]


class Tracer:
    """Follows items through the log and the store."""

    def __init__(self, log: Log, front: Front, generators: Mapping[str, Generator]) -> None:
        self._log = log
        self._front = front
        self._generators = generators

    async def trace(self, dossier: Dossier, *, sees: Callable[[str], bool]) -> Trace:
        """Return all that became of an item; of other items only what the caller may see."""
        records = await self._read_records(dossier.runs)
        letters = await self._find_letters(dossier.runs)
        recoveries = await self._find_recoveries(dossier.runs)
        return Trace(
            dossier,
            [await self._read_group(dossier.item, one, sees) for one in dossier.shared],
            records,
            letters,
            await self._find_open(dossier.runs, recoveries),
            compose_timeline(
                records.values(), dossier.runs, dossier.events, letters, [_tell(one) for one in recoveries]
            ),
        )

    async def _read_records(self, runs: list[StoredRun]) -> dict[int, StoredRecord]:
        topics = {run.position: self._topic_of(run.generator) for run in runs}
        newest = sorted(topics)[-RECORDS_MAX:]
        records = [await self._read_record(topics[position], position) for position in newest]
        return {record.offset: record for record in records if record is not None}

    def _topic_of(self, generator: str) -> str:
        # A file that was run at the command line is a topic of its own, with a generator of that name.
        known = self._generators.get(generator)
        return known.topic if known is not None else generator

    async def _read_record(self, topic: str, position: int) -> StoredRecord | None:
        async for batch in self._log.read_all(topic, after=position - 1):
            return batch[0] if batch and batch[0].offset == position else None
        return None

    async def _find_letters(self, runs: list[StoredRun]) -> list[DeadLetter]:
        wanted = self._failed_origins(runs)
        found: list[DeadLetter] = []
        for group in sorted({run.generator for run in runs if run.status == "failed"}):
            after = 0
            for _ in range(LETTERS_SCANNED_MAX // LETTERS_PER_READ):
                letters = await self._log.dead_letters(
                    group=group, after=after, limit=LETTERS_PER_READ, has_values=False
                )
                found += [letter for letter in letters if _origin_of_letter(letter) in wanted]
                if len(letters) < LETTERS_PER_READ:
                    break
                after = letters[-1].dead_letter_id
        return found

    async def _find_recoveries(self, runs: list[StoredRun]) -> list[_Recovered]:
        wanted = self._failed_origins(runs)
        found: list[_Recovered] = []
        for group in sorted({run.generator for run in runs if run.status == "failed"}):
            batch_count = 0
            async for batch in self._log.read_all(_recovery_topic(group)):
                for record in batch:
                    origin = _read_origin(record, group)
                    if (origin.topic, origin.offset) in wanted and origin.recovery:
                        found.append(_Recovered(record, origin, group))
                batch_count += 1
                if batch_count == RECOVERY_BATCHES_MAX:
                    break
        return found

    async def _find_open(self, runs: list[StoredRun], recoveries: list[_Recovered]) -> list[OpenRecord]:
        """Whether records of failed runs come again; the record of a run that ended well went with its commit."""
        places = [
            (self._topic_of(run.generator), run.generator, run.position) for run in runs if run.status == "failed"
        ]
        places += [(one.record.topic, one.group, one.record.offset) for one in recoveries]
        found: list[OpenRecord] = []
        for topic, group, offset in dict.fromkeys(places[-RECORDS_MAX:]):
            hold = await self._front.listing.hold_of(topic, group, offset)
            if hold is not None:
                found.append(OpenRecord(topic, offset, hold))
        return found

    def _failed_origins(self, runs: list[StoredRun]) -> set[tuple[str, int]]:
        return {(self._topic_of(run.generator), run.position) for run in runs if run.status == "failed"}

    async def _read_group(self, item: Item, resolved: Resolved, sees: Callable[[str], bool]) -> SharedGroup:
        contribution = resolved.contribution
        if not isinstance(contribution, Join):
            return SharedGroup(resolved, (contribution.key,), [], None, is_leader=False)
        listing = self._front.listing
        others = await listing.peers_of(item.item_id, space=contribution.space, limit=PEERS_MAX)
        wanted = {*others, *([resolved.leader] if resolved.leader is not None else [])}
        members = [one for one in await listing.items_of(sorted(wanted)) if sees(one.tenant)]
        leader = next((one for one in members if one.item_id == resolved.leader), None)
        peers = [one for one in members if one.item_id != item.item_id]
        return SharedGroup(resolved, contribution.keys, peers, leader, is_leader=resolved.leader == item.item_id)


class _Recovered(msgspec.Struct, frozen=True):
    """A record that failed and was set aside, as the recovery topic holds it."""

    record: StoredRecord
    origin: Origin
    group: str


def _tell(recovered: _Recovered) -> Recovery:
    record, origin = recovered.record, recovered.origin
    return Recovery(record.appended_at_ms, origin.recovery, record.headers.get(ERROR_HEADER, ""), origin.history)


def _recovery_topic(group: str) -> str:
    return recovery_topic_of(Generator(type=group, topic=group, plans=()))


def _origin_of_letter(letter: DeadLetter) -> tuple[str, int]:
    record = StoredRecord(letter.topic, letter.offset, letter.value, letter.key, letter.headers, letter.failed_at_ms)
    origin = _read_origin(record, letter.group)
    return origin.topic, origin.offset


def _read_origin(record: StoredRecord, group: str) -> Origin:
    """Return where a record first stood; only the recovery topic is believed about that."""
    lease = Lease(record.topic, group, record.offset, owner="", epoch=0)
    delivery = Delivery(lease, record.value, record.key, record.headers, 1, record.appended_at_ms)
    return read_origin(delivery, recovery_topic=_recovery_topic(group))
