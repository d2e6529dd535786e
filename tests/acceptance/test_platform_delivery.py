"""Delivery: the checks AC-DI of the platform's specification, over the embedded stores."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.deliver.core.schedule import RETRIES_S
from gristmill.domain.errors import Unavailable
from gristmill.domain.front.label_fact import LabelFact
from gristmill.domain.ids import ItemId
from gristmill.ports.egress import Refused, Sent
from gristmill.testing.clock import FakeClock
from tests.delivery.desk import Desk, change, expected

ITEMS = 5_000
SEED = 20_261_130
MINUTE_MS = 60_000

ROWS = ("", '"spam" in item.labels', 'item.text.contains("7")', "item.revision % 2 == 0", '!("spam" in item.labels)')
COLUMNS = ('["*"]', "[text]", '["labels.*"]', '[author, "labels.spam", status]')


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = SqliteStore.open(tmp_path / "store.sqlite", clock=SystemClock(), owner="me", synchronous="NORMAL")
    yield Desk(store)
    await store.close()


@pytest.mark.slow
async def test_AC_DI_001_every_receiver_ends_with_the_state_of_the_store_under_its_filter(desk: Desk) -> None:
    """20 subscriptions, 5,000 items that all change, 10 % of the answers errors or lost; it is ended five times.

    The service is ended by dropping all its tasks; `tests/e2e/delivery/test_delivery.py` kills the process.
    """
    draw = random.Random(SEED)
    for start in range(1, ITEMS + 1, 500):
        await desk.store.state.commit([change(number, number) for number in range(start, start + 500)])
    published = [
        await desk.publish(
            f"subscription: s{number}\nrows: {rows!r}\ncolumns: {columns}\nbatch: {1 if number % 5 == 0 else 50}\n"
            f"to: {{webhook: '{desk.receivers.add(f's{number}')}'}}\n"
        )
        for number, (rows, columns) in enumerate((rows, columns) for rows in ROWS for columns in COLUMNS)
    ]
    receivers = [desk.receivers.at[one.subscription.webhook] for one in published]
    fates: list[Sent | Refused | Exception] = [*[Sent(200)] * 18, Sent(500), Unavailable("no answer", advice="cut")]
    for receiver in receivers:
        receiver.draw = lambda: draw.choice(fates)

    async def work() -> None:
        again = [*range(1, ITEMS + 1), *(draw.randint(1, ITEMS) for _ in range(ITEMS // 20))]
        draw.shuffle(again)
        for start in range(0, len(again), 100):
            changed = enumerate(again[start : start + 100], ITEMS + 1 + start)
            vals = [("spam",) if draw.random() < 0.3 else () for _ in range(100)]
            await desk.store.state.commit([change(item, number, vals=vals[number % 100]) for number, item in changed])
            fact = LabelFact(
                item_id=ItemId(draw.randint(1, ITEMS)),
                val="spam",
                is_negated=draw.random() < 0.5,
                actor="eve",
                reason="so",
                at_ms=1_000,
            )
            await desk.store.front.facts.add(fact)
            await asyncio.sleep(0.01)

    working = asyncio.create_task(work())
    for _ in range(5):
        async with desk.delivering():
            await asyncio.sleep(0.3 + draw.random())
    async with desk.delivering():
        await working
        await desk.settle(timeout_s=100)
    items = [ItemId(number) for number in range(1, ITEMS + 1)]
    all_wanted = await expected(desk.store, [one.subscription for one in published], items)
    for one, receiver, wanted in zip(published, receivers, all_wanted, strict=True):
        assert receiver.state == wanted, one.subscription.name
        if one.subscription.columns == ("text",):
            assert {name for event in receiver.got for name in event["data"]["fields"]} == {"text"}
        assert wanted


async def test_AC_DI_002_a_commit_reaches_a_healthy_receiver_within_a_second(desk: Desk) -> None:
    """200 commits a second for three seconds: p99 from commit to receiver at most 1 s, never 3 s."""
    url = desk.receivers.add("fast")
    await desk.publish(f"subscription: fast\nto: {{webhook: '{url}'}}\n")
    committed_at_ms: dict[str, int] = {}
    async with desk.delivering():
        for number in range(1, 601):
            await desk.store.state.commit([change(number, number, at_ms=desk.clock.now_ms())])
            committed_at_ms[str(number)] = desk.clock.now_ms()
            await asyncio.sleep(1 / 200)
        await desk.settle()
    receiver = desk.receivers.at[url]
    waits_ms = sorted(
        taken_at_ms - committed_at_ms[event["data"]["item_id"]]
        for event, taken_at_ms in zip(receiver.got, receiver.taken_at_ms, strict=True)
    )
    assert len(receiver.state) == 600
    assert waits_ms[int(0.99 * len(waits_ms))] <= 1_000
    assert waits_ms[-1] < 3_000


async def test_AC_DI_003_a_receiver_that_is_down_for_ten_minutes_delays_no_other_and_catches_up() -> None:
    """Five minutes of changes with both receivers up, ten with one of them down, one more; the clock is a fake one.

    The retries are those of an installation: 5 s, 5 min, 30 min.
    """
    clock = FakeClock(is_jumping=True)
    desk = Desk(MemoryStore(clock), clock, retries_s=RETRIES_S)
    healthy, late = (desk.receivers.at[desk.receivers.add(name)] for name in ("healthy", "late"))
    for name in ("healthy", "late"):
        await desk.publish(f"subscription: {name}\nto: {{webhook: 'https://{name}.example/hook'}}\n")
    committed_at_ms: list[int] = []
    began_ms = clock.now_ms()
    async with desk.delivering():
        while (since_ms := clock.now_ms() - began_ms) < 16 * MINUTE_MS:
            late.is_down = 5 * MINUTE_MS <= since_ms < 15 * MINUTE_MS
            number = len(committed_at_ms) + 1
            committed_at_ms.append(clock.now_ms())
            await desk.store.state.commit([change(1 + number % 50, number, at_ms=clock.now_ms())])
            # Out of step with the service, which looks for changes every 200 ms.
            await clock.sleep_ms(370)
        await desk.settle()
    told = zip(healthy.got, healthy.taken_at_ms, strict=True)
    waits = [(at := committed_at_ms[event["data"]["revision"] - 1], taken - at) for event, taken in told]
    up = [wait_ms for at_ms, wait_ms in waits if at_ms - began_ms < 5 * MINUTE_MS]
    down = [wait_ms for at_ms, wait_ms in waits if 5 * MINUTE_MS <= at_ms - began_ms < 15 * MINUTE_MS]
    assert (len(up), len(down)) == (811, 1_622)
    assert p99(down) == pytest.approx(p99(up), rel=0.2)
    assert p99(up) > 0
    assert not [at for at in late.taken_at_ms if 5 * MINUTE_MS + 1_000 <= at - began_ms < 15 * MINUTE_MS]
    assert late.taken_at_ms[-1] - began_ms < (15 + 35) * MINUTE_MS
    assert late.state == healthy.state
    for receiver in (healthy, late):
        positions: dict[str, list[int]] = {}
        for event in receiver.got:
            positions.setdefault(event["data"]["item_id"], []).append(event["data"]["position"])
        assert len(positions) == 50
        assert all(found == sorted(found) for found in positions.values())


def p99(waits_ms: list[int]) -> int:
    return sorted(waits_ms)[int(0.99 * len(waits_ms))]
