"""The front port over the log and the state of one memory store."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.adapters.checks import (
    check_fact_is_new,
    check_limit,
    check_publications,
    check_run_id,
    event_of_fact,
)
from gristmill.adapters.memory.front.traffic import MemoryTraffic
from gristmill.adapters.memory.log import MemoryLog
from gristmill.adapters.memory.state import MemoryState
from gristmill.domain.commit import StoredRun
from gristmill.domain.front.access import StoredToken
from gristmill.domain.front.label_fact import ITEM_WITHOUT_FACTS, LabelFact
from gristmill.domain.front.publication import KeyTaken, Once, Publication, Published
from gristmill.domain.ids import ItemId, RunId
from gristmill.domain.item import Item
from gristmill.domain.log import Hold
from gristmill.ports.clock import Clock
from gristmill.ports.front import ITEMS_PER_READ_MAX

__all__ = ["MemoryFront"]


class MemoryFront:
    """See `ports.front.Front`. Use it from one event loop."""

    def __init__(self, log: MemoryLog, state: MemoryState, clock: Clock) -> None:
        self.inlet = _Inlet(log, state, clock)
        self.facts = _LabelFacts(state)
        self.tokens = _Tokens()
        self.listing = _Listing(state, log)
        self.traffic = MemoryTraffic(log.ledger, state)


class _Inlet:
    def __init__(self, log: MemoryLog, state: MemoryState, clock: Clock) -> None:
        self._log = log
        self._state = state
        self._clock = clock
        self._calls: dict[str, tuple[Once, tuple[ItemId, ...]]] = {}

    async def publish(self, publications: Sequence[Publication], *, once: Once | None = None) -> Published | KeyTaken:
        check_publications(publications)
        now_ms = self._clock.now_ms()
        if once is not None and once.key in self._calls:
            earlier, item_ids = self._calls[once.key]
            if earlier.until_ms > now_ms:
                same = earlier.fingerprint == once.fingerprint
                return Published(item_ids, is_replay=True) if same else KeyTaken()
        # None of these calls gives way to another task, so the step is whole.
        item_ids = tuple([await self._identify(publication) for publication in publications])
        for topic in dict.fromkeys(publication.topic for publication in publications):
            await self._log.append(topic, [one.record for one in publications if one.topic == topic])
        if once is not None:
            self._calls = {key: call for key, call in self._calls.items() if call[0].until_ms > now_ms}
            self._calls[once.key] = (once, item_ids)
        return Published(item_ids)

    async def _identify(self, publication: Publication) -> ItemId:
        proposed = {publication.input_id: publication.proposed}
        mapped = await self._state.map_ids(publication.source, proposed, tenant=publication.tenant)
        return mapped[publication.input_id]


class _LabelFacts:
    def __init__(self, state: MemoryState) -> None:
        self._state = state
        self._facts: dict[ItemId, list[LabelFact]] = {}
        self._count = 0

    async def add(self, fact: LabelFact, *, last_fact_id: int | None = None) -> LabelFact:
        facts = self._facts.setdefault(fact.item_id, [])
        if last_fact_id is not None:
            check_fact_is_new(fact, last_fact_id, facts[-1].fact_id if facts else ITEM_WITHOUT_FACTS)
        self._count += 1
        stored = msgspec.structs.replace(fact, fact_id=self._count)
        facts.append(stored)
        self._state.tell(event_of_fact(stored))
        return stored

    async def of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[LabelFact]]:
        return {item_id: list(self._facts[item_id]) for item_id in item_ids if self._facts.get(item_id)}

    async def judged_before(self, item_id: ItemId | None, *, limit: int) -> list[ItemId]:
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        judged = (one for one, facts in self._facts.items() if facts and (item_id is None or one < item_id))
        return sorted(judged, reverse=True)[:limit]

    async def newest(self, *, limit: int) -> list[LabelFact]:
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        facts = [fact for facts in self._facts.values() for fact in facts]
        return sorted(facts, key=lambda fact: -fact.fact_id)[:limit]


class _Tokens:
    def __init__(self) -> None:
        self._tokens: dict[str, StoredToken] = {}

    async def add(self, token: StoredToken, *, only_first: bool = False) -> bool:
        if only_first and self._tokens:
            return False
        self._tokens[token.token_id] = token
        return True

    async def find(self, token_id: str) -> StoredToken | None:
        return self._tokens.get(token_id)

    async def all(self) -> list[StoredToken]:
        return sorted(self._tokens.values(), key=lambda token: (token.created_at_ms, token.token_id))

    async def revoke(self, token_id: str, *, at_ms: int) -> bool:
        token = self._tokens.get(token_id)
        if token is None or token.revoked_at_ms is not None:
            return False
        self._tokens[token_id] = msgspec.structs.replace(token, revoked_at_ms=at_ms)
        return True


class _Listing:
    def __init__(self, state: MemoryState, log: MemoryLog) -> None:
        self._state = state
        self._log = log

    async def items_before(self, item_id: ItemId | None, *, limit: int) -> list[Item]:
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        return self._state.items_below(item_id)[:limit]

    async def runs_of(self, item_ids: Sequence[ItemId]) -> dict[ItemId, list[StoredRun]]:
        check_limit(max(1, len(item_ids)), most=ITEMS_PER_READ_MAX)
        found = {item_id: await self._state.runs(item_id) for item_id in item_ids}
        return {item_id: runs for item_id, runs in found.items() if runs}

    async def items_of(self, item_ids: Sequence[ItemId]) -> list[Item]:
        check_limit(max(1, len(item_ids)), most=ITEMS_PER_READ_MAX)
        found = [await self._state.item(item_id) for item_id in sorted(set(item_ids), reverse=True)]
        return [item for item in found if item is not None]

    async def item_of_run(self, run_id: RunId) -> ItemId | None:
        check_run_id(run_id)
        return self._state.item_of_run(run_id)

    async def hold_of(self, topic: str, group: str, offset: int) -> Hold | None:
        return self._log.ledger.hold_of(topic, group, offset)

    async def peers_of(self, item_id: ItemId, *, space: str, limit: int) -> list[ItemId]:
        check_limit(limit, most=ITEMS_PER_READ_MAX)
        return self._state.peers_of(item_id, space)[:limit]
