"""Intake by Sources: bad records beside good ones, a foreign format by YAML alone, crashes and replays."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from gristmill import Item, Plan, cell, task
from gristmill.adapters.clock import SystemClock
from gristmill.adapters.memory import MemoryStore
from gristmill.adapters.sqlite import SqliteStore
from gristmill.domain.ids import ItemId
from gristmill.domain.log import NewRecord
from gristmill.intake.sources.catalogue import LiveSources, publish_source
from gristmill.intake.sources.mapper import compile_source
from gristmill.intake.sources.reader import read_source
from gristmill.plans.plan import Generator
from gristmill.runtime.composition.decode import RecordDecoder
from tests.dispatching import FakeClock, World


@cell("echo")
class Echo(msgspec.Struct, frozen=True):
    text: str


@task
def echo(item: Item) -> Echo:
    return Echo(item.text)


SOURCE = """\
source: feed
type: post
identity: {biz_id: "$.meta.key", revision: "$.meta.rev"}
map:
  - {to: text, path: "$.body.text", required: true, convert: [strip]}
  - {to: author, path: "$.by.id", convert: [text]}
  - {to: created_at, path: "$.meta.made", convert: [rfc3339]}
  - {to: lang, path: "$.body.lang", default: en}
  - {to: media, path: "$.files[*].url", many: true}
  - {to: ext.main.likes, path: "$.likes", default: 0, convert: [int]}
extension: {ext.main: {type: object, properties: {likes: {type: integer, minimum: 0}}}}
filter: [{drop: advert, when: "item.text.startsWith('AD ')"}]
"""

BROKEN: list[tuple[dict[str, Any] | bytes, set[str]]] = [
    (b'{"meta": {"key": "x"', {"record"}),
    (b"\xff\xfe not text", {"record"}),
    ({"meta": {"rev": 1}, "body": {"text": "a"}}, {"/identity/biz_id"}),
    ({"meta": {"key": "k", "made": "soon"}, "body": {}}, {"/created_at", "/text"}),
    ({"meta": {"key": "k"}, "body": {"text": "a", "lang": "?"}, "files": [{"url": 1}]}, {"/lang", "/media/0"}),
    (
        {"meta": {"key": "k", "rev": []}, "body": {"text": 5}, "likes": -1},
        {"/identity/revision", "/text", "/ext/main/likes"},
    ),
]
"""Six ways to be bad, each with the pointers that must be told."""


def sound(number: int, **body: Any) -> dict[str, Any]:
    return {
        "meta": {"key": f"p{number}", "rev": 1, "made": "2024-01-31T09:30:00Z"},
        "body": {"text": f" text {number} ", **body},
        "by": {"id": number % 7},
        "files": [{"url": "https://example.org/a"}],
    }


def encode(value: dict[str, Any] | bytes) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


async def test_AC_IN_001_bad_records_are_kept_apart_with_every_violation_and_the_good_ones_go_on() -> None:
    bad_at = dict.fromkeys(sorted(random.Random(1).sample(range(1_000), 37)))
    values = [encode(sound(number)) for number in range(1_000)]
    for index, number in enumerate(bad_at):
        values[number] = encode(BROKEN[index % len(BROKEN)][0])
    clock = FakeClock()
    store = MemoryStore(clock)
    sources = LiveSources(store.definitions, clock)
    await publish_source(
        store.definitions, compile_source(read_source(SOURCE, file="feed.yaml")), actor="me", clock=clock
    )
    await sources.refresh()
    generator = Generator(type="G", topic="raw", plans=("echo",), source="feed")
    world = World(
        [Plan("echo", tasks=[echo])], [generator], clock=clock, store=store, decode=RecordDecoder({}, sources)
    )
    offsets = await store.log.append("raw", [NewRecord(value) for value in values])
    async with world.running():
        await world.settle("raw", "G")

    assert (await store.state.counts())["items"] == 963
    runs = await store.state.runs_between("G", after=0, limit=10_000)
    assert [run.position for run in runs] == [offsets[number] for number in range(1_000) if number not in bad_at]
    assert [run.item_id for run in runs] == sorted(run.item_id for run in runs)
    quarantined = await store.state.quarantined("G", limit=1_000)
    assert len(quarantined) == 37
    for index, (number, entry) in enumerate(zip(bad_at, quarantined, strict=True)):
        raw, pointers = BROKEN[index % len(BROKEN)]
        assert (entry.position, entry.raw, entry.source_revision) == (offsets[number], encode(raw), 1)
        assert {violation.split(":")[0] for violation in entry.violations} == pointers
    (ingested,) = [event for event in await store.state.events(runs[0].item_id) if event.kind == "item.ingested"]
    assert ingested.body == {"revision": 1, "source_revision": 1}


FOREIGN = """\
source: wire
type: article/1
identity: {biz_id: "$.Art.Nr", revision: "$.Art.Fassung", at: "$.Art['Stand am']"}
map:
  - {to: title, path: "$.Art.Kopf[0].Zeile", required: true, convert: [collapse, nfc]}
  - {to: body, path: "$.Art.Text", required: true}
  - {to: author, path: "$.Art.Von[?@.Rolle == 'Autor'].Name"}
  - {to: created_at, path: "$.Art.Datum", convert: [epoch_s]}
  - {to: lang, path: "$.Art.Sprache", convert: [strip, lower]}
  - {to: images, path: "$.Art.Bilder[*].Adresse", many: true}
  - {to: ext.main.heat, path: "$.Zahlen.Hitze", default: 1, convert: [float]}
  - {to: ext.main.topics, path: "$.Art.Themen", many: true, convert: [{split: "/"}]}
