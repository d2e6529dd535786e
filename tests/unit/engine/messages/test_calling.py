"""What becomes of one record, over memory and a clock that jumps."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import msgspec
import pytest

from gristmill.domain.errors import DataError
from gristmill.domain.log import NewRecord
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.fan_out import Jumped
from gristmill.engine.messages.core.routes import Order
from gristmill.engine.messages.core.wire import write_record
from gristmill.engine.messages.settings import MessageSettings
from tests.messages.consumers import Told, ended, route, table_of
from tests.unit.engine.messages.serving import Serving

TOPIC = "messages.test.normal"
ONE = Envelope(id="1", type="t", key="7", source_rev=3)


async def test_a_record_goes_to_each_of_its_plans_once() -> None:
    a, b = Told(), Told()
    serving = Serving(table_of(route("t", "a", "b")), {"a": a.jump, "b": b.jump})
    await serving.work(ONE, ONE)
    assert [len(told.calls) for told in (a, b)] == [1, 1]
    assert (ended(serving.metrics, "t", "done"), ended(serving.metrics, "t", "copy")) == (1, 1)
    assert a.calls[0].at_ms > 0


async def test_the_same_id_of_another_source_or_tenant_is_no_copy() -> None:
    told = Told()
    serving = Serving(table_of(route("t")), {"plan": told.jump})
    others = [msgspec.structs.replace(ONE, source="/other"), msgspec.structs.replace(ONE, tenant="other")]
    await serving.work(ONE, *others)
    assert len(told.calls) == 3


async def test_a_plan_that_is_not_here_is_not_applicable_and_final() -> None:
    told = Told()
    serving = Serving(table_of(route("t", "here", "gone")), {"here": told.jump})
    await serving.work(ONE)
    assert serving.metrics.jumps.labels("gone", "not_applicable")._value.get() == 1
    assert ended(serving.metrics, "t", "done") == 1


@pytest.mark.parametrize("order", ["key", "none"])
async def test_bad_data_is_rejected_and_final_while_other_plans_are_tried_again(order: Order) -> None:
    calls: list[str] = []

    async def rejects(envelope: Envelope) -> Jumped:
        calls.append("rejects")
        raise DataError("position of the run", value="published")

    async def fails_once(envelope: Envelope) -> Jumped:
        calls.append("fails")
        if calls.count("fails") == 1:
            raise RuntimeError("not yet")
        assert envelope.progress == {"rejects": "rejected", "fails": "failed"}
        return "done"

    serving = Serving(table_of(route("t", "rejects", "fails", order=order)), {"rejects": rejects, "fails": fails_once})
    await serving.work(ONE)
    assert (calls.count("rejects"), calls.count("fails")) == (1, 2)
    assert serving.metrics.retries.labels("t")._value.get() == 1


async def test_a_plan_that_answers_what_is_not_legal_has_failed() -> None:
    async def odd(envelope: Envelope) -> Jumped:
        return cast(Jumped, "maybe")

    serving = Serving(table_of(route("t", attempts=1)), {"plan": odd})
    await serving.work(ONE)
    [diagnosis] = await serving.diagnoses()
    assert "answer of plan 'plan': 'maybe' (legal: done, not_applicable, rejected)" in diagnosis.error_text


async def test_a_plan_that_gives_no_answer_has_failed() -> None:
    async def silent(envelope: Envelope) -> Jumped:
        await asyncio.Event().wait()
        return "done"

    serving = Serving(table_of(route("t", attempts=1)), {"plan": silent})
    parts: Any = serving.service._calling._parts
    quick = MessageSettings(jump_timeout_ms=1)
    serving.service._calling._parts = msgspec.structs.replace(parts, settings=quick)
    await serving.work(ONE)
    [diagnosis] = await serving.diagnoses()
    assert "plan: TimeoutError" in diagnosis.error_text


@pytest.mark.parametrize("order", ["key", "none"])
async def test_a_record_whose_tries_are_spent_is_given_up_and_gets_as_many_when_it_comes_back(order: Order) -> None:
    calls: list[int] = []

    async def fails(envelope: Envelope) -> Jumped:
        calls.append(envelope.attempt)
        raise RuntimeError("never")

    serving = Serving(table_of(route("t", "fails", "works", attempts=3, order=order)), {"fails": fails})
    await serving.work(ONE)
    [letter] = await serving.log.dead_letters()
    assert letter.diagnosis.error_text.startswith("tried 3 times: fails: RuntimeError: never")
    assert ended(serving.metrics, "t", "given_up") == 1
    await serving.log.requeue(letter.dead_letter_id)
    await serving.work()
    assert len(calls) == 6
    assert len(await serving.log.dead_letters()) == 1


async def test_a_type_without_a_route_is_kept_as_a_dead_letter_that_names_the_nearest_one() -> None:
    told = Told()
    serving = Serving(table_of(route("comment.published")), {"plan": told.jump})
    await serving.append(TOPIC, [write_record(msgspec.structs.replace(ONE, type="comment.publishd"))])
    await serving.append(TOPIC, [NewRecord(b"{}")])
    await serving.work(msgspec.structs.replace(ONE, type="comment.published"))
    said = {diagnosis.error_class: diagnosis.error_text for diagnosis in await serving.diagnoses()}
    assert said.keys() == {"UnknownType", "DataError"}
    assert "did you mean 'comment.published'" in said["UnknownType"]
    assert len(told.calls) == 1
    assert serving.metrics.refused.labels("UnknownType")._value.get() == 1


async def test_P7_a_record_of_an_old_revision_is_dropped_and_counted() -> None:
    told = Told()

    async def newest(envelope: Envelope) -> int:
        return 3

    table = table_of(route("t", drops_stale=True), route("u"))
    serving = Serving(table, {"plan": told.jump}, newest=newest)
    old = [msgspec.structs.replace(ONE, id=str(revision), source_rev=revision) for revision in (0, 2, 3)]
    await serving.work(*old, msgspec.structs.replace(ONE, type="u", id="kept", source_rev=1))
    assert [envelope.id for envelope in told.calls] == ["0", "3", "kept"]
    assert ended(serving.metrics, "t", "stale") == 1


async def test_a_record_that_waits_holds_its_key_and_no_other() -> None:
    calls: list[str] = []

    async def fails_once(envelope: Envelope) -> Jumped:
        calls.append(envelope.id)
        if calls == ["a1"]:
            raise RuntimeError("not yet")
        return "done"

    serving = Serving(table_of(route("t")), {"plan": fails_once})
    ids = ["a1", "a2", "b1", "a3", "b2"]
    await serving.work(*(Envelope(id=id_, type="t", key=id_[0]) for id_ in ids))
    assert calls == ["a1", "b1", "b2", "a1", "a2", "a3"]


async def test_what_a_crash_left_over_of_an_earlier_try_goes() -> None:
    told = Told()
    serving = Serving(table_of(route("t", order="none")), {"plan": told.jump})
    second = write_record(msgspec.structs.replace(ONE, attempt=2), origin="there/1")
    first = write_record(ONE, origin="there/1")
    await serving.append(TOPIC, [second])
    await serving.work()
    await serving.append(TOPIC, [first])
    await serving.work()
    assert [envelope.attempt for envelope in told.calls] == [2]
    assert ended(serving.metrics, "t", "left_over") == 1


async def test_a_record_that_was_released_by_hand_is_given_up_and_its_key_goes_on() -> None:
    calls: list[str] = []
    released: list[bool] = []

    async def fails_first(envelope: Envelope) -> Jumped:
        calls.append(envelope.id)
        if envelope.id == "1" and not came_back.is_set():
            released.append(await serving.service.release("1"))
            raise RuntimeError("never")
        return "done"

    came_back = asyncio.Event()
    serving = Serving(table_of(route("t")), {"plan": fails_first})
    assert not await serving.service.release("1")
    await serving.work(ONE, msgspec.structs.replace(ONE, id="2"))
    assert (calls, released) == (["1", "2"], [True])
    [letter] = await serving.log.dead_letters()
    assert "released by hand" in letter.diagnosis.error_text
    came_back.set()
    await serving.log.requeue(letter.dead_letter_id)
    await serving.work()
    assert calls == ["1", "2", "1"]
    assert await serving.log.dead_letters() == []
