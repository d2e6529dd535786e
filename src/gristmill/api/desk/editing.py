"""Another payload for a record that was given up: checked, tried without writing anything, and sent back."""

from __future__ import annotations

import msgspec

from gristmill.api.desk.closing import make_closing, tell
from gristmill.api.desk.desk import Desk
from gristmill.api.problems import Fault, problem
from gristmill.api.problems.faults import read_faults
from gristmill.domain.front.access import Principal
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.domain.log import DeadLetter, Delivery, Lease
from gristmill.engine.core.recovery import read_origin, resubmit
from gristmill.engine.run.scope import Ended
from gristmill.engine.settings import recovery_topic_of
from gristmill.engine.work.admit import as_it_first_stood
from gristmill.ports.log import RECORD_BYTES_MAX

__all__ = ["Trial", "TrialRun", "check_payload", "edit_letter", "try_letter"]


class TrialRun(msgspec.Struct, frozen=True):
    """How one plan ended that was tried."""

    plan: str
    plan_version: int
    ended: Ended
    duration_us: int


class Trial(msgspec.Struct, frozen=True):
    """What would become of a record.

    Attributes:
        faults: why it is no item; no plan was run then.
        left_out: why its Source leaves it alone; no plan was run then.
        unknown: plans that had not ended and that this installation does not have.
    """

    faults: list[Fault] = []
    left_out: str = ""
    runs: list[TrialRun] = []
    unknown: tuple[str, ...] = ()


def check_payload(desk: Desk, letter: DeadLetter, value: bytes) -> MappedRecord | Violations | LeftOut:
    """Return a payload as an engine would map it in the place of the letter's own.

    Raises:
        ProblemRaised: `conflict`: nobody here knows the schema of such records.
    """
    generator = desk.generator_of(letter)
    lease = Lease(letter.topic, letter.group, letter.offset, "", 0)
    delivery = Delivery(lease, value, letter.key, letter.headers, letter.attempt, letter.failed_at_ms)
    origin = read_origin(delivery, recovery_topic=recovery_topic_of(generator))
    return desk.decode(as_it_first_stood(delivery, origin), generator)


async def edit_letter(desk: Desk, principal: Principal, letter: DeadLetter, value: bytes, *, reason: str) -> None:
    """Send a record back with another payload, for the plans that had not ended; the original is kept.

    Killed in between the letter may still be open while the edited record runs already. Nothing is lost or counts twice
    then: whatever comes of the letter has the same run ids.

    Raises:
        ProblemRaised: `validation`: no item by the schema of its kind and the mapping of its Source, the payload is as
            it was, or larger than a log takes; `conflict`: nobody here knows the schema.
    """
    if value == letter.value:
        raise problem("validation", "payload", errors=[Fault("/payload", "is as it was: requeue the letter instead")])
    if not value or len(value) > RECORD_BYTES_MAX:
        told = f"has {len(value)} bytes instead of 1 to {RECORD_BYTES_MAX}"
        raise problem("validation", "payload", errors=[Fault("/payload", told)])
    mapped = check_payload(desk, letter, value)
    if isinstance(mapped, Violations):
        raise problem("validation", "payload", errors=read_faults(mapped.violations))
    if isinstance(mapped, LeftOut):
        told = f"would be left out: {mapped.reason}; drop the letter instead"
        raise problem("validation", "payload", errors=[Fault("/payload", told)])
    topic = recovery_topic_of(desk.generator_of(letter))
    closing = make_closing(desk, principal, letter, "edited", reason=reason, edited=value)
    await desk.closings.add([closing])
    await desk.log.append(topic, [resubmit(letter, value, recovery_topic=topic)])
    await desk.log.drop(letter.dead_letter_id)
    tell(closing)


async def try_letter(desk: Desk, letter: DeadLetter, value: bytes, *, timeout_ms: int) -> Trial:
    """Run the plans that had not ended over a payload, and write nothing. What items share is not looked at.

    Raises:
        ProblemRaised: `conflict`: nobody here knows the schema; `deadline-exceeded`: a plan took longer.
    """
    mapped = check_payload(desk, letter, value)
    if isinstance(mapped, Violations):
        return Trial(faults=read_faults(mapped.violations))
    if isinstance(mapped, LeftOut):
        return Trial(left_out=mapped.reason)
    wanted = letter.diagnosis.plans or desk.generator_of(letter).plans
    known = [plan for plan in wanted if plan in desk.plans]
    runs = []
    for plan in known:
        began_us = desk.clock.monotonic_us()
        try:
            ended = await desk.scorer.score(plan, mapped, timeout_ms=timeout_ms)
        except TimeoutError as error:
            raise problem("deadline-exceeded", f"plan {plan!r} ran longer than {timeout_ms} ms") from error
        runs.append(TrialRun(plan, desk.plans[plan].graph.version, ended, desk.clock.monotonic_us() - began_us))
    return Trial(runs=runs, unknown=tuple(plan for plan in wanted if plan not in known))
