"""What routed records must do on every backend; the files of the backends say with what numbers."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from functools import partial
from itertools import pairwise

import msgspec

from gristmill.engine.core.cycle import Cycle
from gristmill.engine.messages.calling import Jump
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Jumped
from gristmill.engine.messages.core.routes import Order
from gristmill.engine.messages.service import GROUP
from tests.messages.consumers import (
    QUICK,
    Consumer,
    Ground,
    Told,
    ended,
    fresh_metrics,
    route,
    sender_of,
    table_of,
    until,
    until_done,
)

CONSUMERS = 4
FAILURE_SHARE = 0.05
RECORDS_PER_SEND = 2_000
TYPE = "order.changed"
PLANS = ("p1", "p2", "p3", "p4", "p5")
FAILING = ("p2", "p4")
FAILURES = 2
PROGRESS = "ce_gristmillprogress"
RETRY_MS = 1_250
TRIES = 5
"""Enough to see the waits start again from the bottom."""

FLOODED_S_MAX = 3.0
"""A busy machine may take that long now and then; behind the flood an alarm would wait for all of it."""

WITHIN_S = 60.0


async def ordered_through_kills(ground: Ground, *, keys: int, per_key: int, kills: int, within_s: float) -> None:
    """AC-MS-1: every key in its order, every record once, every copy counted, through failures and kills."""
    table, told, metrics = table_of(route(TYPE)), Told(FAILURE_SHARE), fresh_metrics()
    topic = table.find(TYPE).topic
    log, _ = await ground.open()
    sent = [
        Envelope(id=f"{key}-{number}", type=TYPE, key=f"key-{key}", source_rev=number + 1)
        for number in range(per_key)
        for key in range(keys)
        for _ in range(2)
    ]
    sender = sender_of(log, table)
    for start in range(0, len(sent), RECORDS_PER_SEND):
        await sender.send(sent[start : start + RECORDS_PER_SEND])

    async def begin() -> Consumer:
        own_log, cache = await ground.open()
        return Consumer(own_log, cache, table, {"plan": told.jump}, metrics=metrics)

    consumers = [await begin() for _ in range(CONSUMERS)]
    count = keys * per_key
    for number in range(kills):
        # In the middle of the work, whatever the machine is busy with.
        due = count * (number + 1) // (kills + 1)
        await until(partial(told.has_applied, due), within_s=within_s)
        # Over a log without partitions one works at a time, and the others wait for its end.
        victim = next(consumer for consumer in consumers if consumer.has_claimed)
        consumers.remove(victim)
        await victim.kill()
        await ground.close(victim.log)
        consumers.append(await begin())
    await until_done(consumers[0].log, [topic], within_s=within_s)
    for consumer in consumers:
        await consumer.stop()
        await ground.close(consumer.log)
    for key in range(keys):
        assert told.applied[f"key-{key}"] == [f"{key}-{number}" for number in range(per_key)]
    assert await log.dead_letters() == []
    assert ended(metrics, TYPE, "done") >= count
    assert ended(metrics, TYPE, "copy") >= count
    assert len(told.calls) > count, "nothing failed"
    await ground.close(log)


async def one_signal_for_five_plans(ground: Ground, *, order: Order) -> None:
    """AC-MS-2: only the plans that failed are called again, and nobody else waits for them."""
    signal = route("heat.exceeded", *PLANS, tier="urgent", order=order)
    table = table_of(signal, route(TYPE, "other", tier="urgent", order=order))
    plans = {plan: Told() for plan in PLANS}
    other = Told()

    def fail_twice(plan: str) -> Jump:
        async def jump(envelope: Envelope) -> Jumped:
            answer = await plans[plan].jump(envelope)
            if len(plans[plan].calls) <= FAILURES:
                raise RuntimeError("not yet")
            return answer

        return jump

    jumps = {plan: fail_twice(plan) if plan in FAILING else told.jump for plan, told in plans.items()}
    log, cache = await ground.open()
    metrics = fresh_metrics()
    settings = msgspec.structs.replace(QUICK, cycle=Cycle(base_ms=RETRY_MS, factor=1))
    consumer = Consumer(log, cache, table, jumps | {"other": other.jump}, metrics=metrics, settings=settings)
    sender = sender_of(log, table)
    await sender.send([Envelope(id="signal", type=signal.type, key="7")])
    await until(lambda: all(told.calls for told in plans.values()))
    await sender.send([Envelope(id=f"other-{number}", type=TYPE, key=f"{number}") for number in range(20, 40)])
    await until(lambda: len(other.calls) == 20)
    # The next try comes after four fifths of this wait at the earliest, so the others took less than a second.
    assert [len(told.calls) for told in plans.values()] == [1] * 5
    await until_done(log, [signal.topic], within_s=WITHIN_S)
    await consumer.stop()
    assert [len(told.calls) for told in plans.values()] == [1, 1 + FAILURES, 1, 1 + FAILURES, 1]
    tries = plans["p2"].calls
    known = {plan: "failed" if plan in FAILING else "done" for plan in PLANS}
    assert [(one.attempt, one.progress) for one in tries] == [(1, {}), (2, known), (3, known)]
    if order == "none":
        stored = [record.headers async for batch in log.read_all(signal.topic) for record in batch]
        assert [json.loads(one[PROGRESS]) for one in stored if PROGRESS in one] == [known, known]
    assert ended(metrics, signal.type, "done") == 1
    await ground.close(log)


async def a_flood_of_bulk(ground: Ground, *, count: int, for_s: float) -> None:
    """AC-MS-3: what is urgent does not wait behind what is bulk."""
    table = table_of(route("bulk.changed", "bulk", tier="bulk"), route("alarm.raised", "urgent", tier="urgent"))
    bulk, waits_s = Told(), dict[str, float]()
    sent_at: dict[str, float] = {}

    async def urgent(envelope: Envelope) -> Jumped:
        waits_s[envelope.id] = time.monotonic() - sent_at[envelope.id]
        return "done"

    log, cache = await ground.open()
    sender = sender_of(log, table)
    consumer = Consumer(log, cache, table, {"bulk": bulk.jump, "urgent": urgent}, metrics=fresh_metrics())

    async def raise_alarms(name: str, *, for_s: float) -> float:
        """Send 20 a second, and return the longest wait but for the two longest in a hundred."""
        ids = [f"{name}-{number}" for number in range(int(for_s * 20))]
        for id_ in ids:
            sent_at[id_] = time.monotonic()
            await sender.send([Envelope(id=id_, type="alarm.raised", key=id_)])
            await asyncio.sleep(1 / 20)
        await until(lambda: waits_s.keys() >= set(ids))
        return sorted(waits_s[id_] for id_ in ids)[-1 - len(ids) // 100]

    await raise_alarms("first", for_s=0.5)
    idle_s = await raise_alarms("idle", for_s=1.0)
    for start in range(0, count, RECORDS_PER_SEND):
        numbers = range(start, min(count, start + RECORDS_PER_SEND))
        await sender.send([Envelope(id=f"{n}", type="bulk.changed", key=f"{n % 1_000}") for n in numbers])
    flooded_s = await raise_alarms("flooded", for_s=for_s)
    left = (await log.lag("messages.test.bulk", GROUP)).undelivered
    await consumer.kill()
    await ground.close(log)
    assert len(bulk.calls) > 0, "bulk stood still"
    assert left > 0, "the flood was over before its time"
    assert flooded_s <= idle_s + FLOODED_S_MAX


async def a_receiver_that_is_down(ground: Ground, *, count: int) -> None:
    """AC-MS-4 in real time and small: waits as they should be, and all done soon after the receiver is back."""
    cycle = Cycle(base_ms=40, top_ms=320)
    table, is_back = table_of(route(TYPE, order="none")), asyncio.Event()
    tries: defaultdict[str, list[float]] = defaultdict(list)

    async def jump(envelope: Envelope) -> Jumped:
        tries[envelope.id].append(time.monotonic())
        if not is_back.is_set():
            raise ConnectionError("down")
        return "done"

    log, cache = await ground.open()
    settings = msgspec.structs.replace(QUICK, cycle=cycle)
    consumer = Consumer(log, cache, table, {"plan": jump}, metrics=fresh_metrics(), settings=settings)
    await sender_of(log, table).send([Envelope(id=f"{number}", type=TYPE) for number in range(count)])
    await until(lambda: len(tries) == count and all(len(times) > TRIES for times in tries.values()))
    is_back.set()
    await until_done(log, ["messages.test.normal"], within_s=WITHIN_S)
    await consumer.stop()
    await ground.close(log)
    steps = [40, 80, 160, 320]
    for times in tries.values():
        waits_ms = [1_000 * (later - earlier) for earlier, later in pairwise(times)]
        # Late is the machine; early would be wrong. One tick of the clock of the log is a millisecond.
        assert all(wait_ms >= 0.8 * steps[number % 4] - 2 for number, wait_ms in enumerate(waits_ms))