extension:
  ext.main:
    type: object
    properties: {heat: {type: number}, topics: {type: array, items: {type: string}}}
"""
WIRE = [
    {
        "Art": {
            "Nr": 4711,
            "Fassung": "3",
            "Stand am": "2024-01-31T09:30:00Z",
            "Kopf": [{"Zeile": "  Cafe\u0301   opens "}, {"Zeile": "below"}],
            "Text": "In the old mill.",
            "Von": [{"Rolle": "Redaktion", "Name": "b"}, {"Rolle": "Autor", "Name": "ann"}],
            "Datum": 1_706_693_400,
            "Sprache": "DE",
            "Bilder": [{"Adresse": "https://example.org/1"}, {"Adresse": "https://example.org/2"}],
            "Themen": "town/food",
        },
        "Zahlen": {"Hitze": "2.5"},
    },
    {"Art": {"Nr": "b", "Kopf": [{"Zeile": "Second"}], "Text": "T"}},
]
FLOW = """\
import msgspec
from gristmill import Flow, Item, Plan, cell, task

@cell("seen")
class Seen(msgspec.Struct, frozen=True):
    text: str

@task
def see(item: Item) -> Seen:
    return Seen(item.text)

flow = Flow("seeing", plans=[Plan("see", tasks=[see])])
"""


def gristmill(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gristmill", *map(str, arguments)]
    single = {"GRISTMILL_MAIN__PROCESS_MODEL": "single"}
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **single, **(env or {})}, timeout=60, check=False
    )


def write_lines(path: Path, values: list[Any]) -> Path:
    path.write_bytes(b"".join(encode(value) + b"\n" for value in values))
    return path


async def test_AC_IN_003_a_nested_foreign_format_needs_nothing_but_yaml(tmp_path: Path) -> None:
    source = tmp_path / "wire.yaml"
    source.write_text(FOREIGN, encoding="utf-8")
    (tmp_path / "see.py").write_text(FLOW, encoding="utf-8")
    lines = write_lines(tmp_path / "wire.jsonl", WIRE)

    tried = gristmill("source", "try", source, "--input", lines)
    assert tried.returncode == 0, tried.stderr
    shown = {line.split()[0]: line for line in tried.stdout.splitlines() if line.strip()}
    assert "100.0 %" in shown["title"]
    assert "$.Art.Bilder[*].Adresse" in shown["images"]
    assert "50.0 %" in shown["images"]
    assert '"https://example.org/1"' in shown["images"]
    assert '["town","food"]' in shown["ext.main.topics"]
    assert "accepted" in shown["2"] or "2  accepted" in tried.stdout

    ran = gristmill(
        "run", "--source", source, "--flow", tmp_path / "see.py", "--input", lines, "--state", tmp_path / "s"
    )
    assert ran.returncode == 0, ran.stderr
    first, second = await read_items(tmp_path / "s", "wire", ["4711", "b"])
    assert (first.kind, first.revision, first.author, first.created_at_ms) == ("article", 3, "ann", 1_706_693_400_000)
    assert first.text == "Caf\u00e9 opens\n\nIn the old mill."
    assert dict(first.fields) == {
        "title": "Caf\u00e9 opens",
        "body": "In the old mill.",
        "lang": "de",
        "images": ("https://example.org/1", "https://example.org/2"),
    }
    assert dict(first.ext["main"]) == {"heat": 2.5, "topics": ("town", "food")}
    assert dict(second.fields) == {"title": "Second", "body": "T"}
    assert dict(second.ext["main"]) == {"heat": 1}


def open_store(state: Path) -> SqliteStore:
    return SqliteStore.open(state / "gristmill.sqlite", clock=SystemClock(), owner="test", synchronous="NORMAL")


async def read_items(state: Path, source: str, input_ids: list[str]) -> list[Item]:
    store = open_store(state)
    try:
        known = await store.state.resolve(source, input_ids)
        items = [await store.state.item(known[input_id]) for input_id in input_ids]
        return [item for item in items if item is not None]
    finally:
        await store.close()


KILLS = (
    "append.after:kill",
    "claim.after:kill",
    "commit.before:kill",
    "commit.written:kill:after=1",
    "commit.after:kill:after=2",
    "frame.sent:kill:after=3",
    "commit.written:kill:after=4",
    "claim.after:kill:after=3",
    "commit.after:kill:after=1",
    "commit.before:kill:after=4",
)


async def read_all(state: Path) -> dict[str, Any]:
    """Everything that must not depend on crashes and replays; item ids and times may."""
    store = open_store(state)
    try:
        (generator,) = [topic for topic in await store.log.topics() if topic.startswith("run.")]
        runs = await store.state.runs_between(generator, after=0, limit=10_000)
        items = {run.item_id: await store.state.item(run.item_id) for run in runs}
        events = [await store.state.events(item_id) for item_id in items]
        quarantined = await store.state.quarantined(generator)
        return {
            "runs": [(run.position, run.run_id, run.status, [one.value for one in run.cells]) for run in runs],
            "items": [msgspec.structs.replace(item, item_id=ItemId(0)) for item in items.values() if item],
            "events": [[(event.kind, event.run_id, event.body) for event in of_item] for of_item in events],
            "quarantined": [(one.position, one.raw, one.violations) for one in quarantined],
            "counts": await store.state.counts(),
        }
    finally:
        await store.close()


@pytest.mark.slow
def test_AC_IN_005_ten_kills_and_a_second_pass_change_nothing(tmp_path: Path) -> None:
    values: list[Any] = [sound(number) for number in range(500)]
    values += [sound(number, lang="de") | {"meta": {"key": f"p{number}", "rev": 2}} for number in range(0, 100, 3)]
    values += [sound(number) for number in range(50)]
    values += [value for value, _ in BROKEN] + [sound(900 + number, text="AD buy") for number in range(5)]
    random.Random(5).shuffle(values)
    (tmp_path / "feed.yaml").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "see.py").write_text(FLOW, encoding="utf-8")
    lines = write_lines(tmp_path / "feed.jsonl", values)

    def run(state: Path, fault: str = "") -> int:
        ended = gristmill(
            *("run", "--source", tmp_path / "feed.yaml", "--flow", tmp_path / "see.py", "--input", lines),
            *("--state", state),
            env={"GRISTMILL_FAULT": fault, "GRISTMILL_DISPATCHER__MAX_IN_FLIGHT": "24"},
        )
        return ended.returncode

    assert run(tmp_path / "clean") == 3
    expected = asyncio.run(read_all(tmp_path / "clean"))
    assert len(expected["quarantined"]) == len(BROKEN)
    assert (expected["counts"]["items"], expected["counts"]["runs"]) == (500, 584)

    assert [run(tmp_path / "killed", fault) for fault in KILLS] == [-signal.SIGKILL] * 10
    assert run(tmp_path / "killed") == 3
    assert asyncio.run(read_all(tmp_path / "killed")) == expected

    rewind(tmp_path / "killed" / "gristmill.sqlite")
    assert run(tmp_path / "killed") == 3
    replayed = asyncio.run(read_all(tmp_path / "killed"))
    assert {key: replayed[key] for key in ("runs", "items", "events")} == {
        key: expected[key] for key in ("runs", "items", "events")
    }


def rewind(path: Path) -> None:
    """Put every group back to the beginning of its topic, as a person does who wants a log read once more."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE grp SET cursor = 0, passed = 0; DELETE FROM lease")
    connection.close()
