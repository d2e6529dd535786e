"""The pump over a store of its own and an outlet that can be taken away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.errors import Unavailable
from gristmill.domain.outbox import NewOutboxRow, OutboxStanding
from gristmill.intake.outbox import OutboxMetrics, OutboxPump
from gristmill.intake.outbox.core import decide_retry_ms, describe_overdue
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.outbox import Sender, outbox_rows
from gristmill.testing.faults import armed
from tests.apart.outboxes import open_state
from tests.unit.intake.outbox.outlets import FakeOutlet

WITHIN_S = 20.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    store = open_state(tmp_path / "store.sqlite", clock)
    yield store
    await store.close()


class Pumped:
    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        self.outbox = store.outbox
        self.outlet = FakeOutlet()
        self.registry = CollectorRegistry()
        self.pump = OutboxPump(store.outbox, self.outlet, clock, OutboxMetrics(self.registry))

    def count(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"gristmill_outbox_{name}", labels)


@pytest.fixture
def pumped(store: SqliteStore, clock: FakeClock) -> Pumped:
    return Pumped(store, clock)


async def test_rows_of_all_topics_are_sent_in_few_calls_and_let_go_of(pumped: Pumped) -> None:
    await pumped.outbox.add([*outbox_rows("a", "b"), *outbox_rows("x", topic="u"), *outbox_rows("c")])
    assert await pumped.pump.run_once() == 4
    assert pumped.outlet.records == {"t": [b"a", b"b", b"c"], "u": [b"x"]}
    assert sorted(pumped.outlet.calls) == [("t", 3), ("u", 1)]
    assert pumped.outlet.markers == {}
    assert pumped.count("dispatch_total", topic="t", result="sent") == 3
    assert (pumped.count("pending"), pumped.count("oldest_age_seconds")) == (0, 0)


async def test_many_rows_go_in_batches_of_a_hundred(pumped: Pumped) -> None:
    await pumped.outbox.add(outbox_rows(*map(str, range(250))))
    assert await pumped.pump.run_once() == 250
    assert pumped.outlet.calls == [("t", 100), ("t", 100), ("t", 50)]
    # Of the confirmed ones a pass lets a hundred go; those that follow are due at once.
    assert len(pumped.outlet.markers) == 150
    for left in (50, 0):
        await pumped.pump.run_once()
        assert len(pumped.outlet.markers) == left


async def test_one_bad_row_does_not_stop_its_batch_and_is_tried_again_later(pumped: Pumped, clock: FakeClock) -> None:
    await pumped.outbox.add(outbox_rows("a", "bad", "b"))
    with capture_logs() as logs:
        assert await pumped.pump.run_once() == 3
    assert pumped.outlet.records == {"t": [b"a", b"b"]}
    assert [(one["event"], one["again_in_ms"]) for one in logs] == [("outbox row refused", 1_000)]
    assert pumped.count("dispatch_total", topic="t", result="refused") == 1
    assert await pumped.pump.run_once() == 0
    clock.advance(1_000)
    assert await pumped.pump.run_once() == 1
    assert (await pumped.outbox.standing()).last_error == "record: 'bad' (make it smaller)"
    clock.advance(1_999)
    assert await pumped.pump.run_once() == 0


async def test_a_pass_stops_at_a_log_that_is_away_and_nothing_is_counted_against_the_rows(
    pumped: Pumped, clock: FakeClock
) -> None:
    await pumped.outbox.add([*outbox_rows("a"), *outbox_rows("x", topic="away"), *outbox_rows("y", topic="z")])
    assert await pumped.pump.run_once() == 1
    assert pumped.outlet.calls == [("t", 1), ("away", 1)]
    assert pumped.outlet.markers  # Nothing is forgotten while the log is away.
    assert pumped.count("dispatch_total", topic="z", result="unsent") == 1
    assert await pumped.outbox.standing() == OutboxStanding(2, clock.now_ms())


async def test_a_log_that_is_not_fit_is_waited_for_and_no_fault_of_the_rows(pumped: Pumped) -> None:
    pumped.outlet.is_unfit = True
    await pumped.outbox.add(outbox_rows("a", "b"))
    assert await pumped.pump.run_once() == 0
    pumped.outlet.is_unfit = False
    assert await pumped.pump.run_once() == 2


async def test_what_is_confirmed_is_kept_while_the_log_cannot_forget_it(pumped: Pumped) -> None:
    await pumped.outbox.add(outbox_rows("a"))
    await pumped.outbox.dispatch(Sender())
    pumped.outlet.is_unfit = True
    with capture_logs() as logs:
        assert await pumped.pump.run_once() == 0
    assert [one["event"] for one in logs] == ["outbox waits"]
    pumped.outlet.is_unfit = False
    assert await pumped.pump.run_once() == 0
    assert pumped.outlet.forgotten == [b"a"]


async def test_a_bad_row_is_found_alone_until_the_log_goes_away(pumped: Pumped) -> None:
    await pumped.outbox.add(outbox_rows("bad", "b"))
    append = pumped.outlet.append

    async def cut_after_the_first(topic: str, rows: list[object]) -> list[int]:
        pumped.outlet.is_down = len(pumped.outlet.calls) == 2
        return await append(topic, rows)  # type: ignore[arg-type]

    pumped.outlet.append = cut_after_the_first  # type: ignore[method-assign,assignment]
    assert await pumped.pump.run_once() == 1
    assert pumped.outlet.calls == [("t", 2), ("t", 1), ("t", 1)]
    assert (await pumped.outbox.standing()).pending == 2


async def test_rows_that_wait_for_too_long_raise_an_alarm(pumped: Pumped, clock: FakeClock) -> None:
    pumped.outlet.is_down = True
    await pumped.outbox.add(outbox_rows("a"))
    with capture_logs() as logs:
        for pause_ms in (0, 30_000, 1_000, 30_000, 31_000):
            clock.advance(pause_ms)
            await pumped.pump.run_once()
    assert pumped.pump.alarm == "1 outbox rows wait, the oldest for 92 s: log is away"
    assert pumped.count("oldest_age_seconds") == 92
    assert [one["event"] for one in logs] == ["outbox waits", "outbox is overdue", "outbox is overdue"]
    pumped.outlet.is_down = False
    with capture_logs() as logs:
        await pumped.pump.run_once()
    assert pumped.pump.alarm == ""
    assert [one["event"] for one in logs] == ["outbox is sent again"]


async def test_it_sends_what_is_added_at_once_and_goes_on_after_any_failure(pumped: Pumped, clock: FakeClock) -> None:
    running = asyncio.create_task(pumped.pump.run())
    try:
        async with asyncio.timeout(WITHIN_S):
            with armed("outbox.sent:raise"):
                await pumped.outbox.add(outbox_rows("a"))
                await _until(lambda: pumped.outlet.records == {"t": [b"a"]})
                await clock.somebody_waits()
            clock.advance(1_000)
            await _until(lambda: pumped.count("dispatch_total", topic="t", result="sent") == 2)
            await pumped.outbox.add([NewOutboxRow("t", outbox_rows("b")[0].record)])
            await _until(lambda: pumped.outlet.records == {"t": [b"a", b"b"]})
            await _until(lambda: not pumped.outlet.markers)
            assert not running.done()
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_it_outlives_a_bell_that_fails_and_tries_again_after_a_pause(
    pumped: Pumped, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    async def fail(*, timeout_ms: int) -> None:
        calls.append(timeout_ms)
        raise RuntimeError("no bell")

    monkeypatch.setattr(pumped.outbox, "wait", fail)
    running = asyncio.create_task(pumped.pump.run())
    try:
        async with asyncio.timeout(WITHIN_S):
            for count in (1, 2):
                await _until(lambda count=count: len(calls) == count)  # type: ignore[misc]
                await clock.somebody_waits()
                clock.advance(1_000)
            assert not running.done()
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_a_log_that_takes_records_and_forgets_none_is_told_of_once(pumped: Pumped) -> None:
    await pumped.outbox.add(outbox_rows("a"))
    pumped.outlet.cannot_forget = True
    with capture_logs() as logs:
        for _ in range(3):
            await pumped.pump.run_once()
    assert [one["event"] for one in logs] == ["outbox waits"]


async def test_a_store_that_cannot_be_reached_is_told(pumped: Pumped, store: SqliteStore) -> None:
    await store.close()
    with pytest.raises(Unavailable):
        await pumped.pump.run_once()


def test_pauses_of_a_refused_row_double_up_to_ten_minutes() -> None:
    assert [decide_retry_ms(attempts) for attempts in (0, 1, 5, 9, 10, 1_000)] == [
        1_000,
        2_000,
        32_000,
        512_000,
        600_000,
        600_000,
    ]


def test_an_alarm_names_the_cause_as_far_as_it_is_known() -> None:
    assert describe_overdue(OutboxStanding(), now_ms=99_000, problem="x") == ""
    assert describe_overdue(OutboxStanding(1, 0), now_ms=30_000, problem="x") == ""
    for problem, last_error, why in (("p", "e", "p"), ("", "e", "e"), ("", "", "nobody sends them")):
        told = describe_overdue(OutboxStanding(2, 0, last_error), now_ms=30_001, problem=problem)
        assert told == f"2 outbox rows wait, the oldest for 30 s: {why}"


async def _until(is_so: Callable[[], bool]) -> None:
    while True:
        if is_so():
            return
        await asyncio.sleep(0.01)
