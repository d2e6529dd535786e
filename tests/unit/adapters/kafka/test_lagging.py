"""How far a group is behind, told while records come in and partitions leave."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import cast

from gristmill.adapters.kafka.admin import TopicAdmin
from gristmill.adapters.kafka.core.book import Book, Fetched
from gristmill.adapters.kafka.core.naming import Names, pack_offset
from gristmill.adapters.kafka.core.tracker import OffsetTracker
from gristmill.adapters.kafka.lagging import LagMeter
from gristmill.adapters.kafka.member import GroupMember
from gristmill.adapters.kafka.settings import KafkaSettings
from gristmill.domain.log import Lag


class Brokers:
    """One partition of one topic with two records, of which one is done; something happens at the first question."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens: Callable[[], object] | None = happens

    async def ends(self, topic: str) -> list[int]:
        if self._happens is not None:
            happens, self._happens = self._happens, None
            happens()
        return [2] if topic == "t" else []

    async def committed(self, group: str, topic: str) -> dict[int, tuple[int, str]]:
        return {0: (1, "")} if topic == "t" else {}

    async def beginnings(self, topic: str) -> list[int]:
        return [0] if topic == "t" else []


async def measure(book: Book, happens: Callable[[], object]) -> Lag:
    settings = KafkaSettings(brokers="127.0.0.1:1", client={})
    meter = LagMeter(settings, names=Names(""), admin=cast(TopicAdmin, Brokers(happens)))
    member = cast(GroupMember, SimpleNamespace(book=book, lost_count=0))
    try:
        return await meter.measure("t", "g", member=member, dead=0, now_ms=1_001)
    finally:
        await meter.close()


def make_book() -> Book:
    book = Book("t", "g", 100, "none", False)
    book.assign(("t", 0), OffsetTracker(1))
    return book


async def test_a_record_that_comes_in_meanwhile_is_counted_once() -> None:
    book = make_book()
    record = Fetched(("t", 0), 1, pack_offset(1, 0), b"x", "", {}, 1_000)
    lag = await measure(book, partial(book.on_fetched, record, now_ms=1_000))
    assert lag == Lag(undelivered=1, in_flight=0, waiting=0, oldest_age_ms=1, dead=0)


async def test_a_partition_that_leaves_meanwhile_is_asked_about_again() -> None:
    book = make_book()
    book.assign(("t.g.retry.5s", 0), OffsetTracker(0))
    book.on_fetched(Fetched(("t.g.retry.5s", 0), 0, 0, b"x", "", {}, 1_000, 1, 0, 9_000, True), now_ms=1_000)
    lag = await measure(book, partial(book.unassign, ("t", 0)))
    assert (lag.undelivered, lag.waiting, lag.oldest_age_ms) == (1, 1, 1)
