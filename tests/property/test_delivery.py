"""What a receiver has in the end is what the store has, whatever happens on the way."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.adapters.memory import MemoryStore
from gristmill.deliver.core.document import compute_columns, compute_document
from gristmill.deliver.core.messages import Message, compute_view, decide_messages
from gristmill.deliver.core.selecting import compile_selector
from gristmill.domain.delivery import Progress, Subscription
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.domain.run import Event
from gristmill.ports.delivery import Change
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import make_commit, run_id_of

ITEMS = 4
STRETCH = 3

VALS = st.sampled_from(["spam", "loud"])
TEXTS = st.sampled_from(["a", "b"])
TENANTS = {1: "main", 2: "main", 3: "main", 4: "acme"}
COMMIT = st.tuples(st.just("commit"), st.integers(1, ITEMS), TEXTS, st.lists(VALS, max_size=2, unique=True))
JUDGE = st.tuples(st.just("judge"), st.integers(1, ITEMS), VALS, st.booleans())
DELIVER = st.tuples(
    st.just("deliver"),
    # Each message: arrives and is answered, arrives and its answer is lost, does not arrive.
    st.lists(st.sampled_from(["ok", "lost answer", "lost"]), min_size=STRETCH, max_size=STRETCH),
    st.booleans(),
)
STEPS = st.lists(COMMIT | JUDGE | DELIVER, max_size=30)
SUBSCRIPTIONS = st.sampled_from(
    [
        Subscription(name="all"),
        Subscription(name="spam", rows='"spam" in item.labels', columns=("text", "labels.spam")),
        Subscription(name="b", rows='item.text == "b"', columns=("labels.*", "revision")),
    ]
)


class Receiver:
    """Keeps the message with the highest position of each item."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []

    def state(self, order: list[int]) -> dict[str, dict[str, Any]]:
        newest: dict[str, dict[str, Any]] = {}
        for index in order:
            data = self.got[index]["data"]
            if data["position"] > newest.get(data["item_id"], {"position": -1})["position"]:
                newest[data["item_id"]] = data
        return {item_id: data["fields"] for item_id, data in newest.items() if data["point"] != "left"}


class Sender:
    """Does what a courier does, step by step, and forgets at a crash what a courier forgets."""

    def __init__(self, store: MemoryStore, subscription: Subscription, receiver: Receiver) -> None:
        self.store, self.subscription, self.receiver = store, subscription, receiver
        self.selector = compile_selector(subscription)
        self.unsure: set[int] = set()
        self.unsure_upto = 0

    async def start(self) -> None:
        progress = await self.store.deliveries.add(Progress(tenant="main", name="x"))
        changes = await self.store.changes.read(after=progress.position, limit=STRETCH)
        self.told = set[int]()
        self.unsure, self.unsure_upto = set(), max((change.position for change in changes), default=0)

    async def step(self, fates: list[str]) -> bool:
        progress = (await self.store.deliveries.all())[0]
        changes = await self.store.changes.read(after=progress.position, limit=STRETCH)
        items = list({change.item_id for change in changes})
        views = {one: compute_view(known) for one, known in (await self.store.changes.look_up(items)).items()}
        sent = await self.store.deliveries.sent(progress.subscription_id, items)
        messages = decide_messages(
            self.subscription,
            self.selector,
            changes,
            views,
            sent,
            is_again=lambda change: False,
            is_unsure=self.is_unsure,
        )
        done: dict[ItemId, Message] = {}
        for message, fate in zip(messages, fates, strict=False):
            self.unsure.add(message.item_id)
            if fate != "lost":
                self.receiver.got.append(json.loads(message.body))
            if fate == "ok":
                self.unsure.discard(message.item_id)
                self.told.add(message.item_id)
                done[message.item_id] = message
        if changes and len(done) == len(messages):
            self.told.clear()
            progress = msgspec.structs.replace(progress, position=changes[-1].position)
        await self.store.deliveries.save(progress, sent={one: message.columns for one, message in done.items()})
        return bool(changes)

    def is_unsure(self, change: Change) -> bool:
        is_first = change.position <= self.unsure_upto and change.item_id not in self.told
        return is_first or change.item_id in self.unsure


def expected(store: MemoryStore, subscription: Subscription) -> dict[str, dict[str, Any]]:
    known = asyncio.run(store.changes.look_up([ItemId(number) for number in range(1, ITEMS + 1)]))
    selector = compile_selector(subscription)
    documents = [compute_document(one) for one in known.values()]
    return {
        document["item_id"]: selector.choose(compute_columns(document))
        for document in documents
        if selector.wants(document)
    }


async def play(store: MemoryStore, subscription: Subscription, steps: list[Any], receiver: Receiver) -> None:
    sender = Sender(store, subscription, receiver)
    await sender.start()
    for number, step in enumerate(steps, 1):
        match step:
            case ("commit", item, text, vals):
                await store.state.commit([make(item, number, text, vals)])
            case ("judge", item, val, is_negated):
                fact = LabelFact(
                    item_id=ItemId(item), val=val, is_negated=is_negated, actor="eve", reason="", at_ms=number
                )
                await store.front.facts.add(fact)
            case ("deliver", fates, is_crash):
                await sender.step(fates)
                if is_crash:
                    sender = Sender(store, subscription, receiver)
                    await sender.start()
    while await sender.step(["ok"] * STRETCH):
        pass


def make(item: int, number: int, text: str, vals: list[str]) -> Any:
    labels = tuple(AppliedLabel(val, 0.9, "", (), "t", "t", "1") for val in vals)
    told = (Event("run.ended", ItemId(item), run_id_of(number), number, {}),)
    content = Item(ItemId(item), source="s", input_id=f"{item}", revision=number, text=text, tenant=TENANTS[item])
    return make_commit(number, item=content, labels=labels, events=told)


@settings(deadline=None, max_examples=200)
@given(subscription=SUBSCRIPTIONS, steps=STEPS, data=st.data())
def test_a_receiver_ends_with_the_state_of_the_store_under_its_filter(
    subscription: Subscription, steps: list[Any], data: st.DataObject
) -> None:
    store, receiver = MemoryStore(FakeClock()), Receiver()
    asyncio.run(play(store, subscription, steps, receiver))
    indexes = list(range(len(receiver.got)))
    order = data.draw(st.permutations(indexes + indexes))
    assert receiver.state(order) == expected(store, subscription)
    allowed = {"text", "labels.spam"} if subscription.name == "spam" else None
    for message in receiver.got:
        assert message["specversion"] == "1.0"
        assert message["data"]["item_id"] != "4"
        assert allowed is None or allowed >= {*message["data"]["fields"], *message["data"]["changed"]}
