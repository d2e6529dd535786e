"""A stream that somebody else writes, protobuf in one of its fields: items with labels, the rest in quarantine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.testing.redis_server import RedisProcess
from tests.commands import LOUD_FLOW, run, started, write
from tests.redis_servers import program_or_skip
from tests.unit.intake.codecs.schemas import SOURCE, descriptor_set, protobuf_record

DONE_WITHIN_S = 60.0
LOOK_AGAIN_S = 0.2
SPOILED = b"\xff\x00 not a record"
ORIGIN = "{log: raw.posts, decode: protobuf, descriptor: posts.binpb, message: posts.v1.Post}"


@pytest.fixture
def process(tmp_path: Path) -> Iterator[RedisProcess]:
    process = RedisProcess(tmp_path / "redis", program=program_or_skip("valkey"))
    process.start()
    yield process
    process.stop()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "posts.binpb").write_bytes(descriptor_set().SerializeToString())
    return write(tmp_path / "posts.yaml", SOURCE.replace("{from}", ORIGIN))


async def look(state: Path) -> tuple[dict[str, set[str]], list[tuple[bytes, str]]]:
    """Return the labels of the items by input id, and bytes and reason of each record in quarantine."""
    store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner="audit:0:0", is_log_apart=True)
    try:
        labels: dict[str, set[str]] = {}
        for input_id, item_id in (await store.state.resolve("posts", ["1", "2"])).items():
            runs = await store.state.runs(item_id)
            labels[input_id] = {label.val for one in runs for label in one.labels}
        return labels, [(one.raw, one.reason) for one in await store.state.quarantined(limit=10)]
    finally:
        await store.close()


async def test_a_foreign_stream_of_protobuf_is_served_by_a_published_source(
    process: RedisProcess, source: Path, tmp_path: Path
) -> None:
    state, flow = tmp_path / "state", write(tmp_path / "loud.py", LOUD_FLOW)
    with redis.Redis(port=process.port) as theirs:
        for number in (1, 2):
            payload = protobuf_record({"id": str(number), "text": "hello"})
            theirs.xadd("raw.posts", {"payload": payload, "by": "us"})
            if number == 1:
                theirs.xadd("raw.posts", {"payload": SPOILED})
                theirs.xadd("raw.posts", {"by": "us"})
    env = {
        "GRISTMILL_LOG__BACKEND": "redis",
        "GRISTMILL_LOG__URL": process.url,
        "GRISTMILL_LOG__FOREIGN": "raw.posts=payload",
    }
    tried = run("source", "try", source, "--topic", "raw.posts", "--state", state, env=env)
    assert (tried.returncode, "2  accepted" in tried.stdout) == (3, True), tried.stdout + tried.stderr
    assert run("source", "publish", source, "--state", state, env=env).returncode == 0
    arguments = ("--topic", "raw.posts", "--plan", "loud", "--source", "posts", "--flow", flow)
    with started("up", "--state", state, *arguments, env=env) as group:
        deadline = time.monotonic() + DONE_WITHIN_S
        labels, quarantine = await look(state)
        while len(labels) < 2 or len(quarantine) < 2:
            assert group.poll() is None, "the group has ended"
            assert time.monotonic() < deadline, f"{labels} and {quarantine}"
            await asyncio.sleep(LOOK_AGAIN_S)
            labels, quarantine = await look(state)
    assert labels == {"1": {"loud"}, "2": {"loud"}}
    assert quarantine == [(SPOILED, "decode"), (b'{"by":"us"}', "decode")]
    assert process.say("XLEN", "raw.posts") == b":4\r\n"
