"""An engine whose log is apart from its state commits first, then accepts; late holders are fenced off."""

from __future__ import annotations

from typing import Any

import msgspec

from gristmill.adapters.memory import MemoryStore
from gristmill.domain.commit import Fenced
from gristmill.domain.ids import compute_run_id
from gristmill.domain.log import Diagnosis
from gristmill.engine.core.recovery import Recover, RecoveryPolicy, decide_failure
from gristmill.testing.contracts.backend import make_commit
from tests.dispatching import FakeClock
from tests.serving import ECHO, Bench


def bench_apart() -> Bench:
    clock: Any = FakeClock()
    return Bench(ECHO, clock=clock, store=MemoryStore(clock, is_log_apart=True))


async def test_a_record_is_accepted_once_its_runs_are_stored() -> None:
    bench = bench_apart()
    await bench.start()
    (ended,) = await bench.run("a")
    assert ended.accepted
    assert len(await bench.state.runs_between("G", after=0, limit=10)) == 1
    assert await bench.log.accept([ended.lease]) == [False]
    await bench.engine.stop()


async def test_what_was_stored_and_not_accepted_is_not_done_again() -> None:
    bench = bench_apart()
    await bench.start()
    await bench.world.append("posts", "a")
    (delivery,) = await bench.claim()
    run_id = compute_run_id(generator="G", topic="posts", offset=delivery.lease.offset, plan="echo")
    first = make_commit(1, run_id=run_id, plan="echo", generator="G", lease=delivery.lease, accept=False)
    await bench.state.commit([first])
    await bench.log.release([delivery.lease], counted=False)
    (again,) = await bench.claim()
    assert again.attempt == 1
    await bench.send([again])
    (ended,) = await bench.receive(1)
    assert ended.accepted
    assert [run.item_id for run in await bench.state.runs_between("G", after=0, limit=10)] == [first.item.item_id]
    await bench.engine.stop()


async def test_P4_the_former_holder_of_a_record_that_came_again_is_fenced() -> None:
    bench = bench_apart()
    await bench.start()
    await bench.world.append("posts", "a")
    (former,) = await bench.claim()
    await bench.log.release([former.lease])
    (delivery,) = await bench.claim()
    await bench.send([delivery])
    (ended,) = await bench.receive(1)
    assert ended.accepted
    late = make_commit(9, lease=former.lease, accept=False)
    assert await bench.state.commit([late]) == [Fenced()]
    await bench.engine.stop()


async def test_P4_the_former_holder_of_a_record_that_was_moved_to_recovery_is_fenced() -> None:
    bench = bench_apart()
    await bench.start()
    await bench.world.append("posts", "a")
    (former,) = await bench.claim()
    lost = Diagnosis(error_class="lost", error_text="no result of its engine")
    policy = RecoveryPolicy(delay_ms=0)
    move = decide_failure(former, lost, recovery_topic="G.recovery", policy=policy, owner="engine-9", now_ms=0)
    assert isinstance(move, Recover)
    assert await bench.log.accept([former.lease], then=[(move.topic, move.record)]) == [True]
    await bench.send(await bench.claim("G.recovery"))
    (ended,) = await bench.receive(1)
    assert ended.accepted
    late = make_commit(9, lease=former.lease, accept=False)
    assert await bench.state.commit([late]) == [Fenced()]
    await bench.engine.stop()


async def test_an_engine_that_lost_its_lease_meanwhile_says_so() -> None:
    bench = bench_apart()
    await bench.start()
    await bench.world.append("posts", "a")
    (delivery,) = await bench.claim()
    stolen = msgspec.structs.replace(delivery, lease=msgspec.structs.replace(delivery.lease, owner="somebody else"))
    await bench.send([stolen])
    (ended,) = await bench.receive(1)
    assert (ended.accepted, ended.fenced) == (False, True)
    await bench.engine.stop()
