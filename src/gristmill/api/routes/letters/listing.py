"""Dead letters listed and shown."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, decode_cursor, encode_cursor, reply
from gristmill.api.reading.letters import find_letter, read_page
from gristmill.api.routes.letters.payloads import show_text
from gristmill.api.services import Services
from gristmill.api.shapes.letters.one import FailureView, LetterQuery, LettersView, LetterView
from gristmill.domain.front.times import write_time
from gristmill.domain.log import DeadLetter

__all__ = ["LISTING_OPERATIONS"]

_encoder = msgspec.json.Encoder()


async def _list_letters(services: Services, call: Call) -> Reply:
    """List open dead letters, oldest first. A page is shorter than `limit` where payloads are large."""
    query = call.read_query(LetterQuery)
    visible, following = await read_page(
        services.log,
        call.principal,
        topic=query.topic,
        group=query.group,
        after=decode_cursor(query.cursor) or 0,
        limit=query.limit,
        measure=lambda letter: len(_encoder.encode(_view(letter))),
    )
    cursor = None if following is None else encode_cursor(following)
    return reply(LettersView([_view(letter) for letter in visible], cursor))


async def _show_letter(services: Services, call: Call) -> Reply:
    """Show a dead letter."""
    return reply(_view(await find_letter(services.log, call.principal, call.number("dead_letter_id"))))


def _view(letter: DeadLetter) -> LetterView:
    diagnosis = letter.diagnosis
    return LetterView(
        dead_letter_id=str(letter.dead_letter_id),
        topic=letter.topic,
        group=letter.group,
        offset=str(letter.offset),
        attempt=letter.attempt,
        failed_at=write_time(letter.failed_at_ms),
        error_class=diagnosis.error_class,
        error=diagnosis.error_text,
        task=diagnosis.task,
        plans=diagnosis.plans,
        history=tuple([FailureView(write_time(at_ms), owner, text) for at_ms, owner, text in diagnosis.history]),
        headers=dict(letter.headers),
        value=show_text(letter.value),
    )


LISTING_OPERATIONS = (
    Operation(
        operation_id="listDeadLetters",
        method="GET",
        path="/v1/dead-letters",
        summary="List records that were given up",
        access="viewer",
        handle=_list_letters,
        query=LetterQuery,
        answer=LettersView,
    ),
    Operation(
        operation_id="getDeadLetter",
        method="GET",
        path="/v1/dead-letters/{dead_letter_id}",
        summary="Show a record that was given up",
        access="viewer",
        handle=_show_letter,
        answer=LetterView,
        problems=("not-found",),
    ),
)
