"""Files become published revisions, and running processes take the newest up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.errors import ConfigError, StaleRead, Unavailable
from gristmill.domain.intake import MappedRecord
from gristmill.intake.metrics import IntakeMetrics
from gristmill.intake.sources.catalogue import KIND, LiveSources, load_source, publish_source, read_folder
from gristmill.intake.sources.mapper import SourceMapper, compile_source
from gristmill.intake.sources.reader import read_source
from gristmill.ports.definitions import Definition
from gristmill.testing.clock import FakeClock
from tests.unit.intake.sources.samples import NEWS, encode, news, record

CLOCK = FakeClock()
OTHER = NEWS.replace("size(item.title) < 2", "size(item.title) < 3")


def compiled(text: str) -> SourceMapper:
    return compile_source(read_source(text, file="news.yaml"))


async def publish(store: MemoryStore, text: str, *, expected: int | None = None, is_only_if_new: bool = False) -> int:
    published = await publish_source(
        store.definitions, compiled(text), actor="me", clock=CLOCK, expected=expected, is_only_if_new=is_only_if_new
    )
    return published.revision


async def test_each_change_is_a_revision_and_equal_content_is_none() -> None:
    store = MemoryStore(CLOCK)
    assert [await publish(store, text) for text in (NEWS, NEWS, OTHER, NEWS)] == [1, 1, 2, 3]
    history = await store.definitions.history(KIND, "news_feed", tenant="main")
    assert [(one.revision, one.body == NEWS, one.actor) for one in history] == [
        (1, True, "me"),
        (2, False, "me"),
        (3, True, "me"),
    ]
    with pytest.raises(StaleRead):
        await publish(store, OTHER, expected=1)


async def test_an_old_file_that_lies_about_does_not_undo_a_later_revision() -> None:
    store = MemoryStore(CLOCK)
    await publish(store, NEWS)
    await publish(store, OTHER)
    assert await publish(store, NEWS, is_only_if_new=True) == 1
    assert [one.revision for one in await store.definitions.latest(KIND)] == [2]
    assert await publish(store, NEWS + "# new\n", is_only_if_new=True) == 3


def test_folders_and_files_are_read_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(NEWS, encoding="utf-8")
    (tmp_path / "b.yml").write_text(NEWS.replace("news_feed", "other"), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no source", encoding="utf-8")
    found = read_folder([str(tmp_path)])
    assert [mapper.definition.name for mapper in found] == ["news_feed", "other"]
    with pytest.raises(ConfigError, match="two files define source 'news_feed'"):
        read_folder([str(tmp_path), str(tmp_path / "a.yaml")])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_source(tmp_path / "nothing.yaml")


async def test_a_published_revision_is_live_within_a_second_or_two() -> None:
    clock = FakeClock(is_jumping=True)
    store = MemoryStore(clock)
    live = LiveSources(store.definitions, clock)
    await live.refresh()
    assert live.find("news_feed") is None
    running = asyncio.create_task(live.run())
    revisions = []
    for text in (NEWS, OTHER):
        await publish(store, text)
        await clock.sleep_ms(1_500)
        found = live.find("news_feed")
        assert found is not None
        revisions.append(found.revision)
    running.cancel()
    assert revisions == [1, 2]


async def test_a_revision_that_cannot_be_read_leaves_the_earlier_one_at_work() -> None:
    store = MemoryStore(CLOCK)
    live = LiveSources(store.definitions, CLOCK)
    await publish(store, NEWS)
    await live.refresh()
    broken = Definition(
        kind=KIND, tenant="main", name="news_feed", revision=0, hash="x", at_ms=0, actor="me", body="source: 5"
    )
    await store.definitions.publish(broken)
    await live.refresh()
    found = live.find("news_feed")
    assert found is not None
    assert found.revision == 1


async def test_a_pinned_source_stays_and_a_tenant_stands_in_the_address() -> None:
    store = MemoryStore(CLOCK)
    pinned = news()
    live = LiveSources(store.definitions, CLOCK, pinned=[pinned])
    await publish(store, OTHER)
    await publish(
        store, NEWS.replace("source: news_feed", "source: news_feed\ntenant: acme").replace("ext.main", "ext.acme")
    )
    await live.refresh()
    assert live.find("news_feed") is pinned
    found = live.find("acme/news_feed")
    assert found is not None
    assert found.definition.tenant == "acme"


async def test_a_registry_that_is_away_leaves_what_is_there_at_work() -> None:
    class Away:
        async def version(self) -> int:
            raise Unavailable("store is down")

        async def latest(self, kind: str) -> Sequence[Definition]:
            raise AssertionError

    clock = FakeClock(is_jumping=True)
    live = LiveSources(Away(), clock, pinned=[news()])  # type: ignore[arg-type]
    running = asyncio.create_task(live.run())
    await clock.sleep_ms(5_000)
    assert not running.done()
    running.cancel()
    assert live.find("news_feed") is not None


async def test_what_became_of_records_is_handed_over_in_one_go() -> None:
    text = NEWS.replace("size(item.title) < 2", "item.body.size() / item.ext.main.heat > 1000")
    registry = CollectorRegistry()
    metrics = IntakeMetrics(registry)
    live = LiveSources(MemoryStore(CLOCK).definitions, CLOCK, pinned=[news(text)])
    source = live.find("news_feed")
    assert source is not None
    cold = record()
    cold["stats"]["heat"] = 0
    for value in (record(), cold, record(lang="de"), {}):
        live.count("news_feed", source.map(encode(value)))
    assert isinstance(source.map(encode(record())), MappedRecord)
    live.hand_over(metrics)
    live.hand_over(metrics)

    def sample(outcome: str, reason: str) -> float | None:
        labels = {"source": "news_feed", "outcome": outcome, "reason": reason}
        return registry.get_sample_value("gristmill_intake_records_total", labels)

    assert (sample("accepted", ""), sample("filtered", "foreign"), sample("quarantined", "mapping")) == (2, 1, 1)
    labels = {"source": "news_feed", "filter": "too_short"}
    assert registry.get_sample_value("gristmill_intake_filter_errors_total", labels) == 1
