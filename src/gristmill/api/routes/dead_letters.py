"""Records that were given up, looked at, and brought back or dropped; and those that never became an item."""

from __future__ import annotations

from gristmill.api.calls import Call, Operation, Reply, decode_cursor, encode_cursor, reply
from gristmill.api.problems import problem
from gristmill.api.reading.letters import Closing, close_letter, find_letter, visible_letters
from gristmill.api.services import Services
from gristmill.api.shapes.letters import (
    DoneView,
    DropQuery,
    FailureView,
    LetterQuery,
    LettersView,
    LetterView,
    QuarantinePageView,
    QuarantineQuery,
    QuarantineView,
)
from gristmill.domain.front.times import write_time
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.log import DeadLetter

__all__ = ["DEAD_LETTER_OPERATIONS"]

VALUE_CHARS_MAX = 64 * 1024


async def _list_letters(services: Services, call: Call) -> Reply:
    """List open dead letters, oldest first."""
    query = call.read_query(LetterQuery)
    after = decode_cursor(query.cursor) or 0
    letters = await services.log.dead_letters(topic=query.topic, group=query.group, after=after, limit=query.limit)
    following = encode_cursor(letters[-1].dead_letter_id) if len(letters) == query.limit else None
    visible = visible_letters(letters, call.principal)
    return reply(LettersView([_view(letter) for letter in visible], following))


async def _show_letter(services: Services, call: Call) -> Reply:
    """Show a dead letter."""
    return reply(_view(await _find(services, call)))


async def _requeue_letter(services: Services, call: Call) -> Reply:
    """Make it a record again, with a fresh budget of attempts."""
    return await _close(services, call, "requeued")


async def _drop_letter(services: Services, call: Call) -> Reply:
    """Close it for good; its record never comes back. The reason goes to the log, with the name of the token."""
    return await _close(services, call, "dropped", reason=call.read_query(DropQuery).reason)


async def _list_quarantine(services: Services, call: Call) -> Reply:
    """List records that never became an item. They have no tenant, so only the default one's callers see them."""
    query = call.read_query(QuarantineQuery)
    after = decode_cursor(query.cursor) or 0
    if not call.principal.sees(TENANT_DEFAULT):
        return reply(QuarantinePageView([], None))
    entries = await services.state.quarantined(query.generator, after=after, limit=query.limit)
    following = encode_cursor(entries[-1].position) if len(entries) == query.limit else None
    views = [
        QuarantineView(
            quarantine_id=str(entry.quarantine_id),
            source=entry.source,
            source_revision=entry.source_revision,
            generator=entry.generator,
            position=str(entry.position),
            at=write_time(entry.at_ms),
            reason=entry.reason,
            violations=entry.violations,
            raw=_text(entry.raw),
        )
        for entry in entries
    ]
    return reply(QuarantinePageView(views, following))


async def _find(services: Services, call: Call) -> DeadLetter:
    return await find_letter(services.log, call.principal, call.number("dead_letter_id"))


async def _close(services: Services, call: Call, closing: Closing, *, reason: str = "") -> Reply:
    letter = await _find(services, call)
    if not await close_letter(services.log, call.principal, letter, closing, reason=reason):
        raise problem("conflict", f"dead letter {letter.dead_letter_id} is no longer open")
    return reply(DoneView(str(letter.dead_letter_id), closing))


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
        value=_text(letter.value),
    )


def _text(raw: bytes) -> str:
    return raw[: VALUE_CHARS_MAX * 4].decode("utf-8", "backslashreplace")[:VALUE_CHARS_MAX]


DEAD_LETTER_OPERATIONS = (
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
    Operation(
        operation_id="requeueDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/requeue",
        summary="Give a record another chance",
        access="operator",
        handle=_requeue_letter,
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
        query=DropQuery,
        answer=DoneView,
        problems=("not-found", "conflict"),
    ),
    Operation(
        operation_id="listQuarantine",
        method="GET",
        path="/v1/quarantine",
        summary="List records that never became an item",
        access="viewer",
        handle=_list_quarantine,
        query=QuarantineQuery,
        answer=QuarantinePageView,
    ),
)
