"""What routed records must do on every backend; the files of the backends say with what numbers."""

from __future__ import annotations

import asyncio

from gristmill.engine.messages.core.envelope import Envelope
from tests.messages.consumers import (
    Consumer,
    Ground,
    Told,
    ended,
    fresh_metrics,
    route,
    sender_of,
    table_of,
    until_done,
)

CONSUMERS = 4
FAILURE_SHARE = 0.05
RECORDS_PER_SEND = 2_000
TYPE = "order.changed"


async def ordered_through_kills(
    ground: Ground, *, keys: int, per_key: int, kills: int, kill_every_s: float, within_s: float
) -> None:
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
    for _ in range(kills):
        await asyncio.sleep(kill_every_s)
        # The one that has worked for the longest: over a log without partitions it is the one that works.
        victim = consumers.pop(0)
        await victim.kill()
        await ground.close(victim.log)
        consumers.append(await begin())
    await until_done(consumers[0].log, [topic], within_s=within_s)
    for consumer in consumers:
        await consumer.stop()
        await ground.close(consumer.log)
    for key in range(keys):
        assert told.applied[f"key-{key}"] == [f"{key}-{number}" for number in range(per_key)]
    count = keys * per_key
    lag = await log.lag(topic, "messages")
    assert (lag.undelivered, lag.in_flight, lag.waiting, lag.dead) == (0, 0, 0, 0)
    assert ended(metrics, TYPE, "done") >= count
    assert ended(metrics, TYPE, "copy") >= count
    assert len(told.calls) > count, "nothing failed"
    await ground.close(log)
