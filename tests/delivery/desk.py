"""A delivery service over a store, with receivers in the test's hands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.deliver.core.document import compute_columns, compute_document
from gristmill.deliver.core.selecting import compile_selector
from gristmill.deliver.courier import CourierTools
from gristmill.deliver.definitions import Published, publish_subscription, read_subscription
from gristmill.deliver.feed import Feed
from gristmill.deliver.metrics import DeliveryMetrics
from gristmill.deliver.sending import Sending
from gristmill.deliver.service import DeliveryService
from gristmill.domain.commit import RunCommit
from gristmill.domain.delivery import Subscription
from gristmill.domain.errors import Unavailable
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.domain.run import Event
from gristmill.ports.clock import Clock
from gristmill.ports.delivery import CHANGES_PER_READ_MAX
from gristmill.ports.egress import Refused, Sent
from gristmill.testing.contracts.backend import make_commit, run_id_of

AnyStore = MemoryStore | SqliteStore


class Draws:
    """A `Random` that always draws the same."""

    def uniform(self) -> float:
        """Return a half."""
        return 0.5


class Receiver:
    """Takes messages, unless told otherwise, and keeps the newest of each item.

    Attributes:
        answers: what it says to the next requests; then what `draw` returns.
        draw: 200 for ever, unless it is replaced.
        is_down: nobody answers.
    """

    def __init__(self) -> None:
        self.answers: list[Sent | Refused | Exception] = []
        self.draw: Callable[[], Sent | Refused | Exception] = lambda: Sent(200)
        self.is_down = False
        self.requests: list[tuple[Mapping[str, str], bytes]] = []
        self.got: list[dict[str, Any]] = []
        self.taken_at_ms: list[int] = []
        self.newest: dict[str, dict[str, Any]] = {}

    @property
    def state(self) -> dict[str, dict[str, Any]]:
        """What it has of each item."""
        return {item_id: data["fields"] for item_id, data in self.newest.items() if data["point"] != "left"}

    def take(self, body: bytes, *, now_ms: int = 0) -> None:
        """Take the messages of a request."""
        told = json.loads(body)
        for event in told if isinstance(told, list) else [told]:
            self.got.append(event)
            self.taken_at_ms.append(now_ms)
            data = event["data"]
            if (
                data["point"] != "test"
                and data["position"] > self.newest.get(data["item_id"], {"position": -1})["position"]
            ):
                self.newest[data["item_id"]] = data


class Receivers:
    """A `Sender` that leads to receivers by address."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.at: dict[str, Receiver] = {}

    def add(self, name: str) -> str:
        """Make a receiver and return its address."""
        url = f"https://{name}.example/hook"
        self.at[url] = Receiver()
        return url

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> Sent | Refused:
        """Answer as the receiver would; an exception comes after the message was taken: its answer is lost."""
        receiver = self.at[url]
        receiver.requests.append((headers, body))
        if receiver.is_down:
            raise Unavailable("no answer", advice="nobody listens")
        answer = receiver.answers.pop(0) if receiver.answers else receiver.draw()
        if isinstance(answer, Exception):
            receiver.take(body, now_ms=self._clock.now_ms())
            raise answer
        if isinstance(answer, Sent) and answer.status < 300:
            receiver.take(body, now_ms=self._clock.now_ms())
        return answer


class Desk:
    """A store with a delivery service, which can be ended and begun again."""

    def __init__(
        self, store: AnyStore, clock: Clock | None = None, *, retries_s: tuple[float, ...] = (0.01,) * 50
    ) -> None:
        self.store, self.clock, self.retries_s = store, clock or SystemClock(), retries_s
        self.receivers = Receivers(self.clock)
        self.registry = CollectorRegistry()
        self.metrics = DeliveryMetrics(self.registry)
        self.sending = Sending(self.receivers, store.log, self.clock)

    async def publish(self, text: str, **changes: Any) -> Published:
        """Publish a subscription."""
        subscription = read_subscription(text, file="test.yaml")
        return await publish_subscription(
            self.store.definitions,
            self.store.deliveries,
            self.store.changes,
            subscription,
            actor="test",
            clock=self.clock,
            **changes,
        )

    @asynccontextmanager
    async def delivering(self) -> AsyncIterator[None]:
        """Deliver inside the block; whatever is under way at its end is dropped as by a kill."""
        tools = CourierTools(
            self.store.deliveries,
            Feed(self.store.changes),
            self.sending,
            self.clock,
            Draws(),
            self.metrics,
            self.retries_s,
        )
        task = asyncio.create_task(DeliveryService(self.store.definitions, self.store.changes, tools).run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def settle(self, *, timeout_s: float = 60) -> None:
        """Wait until every subscription that is active has been told everything."""
        async with asyncio.timeout(timeout_s):
            while True:
                end, all_progress = await self.store.changes.end(), await self.store.deliveries.all()
                # A position that moves without messages is saved late; the memory of it is not seen here.
                if all(one.status != "active" or (one.position == end and not one.failures) for one in all_progress):
                    return
                await self.clock.sleep_ms(50)


async def expected(
    store: AnyStore, subscriptions: Sequence[Subscription], item_ids: list[ItemId]
) -> list[dict[str, dict[str, Any]]]:
    """Return what the receiver of each subscription must have in the end."""
    selectors = [compile_selector(one) for one in subscriptions]
    found: list[dict[str, dict[str, Any]]] = [{} for _ in subscriptions]
    for start in range(0, len(item_ids), CHANGES_PER_READ_MAX):
        for known in (await store.changes.look_up(item_ids[start : start + CHANGES_PER_READ_MAX])).values():
            document = compute_document(known)
            columns = msgspec.json.decode(msgspec.json.encode(compute_columns(document)))
            for selector, state in zip(selectors, found, strict=True):
                if selector.wants(document):
                    state[document["item_id"]] = selector.choose(columns)
    return found


def change(item: int, number: int, *, text: str = "", vals: tuple[str, ...] = (), at_ms: int = 1_000) -> RunCommit:
    """Make a commit of an item's revision `number`."""
    labels = tuple(AppliedLabel(val, 0.9, "because", ("x",), "judge", "judge", "1") for val in vals)
    told = (
        Event("item.ingested", ItemId(item), run_id_of(number), at_ms, {"revision": number}),
        Event("run.ended", ItemId(item), run_id_of(number), at_ms, {"status": "done", "labels": list(vals)}),
    )
    content = Item(ItemId(item), source="s", input_id=f"in-{item}", revision=number, text=text or f"text {number}")
    return make_commit(number, item=content, labels=labels, events=told)
