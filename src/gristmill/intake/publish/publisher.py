"""From the bytes of records to item ids that last: one durable step, whatever the number of records.

What is refused here would be refused behind the log too, since both sides use one mapping. An item id is answered only
when its mapping and the record are on disk together, so whoever has an answer can rely on it after any death.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import structlog

from gristmill.domain.errors import UsageError
from gristmill.domain.front.publication import KeyTaken, Once, Publication
from gristmill.domain.front.trace import TRACE_HEADER
from gristmill.domain.ids import ItemId
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.domain.log import Delivery, Lease, NewRecord
from gristmill.intake.publish.native import INPUT_ID_HEADER, SOURCE_HEADER, TENANT_HEADER
from gristmill.plans.plan import Generator
from gristmill.ports.clock import Clock
from gristmill.ports.front import Inlet
from gristmill.ports.ids import ItemIds

__all__ = ["Accepted", "Door", "KeyReused", "MapRecord", "Publisher", "Refused"]

MapRecord = Callable[[Delivery, Generator], MappedRecord | Violations | LeftOut]
"""The very mapping that engines use."""

_log = structlog.get_logger()


class Accepted(msgspec.Struct, frozen=True):
    """Durable; it will be processed."""

    item_id: ItemId
    input_id: str


class Refused(msgspec.Struct, frozen=True):
    """Nothing was written for this record. `is_left_out`: its Source leaves such records out on purpose."""

    faults: tuple[str, ...]
    is_left_out: bool = False


class KeyReused(UsageError):
    """The key of the call was used with another body; nothing was written."""


class Door(msgspec.Struct, frozen=True):
    """Where content goes in.

    Attributes:
        tenant: whose it is.
        source: the published Source that maps it, where the generator does not say.
        trace: header `traceparent` of the call that brings it, empty where there is none.
    """

    generator: Generator
    tenant: str = TENANT_DEFAULT
    source: str = ""
    trace: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What its records say of it in the log."""
        told = {SOURCE_HEADER: self.source} if self.source else {}
        if self.trace:
            told[TRACE_HEADER] = self.trace
        return told if self.tenant == TENANT_DEFAULT else {**told, TENANT_HEADER: self.tenant}


class Publisher:
    """Publishes records to the topics of generators."""

    def __init__(self, *, inlet: Inlet, ids: ItemIds, clock: Clock, map_record: MapRecord) -> None:
        self._inlet = inlet
        self._ids = ids
        self._clock = clock
        self._map_record = map_record

    def check(self, raw: bytes, door: Door) -> MappedRecord | Refused:
        """Return a record as it would be processed, or all that is wrong with it."""
        return self._check(self._receive(door.generator), raw, door.headers, door.generator)

    async def publish(self, raws: Sequence[bytes], door: Door, *, once: Once | None = None) -> list[Accepted | Refused]:
        """Publish records and return what became of each, in their order.

        Raises:
            KeyReused: see there.
            IdUnavailable, Unavailable: nothing was written; a retry is safe.
        """
        proposed = await self._ids.issue(len(raws))
        common, generator = door.headers, door.generator
        received = self._receive(generator)
        outcomes: list[Accepted | Refused] = []
        publications: list[Publication] = []
        places: list[int] = []
        for index, (raw, item_id) in enumerate(zip(raws, proposed, strict=True)):
            called = str(item_id)
            told = {**common, INPUT_ID_HEADER: called}
            mapped = self._check(received, raw, told, generator)
            if isinstance(mapped, Refused):
                outcomes.append(mapped)
                continue
            has_own_id = mapped.input_id != called
            headers = common if has_own_id else told
            publications.append(
                Publication(
                    topic=generator.topic,
                    record=NewRecord(raw, headers=headers),
                    tenant=mapped.tenant,
                    source=mapped.source,
                    input_id=mapped.input_id,
                    proposed=item_id,
                )
            )
            places.append(index)
            outcomes.append(Accepted(item_id, mapped.input_id if has_own_id else ""))
        if publications:
            for place, item_id in zip(places, await self._write(publications, once), strict=True):
                outcomes[place] = _answer(outcomes[place], item_id)
        return outcomes

    async def _write(self, publications: Sequence[Publication], once: Once | None) -> Sequence[ItemId]:
        published = await self._inlet.publish(publications, once=once)
        if isinstance(published, KeyTaken):
            raise KeyReused("key of a call that had another body", advice="use a new key for a new call")
        _log.debug("items published", item_ids=" ".join(map(str, published.item_ids)), is_replay=published.is_replay)
        return published.item_ids

    def _receive(self, generator: Generator) -> tuple[Lease, int]:
        """Return what records that are published now have in common: a place in the log that none has yet, and when."""
        return Lease(generator.topic, generator.type, 0, "", 0), self._clock.now_ms()

    def _check(
        self, received: tuple[Lease, int], raw: bytes, headers: dict[str, str], generator: Generator
    ) -> MappedRecord | Refused:
        lease, now_ms = received
        mapped = self._map_record(Delivery(lease, raw, "", headers, 1, now_ms), generator)
        if isinstance(mapped, Violations):
            return Refused(mapped.violations)
        if isinstance(mapped, LeftOut):
            return Refused((f"record: {mapped.reason}",), is_left_out=True)
        return mapped


def _answer(accepted: Accepted | Refused, item_id: ItemId) -> Accepted:
    """Return the answer for a record; one without an id of its own is called by its item id."""
    input_id = accepted.input_id if isinstance(accepted, Accepted) else ""
    return Accepted(item_id, input_id or str(item_id))
