"""What must be true of a simulation that has come to rest, beyond what its history shows by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from gristmill.adapters.recording.events import HistoryEvent
from gristmill.domain.ids import compute_run_id
from gristmill.domain.log import Delivery, Lease
from gristmill.engine.core.recovery import read_origin
from gristmill.engine.dispatcher import Dispatcher
from gristmill.engine.service import Engine
from gristmill.engine.settings import is_recovery_topic, recovery_topic_of
from gristmill.plans.plan import Generator
from gristmill.testing.history import Anomaly, Bounds, check_history
from gristmill.testing.simulate.member import CONCURRENCY, DELIVERIES_MAX, Member
from gristmill.testing.simulate.posts import GENERATORS
from gristmill.testing.simulate.world import World

__all__ = ["judge"]

BOUNDS = Bounds(attempts_max=DELIVERIES_MAX + 8, reclaim_ms=150_000, wedge_ms=150_000)
"""A record that used up its attempts is claimed again to be given up, and once more for each time that this fails; that
it is not handed out is looked at apart. An engine that vanished is missed a minute
after the time-out of its runs; twice that and a little is the longest that anything may stand still."""


def judge(world: World) -> list[Anomaly]:
    """Return everything that must not be."""
    events = world.history.events
    return [
        *check_history(events, msgspec.structs.replace(BOUNDS, is_log_apart=world.scenario.is_log_apart)),
        *_find_unrest(world),
        *_find_wrong_budgets(events),
        *_find_miscounts(world),
        *_find_unfinished(world),
    ]


def _find_unrest(world: World) -> Iterator[Anomaly]:
    if places := world.open_places():
        yield Anomaly("wedge", f"still open: {', '.join(places)}")
    for busy in world.busy_members():
        yield Anomaly("wedge", f"{busy} record(s) that the log knows nothing of")
    for member in world.living():
        for leftover in _find_leftovers(member):
            yield Anomaly("wedge", f"{member.owner} keeps {leftover} although all has ended")


def _find_leftovers(member: Member) -> Iterator[str]:
    """Places, permits, marks and ids that are never given back would run out one day."""
    if member.marks.read():
        yield f"marks of {sorted(member.marks.read())}"
    match member.service:
        case Dispatcher() as dispatcher:
            table = dispatcher._desk.in_flight
            for name, counts in (("engine", table._by_engine), ("generator", table._by_generator)):
                if any(counts.values()):
                    yield f"places by {name}: {dict(counts)}"
        case Engine() as engine:
            if engine._admission._unwritten:
                yield f"{len(engine._admission._unwritten)} id(s) that nobody writes"
            if engine._executor._tasks:
                yield f"{len(engine._executor._tasks)} run(s)"
            if engine._executor._permits._value != CONCURRENCY:
                yield f"{CONCURRENCY - engine._executor._permits._value} permit(s)"


def _find_wrong_budgets(events: list[HistoryEvent]) -> Iterator[Anomaly]:
    """A record is handed out at most so often, and given up for the deaths of its engines no sooner."""
    tries: dict[tuple[str, str, int], int] = {}
    for index, event in enumerate(events):
        if event.kind == "deliver":
            tries[event.place] = event.attempt
        elif event.kind == "start" and event.attempt > DELIVERIES_MAX:
            yield Anomaly("immortal", f"{event.place} is handed out for the {event.attempt}th time", index)
        elif event.kind == "dead" and event.key == "crashed" and tries.get(event.place, 0) <= DELIVERIES_MAX:
            detail = f"{event.place} is given up after {tries.get(event.place, 0)} of {DELIVERIES_MAX} attempts"
            yield Anomaly("lost", detail, index)


def _find_miscounts(world: World) -> Iterator[Anomaly]:
    """What the log says of a delivery's number must be what was done with the record."""
    tries = world.history.tries_under
    for index, event in enumerate(world.history.events):
        if event.kind == "deliver":
            counted = tries[Lease(event.topic, event.group, event.offset, event.owner, event.fence)]
            if event.attempt != counted:
                yield Anomaly("immortal", f"{event.place}: attempt {event.attempt} is the {counted}th", index)


def _find_unfinished(world: World) -> Iterator[Anomaly]:
    """Each record must have come to one thing: a result for each plan, a dead letter, or the quarantine.

    Where the log is apart a late holder may still write what is a dead letter already: nobody comes to fence it off.
    """
    ledger = world.memory.ledger
    quarantined = {(one.generator, one.position) for one in world.state._quarantined}
    dead = Counter((origin.topic, origin.offset) for origin in _origins_of_dead(world))
    for (topic_name, offset), count in dead.items():
        if count > 1:
            yield Anomaly("double effect", f"record {topic_name}/{offset} has {count} dead letters")
    for generator in GENERATORS:
        topic = ledger.topics.get(generator.topic)
        for offset in topic.offsets if topic else ():
            place = f"record {generator.topic}/{offset}"
            failed = list(_failed_plans(world, generator, offset))
            is_dead, is_quarantined = (generator.topic, offset) in dead, (generator.type, offset) in quarantined
            if failed and not is_dead and not is_quarantined:
                yield Anomaly("lost", f"{place} ended without a result of {', '.join(failed)}")
            if not failed and is_dead and not world.scenario.is_log_apart:
                yield Anomaly("double effect", f"{place} has a result of each plan and a dead letter")


def _failed_plans(world: World, generator: Generator, offset: int) -> Iterator[str]:
    for plan in generator.plans:
        run_id = compute_run_id(generator=generator.type, topic=generator.topic, offset=offset, plan=plan)
        run = world.state._runs.get(run_id)
        if run is None or run.status == "failed":
            yield plan


def _origins_of_dead(world: World) -> Iterator[Lease]:
    for letter in world.memory._dead.open_letters():
        lease = Lease(letter.topic, letter.group, letter.offset, "", 0)
        topic = next(recovery_topic_of(one) for one in GENERATORS if one.type == letter.group)
        if not is_recovery_topic(letter.topic):
            yield lease
            continue
        delivery = Delivery(lease, letter.value, letter.key, letter.headers, letter.attempt, 0)
        origin = read_origin(delivery, recovery_topic=topic)
        yield Lease(origin.topic, letter.group, origin.offset, "", 0)
