"""What a log on Redis does when somebody else meddles with the server, or the network between breaks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.redis import RedisLog, RedisServer, RedisTarget
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable
from gristmill.domain.log import Diagnosis, NewRecord
from gristmill.domain.upkeep.retention import RetentionRules
from gristmill.domain.upkeep.topics import LossyRule
from gristmill.ports.clock import Clock
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import LEASE_MS, claim, records, values
from gristmill.testing.cut_proxy import CutProxy
from gristmill.testing.redis_server import RedisProcess
from tests.redis_servers import program_or_skip

HEALED_WITHIN_S = 5.0
STREAM = "gristmill:{t}"

Open = Callable[..., RedisLog]


@pytest.fixture(scope="module", params=["valkey", pytest.param("redis", marks=pytest.mark.cluster)])
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path_factory.mktemp(request.param), program=program_or_skip(request.param))
    process.start()
    yield process
    process.stop()


@pytest.fixture
async def open_log(process: RedisProcess) -> AsyncIterator[Open]:
    process.say("FLUSHALL")
    opened: list[RedisLog] = []

    def open_it(clock: Clock | None = None, *, port: int = 0, **options: Any) -> RedisLog:
        url = f"redis://127.0.0.1:{port or process.port}"
        is_server_time = clock is None
        log = RedisLog(
            RedisServer(RedisTarget(url=url)), clock or SystemClock(), is_server_time=is_server_time, **options
        )
        opened.append(log)
        return log

    yield open_it
    for log in opened:
        await log.close()


@pytest.fixture
def proxy(process: RedisProcess) -> Iterator[CutProxy]:
    proxy = CutProxy(process.port)
    yield proxy
    proxy.close()


async def test_a_record_that_vanished_under_a_lease_becomes_a_letter_without_value(
    process: RedisProcess, open_log: Open
) -> None:
    clock = FakeClock()
    log = open_log(clock)
    await log.append("t", records("a", "b"))
    a, b = await claim(log)
    place = f"{a.lease.offset}-0"
    assert process.say("XDEL", STREAM, place) == b":1\r\n"
    clock.advance(LEASE_MS)
    assert values(await claim(log, owner="you")) == ["b"]
    [letter] = await log.dead_letters()
    assert (letter.offset, letter.value, letter.diagnosis.error_class) == (a.lease.offset, b"", "vanished")
    assert (await log.lag("t", "g")).lost == 1
    assert await log.accept([b.lease]) == [False]


async def test_records_that_vanished_unread_are_counted_and_told(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    await log.append("t", records(*"abcdef"))
    assert values(await claim(log, limit=1)) == ["a"]
    process.say("XTRIM", STREAM, "MAXLEN", "1")
    assert values(await claim(log)) == ["f"]
    lag = await log.lag("t", "g")
    assert (lag.lost, lag.undelivered) == (4, 0)
    [letter] = await log.dead_letters()
    assert letter.diagnosis.error_class == "vanished"
    process.say("XTRIM", STREAM, "MAXLEN", "0")
    await log.append("t", records("g", "h"))
    process.say("XTRIM", STREAM, "MAXLEN", "0")
    assert await claim(log) == []
    assert ((await log.lag("t", "g")).lost, (await log.lag("t", "g")).undelivered) == (6, 0)
    await log.append("t", records("i"))
    assert (await log.lag("t", "g")).undelivered == 1
    assert values(await claim(log)) == ["i"]


async def test_a_lossy_topic_keeps_about_what_it_may_and_counts_the_rest(open_log: Open) -> None:
    log = open_log(rules=RetentionRules(lossy={"t": LossyRule(max_entries=100)}))
    await claim(log)
    for _ in range(20):
        await log.append("t", [NewRecord(b"x" * 100)] * 100)
    [*kept] = [record async for batch in log.read_all("t") for record in batch]
    assert 100 <= len(kept) < 400
    got = await claim(log, limit=1_000)
    assert len(got) == len(kept)
    assert (await log.lag("t", "g")).lost == 2_000 - len(kept)
    assert await log.dead_letters() == []


async def test_one_claim_moves_a_bounded_number_of_bytes(open_log: Open) -> None:
    log = open_log()
    await log.append("t", [NewRecord(b"x" * 2 * 1024 * 1024)] * 10)
    first, second = await claim(log, limit=100), await claim(log, limit=100)
    assert [len(first), len(second)] == [8, 2]
    await log.release([one.lease for one in [*first, *second]])
    assert [len(await claim(log, limit=100)) for _ in range(2)] == [8, 2]


async def test_trim_goes_on_behind_what_it_has_deleted(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    offsets = [offset for _ in range(3) for offset in await log.append("t", [NewRecord(b"x")] * 1_500)]
    stuck = None
    while deliveries := await claim(log, limit=1_000):
        leases = [one.lease for one in deliveries]
        if stuck is None:
            stuck = leases.pop(700)
        await log.accept(leases)
    assert await log.trim("t", upto=offsets[-1]) == 4_499
    assert await log.trim("t", upto=offsets[-1]) == 0
    assert stuck is not None
    await log.accept([stuck])
    await log.append("t", [NewRecord(b"y")])
    assert await log.trim("t", upto=offsets[-1] + 1) == 1
    assert process.say("XLEN", STREAM) == b":1\r\n"
    assert (await log.lag("t", "g")).undelivered == 1


async def test_a_topic_that_others_write_is_read_as_it_is(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    process.say("XADD", STREAM, "*", "item_id", "7", "kind", "post")
    process.say("XADD", STREAM, "*", "item_id", "8")
    first, second = await claim(log)
    assert (first.value, second.value) == (b'{"item_id":"7","kind":"post"}', b'{"item_id":"8"}')
    assert first.lease.offset < second.lease.offset
    assert first.appended_at_ms > 1_700_000_000_000
    assert await log.accept([first.lease]) == [True]
    assert await log.reject(second.lease, Diagnosis("E", "text")) == "written"
    [letter] = await log.dead_letters(topic="t")
    assert letter.value == b'{"item_id":"8"}'
    [offset] = await log.append("t", records("ours"))
    assert offset > second.lease.offset
    assert values(await claim(log)) == ["ours"]
    assert await log.end("t") == 3
    assert (await log.lag("t", "g")).undelivered == 0


async def test_others_may_begin_to_write_a_topic_of_ours(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    [first] = await log.append("t", records("a"))
    assert values(await claim(log)) == ["a"]
    process.say("XADD", STREAM, "*", "item_id", "7")
    assert values(await claim(log)) == ['{"item_id":"7"}']
    [later] = await log.append("t", records("b"))
    assert later > first
    assert values(await claim(log)) == ["b"]
    lag = await log.lag("t", "g")
    assert (lag.lost, lag.undelivered, await log.end("t")) == (0, 0, 3)
    assert await log.dead_letters() == []


async def test_operators_see_who_holds_what(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    await log.append("t", records("a", "b"))
    a, b = await claim(log, owner="worker")
    await log.release([b.lease], delay_ms=60_000)
    seen = process.say("XPENDING", STREAM, "g")
    assert b"worker" in seen
    assert b"~parked" in seen
    held = await log.hold_of("t", "g", a.lease.offset)
    assert held is not None
    assert (held.owner, held.attempt) == ("worker", 1)
    await log.accept([a.lease])
    assert await log.hold_of("t", "g", a.lease.offset) is None


async def test_offsets_are_never_used_again_after_a_loss_of_everything(process: RedisProcess, open_log: Open) -> None:
    before = await open_log().append("t", records("a", "b"))
    process.say("FLUSHALL")
    await asyncio.sleep(0.01)
    after = await open_log().append("t", records("c"))
    assert after[0] > before[-1]


async def test_an_append_whose_answer_is_lost_happens_once(open_log: Open, proxy: CutProxy) -> None:
    log = open_log(port=proxy.port)
    await log.append("t", records("a"))
    proxy.mute(is_muted=True)
    appending = asyncio.ensure_future(log.append("t", records("b")))
    await asyncio.sleep(0.3)
    proxy.mute(is_muted=False)
    proxy.cut()
    await appending
    assert await log.end("t") == 2


async def test_a_claim_whose_answer_is_lost_is_answered_by_the_next(open_log: Open, proxy: CutProxy) -> None:
    log = open_log(port=proxy.port)
    await log.append("t", records("a", "b", "c"))
    assert values(await claim(log, limit=1)) == ["a"]
    proxy.mute(is_muted=True)
    claiming = asyncio.ensure_future(claim(log, limit=1))
    await asyncio.sleep(0.3)
    proxy.mute(is_muted=False)
    proxy.cut()
    with pytest.raises(OutcomeUnknown):
        await claiming
    [again] = await claim(log, limit=1)
    assert (again.value, again.attempt) == (b"b", 1)
    assert values(await claim(log)) == ["c"]


async def test_a_cut_heals_at_once(open_log: Open, proxy: CutProxy) -> None:
    log = open_log(port=proxy.port)
    for number in range(50):
        await log.append("t", records(str(number)))
        proxy.cut()
    assert await log.end("t") == 50


async def test_a_half_open_connection_is_given_up_in_time(open_log: Open, proxy: CutProxy) -> None:
    log = open_log(port=proxy.port)
    await log.append("t", records("a"))
    proxy.stall(is_stalled=True)
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await claim(log)
    assert time.monotonic() - began < HEALED_WITHIN_S
    proxy.stall(is_stalled=False)
    assert values(await claim(log)) == ["a"]


async def test_a_bell_is_heard_again_after_a_cut(open_log: Open, proxy: CutProxy) -> None:
    log, other = open_log(port=proxy.port), open_log()
    assert await claim(log) == []
    await log.wait(["t"], timeout_ms=200)
    for number in range(3):
        proxy.cut()
        await other.append("t", records(str(number)))
        began = time.monotonic()
        found: list[str] = []
        while not found:
            await log.wait(["t"], timeout_ms=1_000)
            try:
                found = values(await claim(log))
            except Unavailable:
                continue
        assert time.monotonic() - began < HEALED_WITHIN_S


async def test_a_killed_server_loses_nothing_that_was_answered(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    await log.append("t", records("a", "b"))
    [a] = await claim(log, limit=1)
    process.kill()
    with pytest.raises(Unavailable):
        await log.append("t", records("no"))
    process.start()
    assert await log.accept([a.lease]) == [True]
    assert values(await claim(log)) == ["b"]


async def test_an_idle_consumer_asks_little(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    await log.append("t", records("a"))
    await claim(log)
    await log.wait(["t"], timeout_ms=500)

    def count() -> int:
        text = process.say("INFO", "stats").decode()
        return int(text.split("total_commands_processed:")[1].split("\r\n")[0])

    before, seconds = count(), 4.0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert await claim(log) == []
        await log.wait(["t"], timeout_ms=1_000)
    assert (count() - before) / seconds < 5


async def test_what_is_done_with_goes_by_itself_now_and_then(process: RedisProcess, open_log: Open) -> None:
    clock = FakeClock()
    log = open_log(clock)
    await log.append("t", records("a", "b"))
    a, _ = await claim(log)
    await log.accept([a.lease])
    assert await log.reclaim(me="me") == 0
    assert await log.trimmed("t") == 0
    clock.advance(30_000)
    await log.reclaim(me="me")
    assert await log.trimmed("t") == 1


async def test_members_that_are_gone_are_forgotten(process: RedisProcess, open_log: Open) -> None:
    log = open_log()
    await log.append("t", records("a", "b"))
    await claim(log, owner="holds one", limit=1)
    [b] = await claim(log, owner="long gone")
    await log.accept([b.lease])
    assert await log.upkeep.reap("t", idle_ms_max=0) == 1
    assert b"holds one" in process.say("XINFO", "CONSUMERS", STREAM, "g")


@pytest.mark.parametrize(
    ("command", "match"),
    [
        (("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"), "noeviction"),
        (("REPLICAOF", "127.0.0.1", "1"), "replica"),
    ],
)
async def test_a_server_that_is_not_fit_is_refused(
    process: RedisProcess, open_log: Open, command: tuple[str, ...], match: str
) -> None:
    process.say(*command)
    try:
        with pytest.raises(ConfigError, match=match):
            await open_log().check()
    finally:
        process.say("CONFIG", "SET", "maxmemory-policy", "noeviction")
        process.say("REPLICAOF", "NO", "ONE")


async def test_a_wrong_password_is_named(process: RedisProcess, open_log: Open) -> None:
    log = RedisLog(RedisServer(RedisTarget(url=process.url, password="wrong")), SystemClock())
    with pytest.raises(ConfigError, match=r"log\.password"):
        await log.check()
    await log.close()


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match=r"log\.password") as refused:
        RedisServer(RedisTarget(url="redis://user:hush@127.0.0.1:1"))
    assert "hush" not in str(refused.value)


async def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    log = RedisLog(RedisServer(RedisTarget(url="redis://127.0.0.1:1")), SystemClock())
    with pytest.raises(Unavailable, match="cannot be reached"):
        await log.append("t", records("a"))
    await log.close()
