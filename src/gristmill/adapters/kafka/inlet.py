"""Publishing where the log is on Kafka: ids first, then the records, then a mark that a call with a key was made.

An id that was given and whose record was not appended does no harm: the next call for the same input id gets it. A call
that is cut between its records and its mark appends them again when it is repeated; both are about the same item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from gristmill.adapters.checks import check_publications
from gristmill.adapters.identifying import identify
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.ports.cache import Cache
from gristmill.ports.clock import Clock
from gristmill.ports.log import Log
from gristmill.ports.state import State

__all__ = ["KafkaInlet"]


class _Remembered(msgspec.Struct, frozen=True, array_like=True):
    fingerprint: str
    item_ids: tuple[int, ...]


_decoder = msgspec.json.Decoder(_Remembered)


class KafkaInlet:
    """See `ports.front.Inlet`. Records of one topic are appended together; those of several, topic by topic."""

    def __init__(self, state: State, log: Log, cache: Cache, clock: Clock) -> None:
        self._state = state
        self._log = log
        self._cache = cache
        self._clock = clock

    async def publish(self, publications: Sequence[Publication], *, once: Once | None = None) -> Published | KeyTaken:
        """Map input ids and append records; with `once`, a repeated call that was told before appends nothing."""
        check_publications(publications)
        if once is not None and (known := await self._recall(once)) is not None:
            return known
        item_ids = await identify(self._state, publications)
        by_topic: defaultdict[str, list[NewRecord]] = defaultdict(list)
        for one in publications:
            by_topic[one.topic].append(_keyed(one))
        for topic, records in by_topic.items():
            await self._log.append(topic, records)
        if once is not None:
            packed = msgspec.json.encode(_Remembered(once.fingerprint, item_ids)).decode()
            await self._cache.put(_key(once), packed, ttl_ms=max(1, once.until_ms - self._clock.now_ms()))
        return Published(item_ids)

    async def _recall(self, once: Once) -> Published | KeyTaken | None:
        found = await self._cache.get(_key(once))
        if found is None:
            return None
        known = _decoder.decode(found)
        if known.fingerprint != once.fingerprint:
            return KeyTaken()
        return Published(tuple(ItemId(one) for one in known.item_ids), is_replay=True)


def _keyed(publication: Publication) -> NewRecord:
    """Return the record under a key: revisions of one item share a partition, so a later one has a higher offset."""
    record = publication.record
    if record.key:
        return record
    return msgspec.structs.replace(record, key=f"{publication.tenant}/{publication.source}/{publication.input_id}")


def _key(once: Once) -> str:
    return f"published:{once.key}"
