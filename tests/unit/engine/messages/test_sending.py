from __future__ import annotations

import msgspec
import pytest

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import DataError
from gristmill.engine.messages.core.envelope import Envelope
from gristmill.engine.messages.core.routes import RoutingTable, UnknownType
from gristmill.engine.messages.sending import MessageSender
from gristmill.ports import log as ports_log
from gristmill.testing.clock import FakeClock
from tests.messages.consumers import fresh_metrics, route, table_of

TABLE = table_of(route("t"), route("loose", order="none"), route("alarm", tier="urgent"))
ONE = Envelope(id="1", type="t", key="7")


class Sending:
    def __init__(self, table: RoutingTable = TABLE) -> None:
        clock = FakeClock()
        self.log, self.metrics = MemoryStore(clock).log, fresh_metrics()
        self.sender = MessageSender(self.log, table, clock, metrics=self.metrics)


async def test_each_record_goes_to_the_topic_of_its_type() -> None:
    sending = Sending()
    await sending.sender.send([ONE, msgspec.structs.replace(ONE, type="alarm"), ONE])
    assert [await sending.log.end(f"messages.test.{tier}") for tier in ("urgent", "normal")] == [1, 2]
    assert sending.metrics.sent.labels("alarm", "urgent")._value.get() == 1


async def test_nothing_is_appended_when_one_record_cannot_be_routed() -> None:
    sending = Sending()
    with pytest.raises(UnknownType, match="did you mean 'alarm'"):
        await sending.sender.send([ONE, msgspec.structs.replace(ONE, type="alarn")])
    with pytest.raises(DataError, match="id of a record is empty"):
        await sending.sender.send([ONE, msgspec.structs.replace(ONE, id="")])
    assert await sending.log.topics() == []
    assert sending.metrics.refused.labels("UnknownType")._value.get() == 1


async def test_many_records_take_several_appends(monkeypatch: pytest.MonkeyPatch) -> None:
    sending = Sending()
    monkeypatch.setattr("gristmill.engine.messages.sending.RECORDS_PER_CALL_MAX", 2)
    assert ports_log.RECORDS_PER_CALL_MAX > 2
    await sending.sender.send([msgspec.structs.replace(ONE, id=str(number)) for number in range(5)])
    assert await sending.log.end("messages.test.normal") == 5


def test_the_key_of_a_record_is_its_content_only_where_order_is_kept() -> None:
    sending = Sending()
    topic, record = sending.sender.route(ONE)
    assert (topic, record.key) == ("messages.test.normal", "7")
    _, loose = sending.sender.route(msgspec.structs.replace(ONE, type="loose"))
    assert (loose.key, loose.headers["ce_partitionkey"]) == ("", "7")
