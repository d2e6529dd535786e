"""One dead letter requeued, dropped, tried, or sent back with another payload."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.desk import close_letters, edit_letter, try_letter
from gristmill.api.problems import problem
from gristmill.api.reading.letters import find_letter
from gristmill.api.services import Services
from gristmill.api.shapes.letters.one import DoneView, EditLetterRequest, ReasonQuery, TrialView, TryLetterRequest
from gristmill.api.views.scores import view_score
from gristmill.domain.log import DeadLetter

__all__ = ["LETTER_STEERING_OPERATIONS"]

_edit_decoder = msgspec.json.Decoder(EditLetterRequest)
_try_decoder = msgspec.json.Decoder(TryLetterRequest)


async def _requeue_letter(services: Services, call: Call) -> Reply:
    """Make it a record again, with a fresh budget of attempts. A reason is kept, with the name of the token."""
    return await _close(services, call, "requeued", reason=call.read_query(ReasonQuery).reason)


async def _drop_letter(services: Services, call: Call) -> Reply:
    """Close it for good; its record never comes back. The reason is kept, with the name of the token."""
    return await _close(services, call, "dropped", reason=call.read_query(ReasonQuery).reason)


async def _edit_letter(services: Services, call: Call) -> Reply:
    """Send it back with another payload, if that is an item by its schema. The plans that had not ended run again."""
    request = await read_json(call, _edit_decoder)
    letter = await _find(services, call)
    await edit_letter(services.desk, call.principal, letter, request.payload.encode(), reason=request.reason)
    return reply(DoneView(str(letter.dead_letter_id), "edited"))


async def _try_letter(services: Services, call: Call) -> Reply:
    """Run the plans that had not ended over it, or over another payload, and write nothing."""
    request = await read_json(call, _try_decoder)
    letter = await _find(services, call)
    value = letter.value if request.payload is None else request.payload.encode()
    trial = await try_letter(services.desk, letter, value, timeout_ms=request.timeout_ms)
    view = TrialView(
        dead_letter_id=str(letter.dead_letter_id),
        faults=trial.faults,
        left_out=trial.left_out,
        runs=[view_score(run.plan, run.plan_version, run.ended, duration_us=run.duration_us) for run in trial.runs],
        unknown_plans=trial.unknown,
    )
    return reply(view)


async def _find(services: Services, call: Call) -> DeadLetter:
    return await find_letter(services.log, call.principal, call.number("dead_letter_id"))


async def _close(services: Services, call: Call, kind: Literal["requeued", "dropped"], *, reason: str) -> Reply:
    letter = await _find(services, call)
    if not await close_letters(services.desk, call.principal, [letter], kind, reason=reason):
        raise problem("conflict", f"dead letter {letter.dead_letter_id} is no longer open")
    return reply(DoneView(str(letter.dead_letter_id), kind))


LETTER_STEERING_OPERATIONS = (
    Operation(
        operation_id="requeueDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/requeue",
        summary="Give a record another chance",
        access="operator",
        handle=_requeue_letter,
        query=ReasonQuery,
        answer=DoneView,
        problems=("not-found", "conflict"),
    ),
    Operation(
        operation_id="dropDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/drop",
        summary="Close a dead letter for good",
        access="operator",
        handle=_drop_letter,
        query=ReasonQuery,
        answer=DoneView,
        problems=("not-found", "conflict"),
    ),
    Operation(
        operation_id="editDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/edit",
        summary="Send a record back with another payload",
        access="operator",
        handle=_edit_letter,
        body=EditLetterRequest,
        answer=DoneView,
        problems=("not-found", "conflict"),
        example={"payload": '{"text": "mended"}', "reason": "the text was missing"},
    ),
    Operation(
        operation_id="tryDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/try",
        summary="Try a record without writing anything",
        access="operator",
        handle=_try_letter,
        body=TryLetterRequest,
        answer=TrialView,
        problems=("not-found", "conflict", "deadline-exceeded"),
        example={"payload": '{"text": "mended"}'},
    ),
)
