"""What a scrape holds, and that it stays small (AC-UN-93)."""

from __future__ import annotations

import asyncio

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gristmill import Item, Plan, Skip, task
from gristmill.adapters.clock import SystemClock
from gristmill.domain.log import NewRecord
from gristmill.engine.settings import DispatcherSettings
from gristmill.plans.plan import Generator
from tests.dispatching import World

POSTS = 10_000
SERIES_MAX = 2_000
ORIGIN_FAILED = 'gristmill_dispatcher_result_failed_final_total{origin="G"} 1.0'


@task
def choosy(item: Item) -> Skip | None:
    return Skip(f"post {item.input_id} is none of ours") if item.text.endswith("7") else None


@task(attempts=1)
def fragile(item: Item) -> None:
    if item.text.startswith("bad"):
        raise ValueError(f"the text of {item.input_id} is bad")


def mixed_post(number: int) -> str:
    """Every tenth post is broken, every thirteenth fails; each has words of its own."""
    return f"{'!' * (number % 10 == 0)}{'bad ' * (number % 13 == 0)}post {number}"


async def test_AC_UN_093_a_failure_is_counted_by_its_origin() -> None:
    world = World([Plan("mixed", tasks=[choosy, fragile])], [Generator(type="G", topic="posts", plans=("mixed",))])
    await world.append("posts", "bad")
    async with world.running():
        await world.settle("posts", "G")
        await world.clock.sleep_ms(5_000)
    assert ORIGIN_FAILED in generate_latest(world.registry).decode().splitlines()


async def test_AC_UN_093_ten_thousand_mixed_posts_make_few_series() -> None:
    world = World(
        [Plan("mixed", tasks=[choosy, fragile]), Plan("other", tasks=[choosy])],
        [
            Generator(type="G", topic="posts", plans=("mixed", "other")),
            Generator(type="H", topic="more", plans=("mixed",)),
        ],
        clock=SystemClock(),
        dispatcher=DispatcherSettings(max_in_flight=256),
    )
    for topic in ("posts", "more"):
        await world.log.append(topic, [NewRecord(mixed_post(number).encode()) for number in range(POSTS // 2)])
    async with world.running():
        async with asyncio.timeout(60):
            while await open_records(world):
                await world.clock.sleep_ms(50)
        scrape = generate_latest(world.registry).decode()
    series = sum(len(family.samples) for family in text_string_to_metric_families(scrape))
    assert 0 < series < SERIES_MAX


async def open_records(world: World) -> int:
    """Return how many first deliveries have not ended; what waits in recovery does not matter here."""
    lags = [await world.log.lag(topic, group) for topic, group in (("posts", "G"), ("more", "H"))]
    return sum(lag.undelivered + lag.in_flight for lag in lags)
