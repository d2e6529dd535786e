"""Streams that somebody else writes, read under their own names and left as they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.domain.errors import ConfigError, UsageError
from gristmill.domain.log import Delivery, Diagnosis, NewRecord
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip

FOREIGN = {"raw.news": "", "raw.packed": "payload"}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp("redis"), program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
async def log(process: RedisProcess) -> AsyncIterator[RedisLog]:
    process.say("FLUSHALL")
    log = RedisLog(RedisServer(RedisTarget(url=process.url, foreign=FOREIGN)), SystemClock())
    yield log
    await log.close()


async def claim(log: RedisLog, topic: str = "raw.news", *, group: str = "g") -> list[Delivery]:
    return await log.claim(topic, group, owner="me", limit=100, lease_ms=60_000)


async def test_all_fields_of_an_entry_together_are_the_record(process: RedisProcess, log: RedisLog) -> None:
    process.say("XADD", "raw.news", "*", "id", "7", "text", "Café")
    [one] = await claim(log)
    assert one.value == '{"id":"7","text":"Café"}'.encode()
    assert await log.accept([one.lease]) == [True]
    assert await claim(log) == []
    [stored] = [record async for batch in log.read_all("raw.news") for record in batch]
    assert stored.value == one.value
    assert await log.topics() == ["raw.news"]


async def test_one_field_is_the_record_byte_for_byte(process: RedisProcess, log: RedisLog) -> None:
    await log.check()
    raw = bytes(range(256))
    await log._server.do("XADD", "raw.packed", "*", "by", "us", "payload", raw)
    process.say("XADD", "raw.packed", "*", "by", "us")
    first, without = await claim(log, "raw.packed")
    assert (first.value, first.headers) == (raw, {})
    assert without.value == b'{"by":"us"}'


async def test_entries_that_look_like_records_of_ours_are_taken_as_they_are(
    process: RedisProcess, log: RedisLog
) -> None:
    process.say("XADD", "raw.news", "*", "v", "1", "t", "noon", "d", "never")
    process.say("XADD", "raw.news", "*", "v", "2", "t", "1", "x", "y", "d", "99999999999999")
    found = await claim(log)
    assert [one.value for one in found] == [
        b'{"v":"1","t":"noon","d":"never"}',
        b'{"v":"2","t":"1","x":"y","d":"99999999999999"}',
    ]
    assert (await log.lag("raw.news", "g")).in_flight == 2


async def test_nothing_of_others_is_deleted_and_nothing_is_written(process: RedisProcess, log: RedisLog) -> None:
    for number in range(3):
        process.say("XADD", "raw.news", "*", "id", str(number))
    found = await claim(log)
    await log.accept([one.lease for one in found])
    await log.upkeep.run(["raw.news"], now="", now_ms=0)
    assert await log.trim("raw.news", upto=found[-1].lease.offset) == 0
    assert process.say("XLEN", "raw.news") == b":3\r\n"
    process.say("XGROUP", "CREATE", "raw.news", "theirs", "0")
    assert await log.upkeep.groups_of("raw.news") == ["g"]
    with pytest.raises(UsageError, match=r"log\.foreign"):
        await log.append("raw.news", [NewRecord(b"ours")])


async def test_a_group_of_others_is_not_taken_over(process: RedisProcess, log: RedisLog) -> None:
    process.say("XADD", "raw.news", "*", "id", "7")
    process.say("XGROUP", "CREATE", "raw.news", "theirs", "0")
    with pytest.raises(ConfigError, match="theirs"):
        await claim(log, group="theirs")
    assert len(await claim(log)) == 1


async def test_a_failed_record_comes_again_and_a_dead_letter_shows_what_came(
    process: RedisProcess, log: RedisLog
) -> None:
    await log.check()
    raw = b"\xff\x00\xfe"
    await log._server.do("XADD", "raw.packed", "*", "payload", raw)
    [one] = await claim(log, "raw.packed")
    await log.release([one.lease])
    [again] = await claim(log, "raw.packed")
    assert (again.value, again.attempt) == (raw, 2)
    assert await log.reject(again.lease, Diagnosis("broken", "on purpose")) == "written"
    [letter] = await log.dead_letters(topic="raw.packed")
    assert letter.value == raw
    assert await log.requeue(letter.dead_letter_id)
    [revived] = await claim(log, "raw.packed")
    assert revived.value == raw
