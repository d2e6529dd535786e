"""The table of what is leased: limits, detached records, fences, and what is lost."""

from __future__ import annotations

from gristmill.domain.log import Delivery, Lease
from gristmill.engine.core.inflight import InFlight


def make_delivery(offset: int, *, epoch: int = 1, group: str = "g") -> Delivery:
    return Delivery(Lease("t", group, offset, "engine-1", epoch), b"", "", {}, 1, 0)


def make_table(*, limit: int = 10) -> InFlight:
    return InFlight(limit=limit, task_timeout_ms=1_000)


def add(table: InFlight, *offsets: int, generator: str = "g", engine: str = "e", now_ms: int = 0) -> list[Lease]:
    deliveries = [make_delivery(offset) for offset in offsets]
    table.add(deliveries, generator=generator, engine=engine, now_ms=now_ms)
    return [delivery.lease for delivery in deliveries]


def test_what_goes_out_takes_room_and_what_ends_gives_it_back() -> None:
    table = make_table(limit=3)
    first, second = add(table, 1, 2)
    assert (len(table), table.free) == (2, 1)
    assert table.take(first)
    assert not table.take(first)
    assert (len(table), table.free, table.leases()) == (1, 2, [second])


def test_a_full_table_has_no_room() -> None:
    table = make_table(limit=1)
    add(table, 1, 2)
    assert table.free == 0


def test_records_are_counted_by_generator_and_by_engine() -> None:
    table = make_table()
    add(table, 1, 2, generator="a", engine="x")
    (third,) = add(table, 3, generator="b", engine="x")
    assert (table.count_of_generator("a"), table.count_of_generator("b")) == (2, 1)
    assert (table.count_of_engine("x"), table.count_of_engine("y")) == (3, 0)
    table.take(third)
    assert (table.count_of_generator("b"), table.count_of_engine("x")) == (0, 2)
    assert [lease.offset for lease in table.engine_leases("x")] == [1, 2]


def test_a_detached_record_leaves_its_engine_and_keeps_its_slot() -> None:
    table = make_table(limit=2)
    (lease,) = add(table, 1)
    sent = table.detach(lease)
    assert sent is not None
    assert sent.engine == "e"
    assert (table.count_of_engine("e"), table.count_of_generator("g"), table.free) == (0, 1, 1)
    assert table.engine_leases("e") == []
    assert table.leases() == [lease]
    assert table.detach(lease) is None
    assert table.take(lease)
    assert (table.count_of_generator("g"), table.free) == (0, 2)


def test_a_record_without_an_engine_is_detached_from_the_start() -> None:
    table = make_table()
    sent = table.add_detached(make_delivery(4), generator="g", now_ms=5)
    assert sent.engine == ""
    assert table.detach(sent.delivery.lease) is None
    assert table.lost_leases(now_ms=10**9) == []
    assert table.take(sent.delivery.lease)


def test_a_late_holder_ends_nothing() -> None:
    table = make_table()
    table.add([make_delivery(1, epoch=2)], generator="g", engine="e", now_ms=0)
    assert not table.take(make_delivery(1, epoch=1).lease)
    assert table.detach(make_delivery(1, epoch=1).lease) is None
    assert len(table) == 1


def test_a_new_lease_of_a_record_replaces_the_old_one() -> None:
    table = make_table()
    add(table, 1, engine="old")
    table.add([make_delivery(1, epoch=2)], generator="g", engine="new", now_ms=0)
    assert (len(table), table.count_of_engine("old"), table.count_of_engine("new")) == (1, 0, 1)
    assert table.count_of_generator("g") == 1


def test_one_record_in_two_groups_is_two_entries() -> None:
    table = make_table()
    table.add([make_delivery(1, group="a"), make_delivery(1, group="b")], generator="g", engine="e", now_ms=0)
    assert len(table) == 2


def test_what_is_away_for_a_minute_longer_than_any_run_is_lost() -> None:
    table = make_table()
    (old,) = add(table, 1, now_ms=0)
    add(table, 2, now_ms=1)
    assert table.lost_leases(now_ms=61_000) == []
    assert table.lost_leases(now_ms=61_001) == [old]
    table.detach(old)
    assert table.lost_leases(now_ms=61_001) == []
