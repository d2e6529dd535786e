"""Settings become rules, and a service keeps to them and says what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import structlog
from prometheus_client import CollectorRegistry

from gristmill.domain.upkeep.retention import HeldTopic, RetentionRules, StandingGroup, TableUse
from gristmill.plans.plan import Generator
from gristmill.runtime.retention.metrics import RetentionMetrics
from gristmill.runtime.retention.rules import rules_of
from gristmill.runtime.retention.service import RetentionSweep
from gristmill.runtime.settings import RetentionSection, Settings
from gristmill.runtime.spec import GroupSpec
from gristmill.testing.clock import FakeClock

DAY_MS = 86_400_000


def test_the_defaults_keep_what_a_person_may_ask_for_a_month() -> None:
    rules = rules_of(RetentionSection(), [])
    assert (rules.inputs_ms, rules.runs_ms, rules.events_ms, rules.letters_ms) == (30 * DAY_MS,) * 4
    assert (rules.quarantine_ms, rules.items_ms) == (90 * DAY_MS, 0)
    assert RetentionSection().sweep_interval_s == 30


def test_every_generator_must_have_claimed_from_its_topics() -> None:
    generators = [
        Generator(type="one", topic="posts", plans=("a",)),
        Generator(type="two", topic="posts", plans=("b",)),
    ]
    assert rules_of(RetentionSection(runs_days=0.5), generators) == RetentionRules(
        inputs_ms=30 * DAY_MS,
        letters_ms=30 * DAY_MS,
        events_ms=30 * DAY_MS,
        runs_ms=DAY_MS // 2,
        quarantine_ms=90 * DAY_MS,
        abandoned_ms=7 * DAY_MS,
        groups={"posts": ("one", "two"), "one.recovery": ("one",), "two.recovery": ("two",)},
    )


class FakeUpkeep:
    """Says that it let go of something."""

    def __init__(self) -> None:
        self.rules: list[RetentionRules] = []
        self.as_of_ms: int | None = None
        self.standing_groups: list[StandingGroup] = []
        self.held_topics = [
            HeldTopic("posts", 1_500_000, FakeClock().now_ms() - 9_000, "slow"),
            HeldTopic("else", 3, 0, ""),
        ]

    async def sweep(self, rules: RetentionRules, *, now_ms: int, is_clock_right: bool = False) -> Mapping[str, int]:
        self.rules.append(rules)
        return {"log": 7}

    async def measure(self, rules: RetentionRules) -> Sequence[TableUse]:
        return []

    async def oldest(self) -> Mapping[str, int]:
        return {"log": FakeClock().now_ms() - 5_000}

    async def held(self, rules: RetentionRules) -> Sequence[HeldTopic]:
        return self.held_topics

    async def standing(self, rules: RetentionRules, *, now_ms: int) -> Sequence[StandingGroup]:
        return self.standing_groups

    async def free_bytes(self) -> int:
        return 4_096


async def test_a_sweep_is_measured() -> None:
    registry, upkeep = CollectorRegistry(), FakeUpkeep()
    settings = Settings()
    settings = msgspec.structs.replace(
        settings, store=msgspec.structs.replace(settings.store, retention=RetentionSection(items_days=1))
    )
    generators = (Generator(type="slow", topic="posts", plans=("a",)),)
    spec = GroupSpec(state_dir="state", settings=settings, generators=generators)
    sweep = RetentionSweep(upkeep, spec, FakeClock(), RetentionMetrics(registry))
    with structlog.testing.capture_logs() as logs:
        await sweep.run_once()
        await sweep.run_once()
    told = [entry for entry in logs if entry["log_level"] == "warning"]
    assert [(entry["topic"], entry["behind"], entry["oldest_s"]) for entry in told] == [("posts", "slow", 9)]
    assert registry.get_sample_value("gristmill_retention_topic_records", {"topic": "posts"}) == 1_500_000
    assert registry.get_sample_value("gristmill_retention_topic_records", {"topic": "else"}) is None
    assert upkeep.rules[0].items_ms == DAY_MS
    assert registry.get_sample_value("gristmill_retention_rows_deleted_total", {"table": "log"}) == 14
    assert registry.get_sample_value("gristmill_retention_oldest_seconds", {"table": "log"}) == 5
    assert registry.get_sample_value("gristmill_retention_free_bytes") == 4_096
    assert registry.get_sample_value("gristmill_retention_sweep_seconds") == 0


def _spec(**changes: Any) -> GroupSpec:
    return GroupSpec(state_dir="state", settings=Settings(), **changes)


async def test_records_wait_for_generators_that_are_configured_and_not_served_by_this_group() -> None:
    upkeep = FakeUpkeep()
    served, awaited = (Generator(type=name, topic="posts", plans=("a",)) for name in ("posts.b", "slow"))
    spec = _spec(generators=(served,), awaited=(awaited,))
    await RetentionSweep(upkeep, spec, FakeClock(), RetentionMetrics(CollectorRegistry())).run_once()
    assert upkeep.rules[0].groups["posts"] == ("posts.b", "slow")


async def test_a_clock_that_leaps_ahead_is_told_once_an_hour() -> None:
    upkeep, clock = FakeUpkeep(), FakeClock()
    sweep = RetentionSweep(upkeep, _spec(), clock, RetentionMetrics(CollectorRegistry()))
    with structlog.testing.capture_logs() as logs:
        for as_of_ms in (None, clock.now_ms(), clock.now_ms() - DAY_MS, clock.now_ms() - DAY_MS):
            upkeep.as_of_ms = as_of_ms
            await sweep.run_once()
        clock.advance(3_600_000)
        await sweep.run_once()
    told = [entry["ahead_s"] for entry in logs if "clock" in entry["event"]]
    assert told == [86_400, 90_000]


async def test_a_group_that_nobody_serves_is_told_before_it_is_let_go_and_after() -> None:
    registry, upkeep, clock = CollectorRegistry(), FakeUpkeep(), FakeClock()
    sweep = RetentionSweep(upkeep, _spec(), clock, RetentionMetrics(registry))
    began_ms = clock.now_ms()
    with structlog.testing.capture_logs() as logs:
        for hours in (0, 2, 2, 169):
            clock.advance(hours * 3_600_000 - (clock.now_ms() - began_ms))
            upkeep.standing_groups = [StandingGroup("posts", "old", began_ms, hours > 168)]
            await sweep.run_once()
    told = [(entry["event"], entry.get("lets_go_in_s")) for entry in logs if entry.get("group") == "old"]
    assert told == [("nobody serves a group", 166 * 3_600), ("group holds no records back any more", None)]
    labels = {"topic": "posts", "group": "old"}
    assert registry.get_sample_value("gristmill_retention_standing_seconds", labels) == 169 * 3_600
    upkeep.standing_groups = []
    await sweep.run_once()
    assert registry.get_sample_value("gristmill_retention_standing_seconds", labels) == 0


async def test_a_topic_of_few_large_records_is_told_too() -> None:
    upkeep = FakeUpkeep()
    upkeep.held_topics = [HeldTopic("posts", 300, 0, "slow", bytes=2 << 30)]
    with structlog.testing.capture_logs() as logs:
        await RetentionSweep(upkeep, _spec(), FakeClock(), RetentionMetrics(CollectorRegistry())).run_once()
    assert [entry["records"] for entry in logs if entry["event"] == "topic grows"] == [300]
