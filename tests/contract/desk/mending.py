"""What the dead-letter desk does on every log."""

from __future__ import annotations

from gristmill.adapters.memory.front import MemoryClosings
from gristmill.api.desk import Desk, close_letters, edit_letter
from gristmill.domain.front.access import EVERY_TENANT, Principal
from gristmill.domain.log import DeadLetter, Diagnosis, NewRecord
from gristmill.engine.core.recovery import Origin, read_origin
from gristmill.engine.scoring import Scorer
from gristmill.plans.plan import Generator
from gristmill.ports.log import Log
from gristmill.runtime.composition.decode import RecordDecoder
from gristmill.testing.clock import FakeClock
from gristmill.testing.contracts.backend import Contract, claim

ME = Principal("", "eve", "operator", EVERY_TENANT)
POSTS = Generator(type="g", topic="t", plans=("loud", "calm"))
DIAGNOSIS = Diagnosis("ValueError", "no such thing", plans=("loud",), task="task", history=((1, "me", "no"),))


class MendingContract(Contract):
    """A subclass gives it a `backend` fixture, as all contracts."""

    async def test_an_edited_record_takes_the_place_of_the_letter_for_its_group_alone(
        self, log: Log, clock: FakeClock
    ) -> None:
        desk = _desk(log, clock)
        letter = await _bury(log, b'{"text": "bad"}')
        await edit_letter(desk, ME, letter, b'{"text": "good"}', reason="a typo")
        assert await log.dead_letters() == []
        assert await claim(log) == []
        [again] = await claim(log, topic="g.recovery")
        assert (again.value, again.key, again.headers["h"]) == (b'{"text": "good"}', "k", "1")
        origin = read_origin(again, recovery_topic="g.recovery")
        assert origin == Origin(
            "t", letter.offset, letter.failed_at_ms, 1, ("loud",), DIAGNOSIS.history, is_edited=True
        )
        await log.reject(again.lease, DIAGNOSIS)
        [second] = await log.dead_letters()
        await edit_letter(desk, ME, second, b'{"text": "best"}', reason="")
        [third] = await claim(log, topic="g.recovery")
        origin = read_origin(third, recovery_topic="g.recovery")
        assert (third.value, origin.offset, origin.recovered) == (
            b'{"text": "best"}',
            letter.offset,
            (again.lease.offset,),
        )
        edits = await desk.closings.before(None, limit=9)
        told = [(one.kind, one.actor, one.reason) for one in edits]
        assert told == [("edited", "eve", ""), ("edited", "eve", "a typo")]

    async def test_many_are_closed_and_each_is_told_of_once(self, log: Log, clock: FakeClock) -> None:
        desk = _desk(log, clock)
        letters = [await _bury(log, b'{"text": "%d"}' % number) for number in range(3)]
        assert await log.drop(letters[1].dead_letter_id)
        assert await close_letters(desk, ME, letters, "requeued", reason="the model is back") == 2
        assert len(await claim(log)) == 2
        told = await desk.closings.before(None, limit=9)
        assert {one.dead_letter_id for one in told} == {letters[0].dead_letter_id, letters[2].dead_letter_id}
        assert {one.reason for one in told} == {"the model is back"}


def _desk(log: Log, clock: FakeClock) -> Desk:
    return Desk(
        log=log,
        closings=MemoryClosings(),
        clock=clock,
        decode=RecordDecoder({}),
        scorer=Scorer({}, resources={}, clock=clock),
        generators={"g": POSTS},
        plans={},
    )


async def _bury(log: Log, value: bytes) -> DeadLetter:
    await log.append("t", [NewRecord(value, key="k", headers={"h": "1"})])
    [delivery] = await claim(log)
    assert await log.reject(delivery.lease, DIAGNOSIS) == "written"
    return (await log.dead_letters())[-1]
