"""From the records of a frame to items with ids and to the Runs that each still needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec
import structlog

from gristmill.domain.errors import UsageError
from gristmill.domain.frame import Frame
from gristmill.domain.ids import ItemId, compute_run_id
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.domain.item import Item
from gristmill.domain.log import Delivery, Diagnosis
from gristmill.engine.core.recovery import Origin, cut_error_text, earlier_places, read_origin
from gristmill.engine.settings import recovery_topic_of
from gristmill.engine.work.record import Todo, Work
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.ids import ItemIds
from gristmill.ports.state import State

__all__ = ["Admission", "Decode", "as_it_first_stood"]

FENCE_MS = 7 * 86_400_000
"""Longer than any process may be frozen and still be taken for one of ours."""

Decode = Callable[[Delivery, Generator], MappedRecord | Violations | LeftOut]
"""Maps a record. A record that comes from a recovery topic is shown as it first stood: topic, offset and arrival."""

_Key = tuple[str, str, str]

_log = structlog.get_logger()


class Admission:
    """Admits frames, with one question to the store for all input ids of a frame."""

    def __init__(
        self, *, state: State, clock: Clock, ids: ItemIds, decode: Decode, generators: Mapping[str, Generator]
    ) -> None:
        self._state = state
        self._clock = clock
        self._ids = ids
        self._decode = decode
        self._generators = generators
        self._unwritten: dict[_Key, ItemId] = {}
        """Ids issued here and not stored yet: the next frame is admitted while this one is being written."""

    async def admit(self, frame: Frame, *, connection: int) -> list[Work]:
        """Return the works of a frame.

        Raises:
            Unavailable: the store cannot be asked or no id could be issued; the frame has to be handed back.
            UsageError: a generator that this engine does not know.
        """
        generator = self._generators.get(frame.generator)
        if generator is None:
            raise UsageError("generator of a frame", value=frame.generator, advice="start all processes on one config")
        received_at_us = self._clock.monotonic_us()
        works: list[Work] = []
        mapped: list[MappedRecord] = []
        admitted: list[Work] = []
        recovery_topic = recovery_topic_of(generator)
        for delivery in frame.deliveries:
            origin = read_origin(delivery, recovery_topic=recovery_topic)
            work = Work(connection, frame.frame_id, delivery, generator, origin, received_at_us)
            works.append(work)
            record = self._map(work)
            if record is not None:
                mapped.append(record)
                admitted.append(work)
        self._plan(admitted)
        await self._leave_out_ended(admitted)
        await self._identify(admitted, mapped)
        return works

    def readmit(self, work: Work, existing: ItemId) -> None:
        """Prepare a record to run again with the id that another engine has issued meanwhile."""
        item = work.item
        if item is not None:
            self._unwritten.pop((item.tenant, item.source, item.input_id), None)
            work.item = msgspec.structs.replace(item, item_id=existing)
        work.is_new = False
        work.done = []

    def forget(self, works: Sequence[Work]) -> None:
        """Note that the ids of these records are stored, or never will be."""
        for work in works:
            if work.is_new and work.item is not None:
                self._unwritten.pop((work.item.tenant, work.item.source, work.item.input_id), None)

    def _map(self, work: Work) -> MappedRecord | None:
        try:
            mapped = self._decode(as_it_first_stood(work.delivery, work.origin), work.generator)
        except Exception as error:
            # A fault of the mapping, not of the record: it is tried again later and not put in quarantine.
            _log.exception("decoder failed", generator=work.generator.type, offset=work.delivery.lease.offset)
            text = cut_error_text(f"{type(error).__name__}: {error}")
            work.failure = Diagnosis(error_class=type(error).__name__, error_text=text, plans=work.origin.plans)
            return None
        if isinstance(mapped, MappedRecord):
            work.source_revision = mapped.source_revision
            return mapped
        if isinstance(mapped, Violations):
            work.faults = mapped
        else:
            work.left_out = mapped
        return None

    def _plan(self, works: Sequence[Work]) -> None:
        for work in works:
            origin, kind = work.origin, work.generator.type
            plans = work.generator.plans
            if origin.plans:
                plans = tuple(plan for plan in plans if plan in origin.plans)
            if not plans:
                text = f"generator {kind!r} no longer has the plans {', '.join(origin.plans)}"
                work.failure = Diagnosis(error_class="plan_unknown", error_text=text, plans=origin.plans)
            work.todos = tuple(
                [
                    Todo(plan, compute_run_id(generator=kind, topic=origin.topic, offset=origin.offset, plan=plan))
                    for plan in plans
                ]
            )

    async def _leave_out_ended(self, works: Sequence[Work]) -> None:
        """Drop the Runs that ended well at an earlier delivery; a fresh record has none.

        Where the log is apart from the state, earlier holders are fenced off first, those of the places where a
        recovered record stood before among them: what they have not written by now they never will.
        """
        again = [work for work in works if _is_again(work)]
        if not again:
            return
        if "shares_log" not in self._state.capabilities:
            until_ms = self._clock.now_ms() + FENCE_MS
            places = [lease for work in again for lease in earlier_places(work.origin, work.delivery.lease)]
            await self._state.fence([*(work.delivery.lease for work in again), *places], until_ms=until_ms)
        ended = await self._state.ended([todo.run_id for work in again for todo in work.todos])
        for work in again:
            work.todos = tuple(todo for todo in work.todos if todo.run_id not in ended)

    async def _identify(self, works: Sequence[Work], mapped: Sequence[MappedRecord]) -> None:
        by_source: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for record in mapped:
            by_source[record.tenant, record.source].append(record.input_id)
        known: dict[_Key, ItemId] = {}
        for (tenant, source), input_ids in by_source.items():
            found = await self._ids.resolve(source, input_ids, tenant=tenant)
            known.update({(tenant, source, input_id): item_id for input_id, item_id in found.items()})
        keys = [(record.tenant, record.source, record.input_id) for record in mapped]
        missing = dict.fromkeys(key for key in keys if key not in known and key not in self._unwritten)
        if missing:
            self._unwritten.update(zip(missing, await self._ids.issue(len(missing)), strict=True))
        for work, record, key in zip(works, mapped, keys, strict=True):
            stored = known.get(key)
            work.is_new = stored is None
            item_id = self._unwritten[key] if stored is None else stored
            work.item = record.make_item(item_id, position=work.origin.offset)
            if work.origin.is_edited and not record.revision:
                work.item = await self._revise(work.item)

    async def _revise(self, item: Item) -> Item:
        """Let an edited payload count as newer than the one that failed, and as older than all that came after it."""
        stored = await self._state.item(item.item_id)
        is_same = stored is not None and stored.revision == item.revision
        return msgspec.structs.replace(item, revision=item.revision + 1) if is_same else item


def _is_again(work: Work) -> bool:
    """Whether a record may have been worked on before; a hand-back that costs no attempt raises the epoch alone."""
    delivery = work.delivery
    return delivery.attempt > 1 or delivery.lease.epoch > 1 or work.origin.recovery > 0


def as_it_first_stood(delivery: Delivery, origin: Origin) -> Delivery:
    """Return a delivery with the topic, offset and arrival of its origin, as `Decode` wants it."""
    if not origin.recovery:
        return delivery
    lease = msgspec.structs.replace(delivery.lease, topic=origin.topic, offset=origin.offset)
    return msgspec.structs.replace(delivery, lease=lease, appended_at_ms=origin.arrived_at_ms)
