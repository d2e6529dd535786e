"""Topics that somebody else makes and writes, on a real broker: their records end as items with labels."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.commit import StoredQuarantine
from gristmill.domain.upkeep.finding import Finding
from tests.commands import run, started, write
from tests.on_kafka.backends import fresh_prefix, require_kafka, start_broker
from tests.unit.intake.codecs.schemas import SOURCE, avro_record, avro_schema, descriptor_set, protobuf_record

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

DONE_WITHIN_S = 120.0
LOOK_AGAIN_S = 0.3
SPOILED = b"\xff\xfe not a record \x00"
FRAME = b"\x00\x00\x00\x00\x07"

FLOW = '''
"""A label for whoever shouts, for posts of three foreign topics."""
import msgspec

from gristmill import Flow, Generator, Item, Label, Plan, cell, task


@cell("shout")
class Shout(msgspec.Struct, frozen=True):
    labels: tuple[Label, ...] = ()


@task
def shout(item: Item) -> Shout:
    return Shout((Label("loud", 1.0, "it shouts"),) if item.text.isupper() else ())


flow = Flow(
    "shouting",
    plans=[Plan("shouting", tasks=[shout])],
    generators=[
        Generator(type=f"of-{name}", topic=f"{name}.PREFIX", plans=("shouting",), source=f"{name}_posts")
        for name in ("json", "protobuf", "avro")
    ],
)
'''

ORIGINS = {
    "json": "{log: raw.json, decode: json}",
    "protobuf": "{log: raw.protobuf, decode: protobuf, descriptor: posts.binpb, message: posts.v1.Post}",
    "avro": "{log: raw.avro, decode: avro, schema: posts.avsc, framing: confluent}",
}


def json_post(number: int, text: str) -> bytes:
    return json.dumps({"id": number, "text": text, "likes": number, "by": {"name": "Ann"}}).encode()


def protobuf_post(number: int, text: str) -> bytes:
    return protobuf_record({"id": str(number), "text": text, "likes": number, "by": {"name": "Ann"}})


def avro_post(number: int, text: str) -> bytes:
    fields = {"id": number, "text": text, "lang": "en", "likes": number, "made_at": 0, "tags": []}
    return FRAME + avro_record({**fields, "by": {"name": "Ann"}})


WRITERS: dict[str, Callable[[int, str], bytes]] = {"json": json_post, "protobuf": protobuf_post, "avro": avro_post}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_kafka()
    address, broker = start_broker(tmp_path_factory.mktemp("kafka"))
    yield address
    if broker is not None:
        broker.stop()


def produce(brokers: str, prefix: str) -> None:
    """Write each topic as its owner would: with headers of its own, some that look like ours, and spoiled records."""
    admin = AdminClient({"bootstrap.servers": brokers, "log_level": 0})
    topics = [NewTopic(f"{name}.{prefix}", 2, 1) for name in WRITERS]
    for future in admin.create_topics(topics).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
    for name, make in WRITERS.items():
        for number in range(1, 6):
            producer.produce(
                f"{name}.{prefix}",
                make(number, "HELP" if number == 3 else f"post {number}"),
                key=f"k{number}".encode(),
                headers=[("gm-due", b"99999999999999"), ("fault", b"theirs"), ("trace", b"\xff")],
            )
        producer.produce(f"{name}.{prefix}", SPOILED)
        producer.produce(f"{name}.{prefix}", None, key=b"k1")
    assert producer.flush(30) == 0


def settings_of(brokers: str, prefix: str) -> dict[str, str]:
    return {
        "GRISTMILL_LOG__BACKEND": "kafka",
        "GRISTMILL_LOG__BROKERS": brokers,
        "GRISTMILL_LOG__TOPIC_PREFIX": prefix,
        "GRISTMILL_LOG__FOREIGN": ",".join(f"{name}.{prefix}" for name in WRITERS),
        "GRISTMILL_FLOWS__ENABLED": "shouting",
        "GRISTMILL_API__ENABLED": "false",
        "GRISTMILL_GRPC__ENABLED": "off",
    }


def sources_in(folder: Path) -> Path:
    folder.mkdir()
    (folder / "posts.binpb").write_bytes(descriptor_set().SerializeToString())
    (folder / "posts.avsc").write_bytes(avro_schema())
    for name, origin in ORIGINS.items():
        text = SOURCE.replace("{from}", origin).replace("source: posts", f"source: {name}_posts")
        write(folder / f"{name}.yaml", text)
    return folder


async def look(state: Path) -> tuple[dict[str, set[str]], list[StoredQuarantine]]:
    """Return the labels of all items by source and input id, and the quarantine."""
    if not await asyncio.to_thread((state / "gristmill.sqlite").exists):
        return {}, []
    store = SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner="audit:0:0", is_log_apart=True)
    try:
        labels: dict[str, set[str]] = {}
        for name in WRITERS:
            found = await store.state.resolve(f"{name}_posts", [str(number) for number in range(1, 6)])
            for input_id, item_id in found.items():
                runs = await store.state.runs(item_id)
                labels[f"{name}/{input_id}"] = {label.val for one in runs for label in one.labels}
        return labels, list(await store.state.quarantined(limit=100))
    finally:
        await store.close()


async def test_foreign_topics_of_three_formats_end_as_items_and_bad_records_in_quarantine(
    brokers: str, tmp_path: Path
) -> None:
    prefix = fresh_prefix()
    produce(brokers, prefix)
    state = tmp_path / "state"
    flow = write(tmp_path / "shouting.py", FLOW.replace("PREFIX", prefix))
    env = {**settings_of(brokers, prefix), "GRISTMILL_SOURCES__PATHS": str(sources_in(tmp_path / "sources"))}
    wanted = {f"{name}/{number}": {"loud"} if number == 3 else set() for name in WRITERS for number in range(1, 6)}
    with started("up", "--state", state, "--flow", flow, env=env) as group:
        deadline = time.monotonic() + DONE_WITHIN_S
        labels, quarantine = await look(state)
        while len(labels) < len(wanted) or len(quarantine) < 2 * len(WRITERS):
            assert group.poll() is None, "the group has ended"
            assert time.monotonic() < deadline, f"{labels} and {quarantine}"
            await asyncio.sleep(LOOK_AGAIN_S)
            labels, quarantine = await look(state)
    assert labels == wanted
    spoiled = {one.generator: one for one in quarantine if one.raw == SPOILED}
    assert {name: one.reason for name, one in spoiled.items()} == {
        "of-json": "bytes",
        "of-protobuf": "decode",
        "of-avro": "decode",
    }
    assert "is no message posts.v1.Post" in " ".join(spoiled["of-protobuf"].violations)
    assert sorted(one.generator for one in quarantine if one.raw == b"") == ["of-avro", "of-json", "of-protobuf"]


def test_the_doctor_judges_real_brokers_and_the_trial_reads_a_foreign_topic(brokers: str, tmp_path: Path) -> None:
    prefix = fresh_prefix()
    produce(brokers, prefix)
    env = settings_of(brokers, prefix)
    told = run("doctor", "--json", "--outage-hours", "100", "--state", tmp_path / "state", env=env)
    assert told.returncode == 0, told.stderr
    verdicts = {one.check: one.verdict for one in msgspec.json.decode(told.stdout, type=list[Finding])}
    assert verdicts["kafka reachable"] == verdicts["kafka message.max.bytes"] == verdicts["kafka timestamps"] == "ok"
    assert verdicts["kafka replicas"] == verdicts["kafka retention"] == "warning"
    assert verdicts[f"kafka topic avro.{prefix}"] == "ok"
    greedy = {**env, "GRISTMILL_LOG__REPLICAS": "3", "GRISTMILL_FLOWS__ENABLED": ""}
    assert run("doctor", "--state", tmp_path / "state", env=greedy).returncode == 2
    refused = run("up", "--topic", "t", "--plan", "screen", "--state", tmp_path / "state", env=greedy)
    assert (refused.returncode, "kafka replicas" in refused.stderr) == (2, True), refused.stderr
    source = sources_in(tmp_path / "sources") / "avro.yaml"
    tried = run("source", "try", source, "--topic", f"avro.{prefix}", "--state", tmp_path / "state", env=env)
    assert tried.returncode == 3
    assert "5  accepted" in tried.stdout
    assert "2  quarantined:decode" in tried.stdout
