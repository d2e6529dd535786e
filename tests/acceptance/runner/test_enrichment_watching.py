"""What can be seen of a group from outside, and of a record from within."""

from __future__ import annotations

import asyncio

import pytest
import structlog
import structlog.testing
from prometheus_client import CollectorRegistry

from gristmill.adapters.clock import SystemClock
from gristmill.domain.errors import Unavailable
from gristmill.domain.log import Lag, NewRecord
from gristmill.engine.runner.lag import LagPoll
from gristmill.engine.runner.metrics import LagMetrics
from gristmill.ports.handling import Handling
from gristmill.ports.log import Log
from tests.runners.driving import append, driving, has_nothing_left, until
from tests.runners.places import Places

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


class Down:
    """A log that cannot be asked."""

    async def lag(self, topic: str, group: str) -> Lag:
        raise Unavailable("log", value="down")


@pytest.mark.parametrize("places", ["sqlite", "redis"], indirect=True)
async def test_AC_EN_085_what_nobody_has_read_is_seen_without_any_member(places: Places, log: Log) -> None:
    await append(log, *(str(number) for number in range(100)))
    registry = CollectorRegistry()

    def read(name: str) -> float | None:
        return registry.get_sample_value(f"gristmill_{name}", {"topic": "t", "group": "g"})

    metrics = LagMetrics(registry)
    poll = asyncio.create_task(LagPoll(log, [("t", "g")], SystemClock(), metrics).run())
    await until(lambda: read("lag_poll_up") == 1, within_s=10)
    poll.cancel()
    assert (read("lag_undelivered"), read("lag_in_flight"), read("lag_dead")) == (100, 0, 0)
    await LagPoll(Down(), [("t", "g")], SystemClock(), metrics).run_once()  # type: ignore[arg-type]
    assert (read("lag_poll_up"), read("lag_undelivered")) == (0, 100)


@pytest.mark.parametrize("places", ["redis", pytest.param("kafka", marks=pytest.mark.cluster)], indirect=True)
async def test_AC_EN_088_the_trace_of_a_record_reaches_handler_model_and_every_line(places: Places, log: Log) -> None:
    capture = structlog.testing.LogCapture()
    seen: dict[str, str] = {}

    def model() -> None:
        """Stand for a client of a model, which knows nothing of records."""
        seen["model"] = structlog.contextvars.get_contextvars()["trace_id"]
        structlog.get_logger().info("model called")

    async def handle(handling: Handling) -> None:
        seen["handler"] = handling.trace_id
        structlog.get_logger().info("handled")
        await asyncio.to_thread(model)

    headers = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01", "item_id": "42"}
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture])
    try:
        await log.append("t", [NewRecord(b"a", headers=headers)])
        async with driving(log, handle, places.settings):
            await until(lambda: len(seen) == 2)
            await until(has_nothing_left(log))
    finally:
        structlog.reset_defaults()
    assert seen == {"handler": TRACE_ID, "model": TRACE_ID}
    bound = {line["event"]: line for line in capture.entries if line.get("trace_id") == TRACE_ID}
    assert set(bound) == {"handled", "model called"}
    for line in bound.values():
        assert (line["topic"], line["group"], line["item_id"], line["attempt"]) == ("t", "g", "42", 1)
