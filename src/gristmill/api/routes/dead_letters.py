"""Records that were given up, looked at, and brought back or dropped; and those that never became an item."""

from __future__ import annotations

from typing import Annotated

import msgspec
import structlog
from msgspec import Meta

from gristmill.api.calls import Call, Operation, Reply, decode_cursor, encode_cursor, reply
from gristmill.api.problems import problem
from gristmill.api.services import Services
from gristmill.api.views.times import write_time
from gristmill.domain.front.access import Principal
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.log import DeadLetter
from gristmill.intake.publish.native import tenant_of

__all__ = ["DEAD_LETTER_OPERATIONS"]

PAGE_MAX = 200
VALUE_CHARS_MAX = 64 * 1024

_log = structlog.get_logger()


class LetterQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters."""

    topic: Annotated[str, Meta(max_length=256)] = ""
    group: Annotated[str, Meta(max_length=256)] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 50


class FailureView(msgspec.Struct, frozen=True):
    """One of the failures that led there."""

    at: str
    owner: str
    error: str


class LetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was given up. `value` is cut after 64 Ki characters."""

    dead_letter_id: str
    topic: str
    group: str
    offset: str
    attempt: int
    failed_at: str
    error_class: str
    error: str
    task: str
    plans: tuple[str, ...]
    history: tuple[FailureView, ...]
    headers: dict[str, str]
    value: str


class LettersView(msgspec.Struct, frozen=True):
    """A page, oldest first; go on with `next` until it is null."""

    dead_letters: list[LetterView]
    next: str | None


class DoneView(msgspec.Struct, frozen=True):
    """It is done."""

    dead_letter_id: str
    status: str


class QuarantineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries."""

    generator: Annotated[str, Meta(max_length=256)] = ""
    cursor: Annotated[str, Meta(max_length=64, description="`next` of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 50


class QuarantineView(msgspec.Struct, frozen=True, kw_only=True):
    """A record that never became an item, with all its faults. `raw` is cut after 64 Ki characters."""

    quarantine_id: str
    source: str
    source_revision: int
    generator: str
    position: str
    at: str
    reason: str
    violations: tuple[str, ...]
    raw: str


class QuarantinePageView(msgspec.Struct, frozen=True):
    """A page by position; go on with `next` until it is null."""

    quarantine: list[QuarantineView]
    next: str | None


async def list_letters(services: Services, call: Call) -> Reply:
    """List open dead letters, oldest first."""
    query = call.read_query(LetterQuery)
    after = decode_cursor(query.cursor) or 0
    letters = await services.log.dead_letters(topic=query.topic, group=query.group, after=after, limit=query.limit)
    following = encode_cursor(letters[-1].dead_letter_id) if len(letters) == query.limit else None
    visible = [letter for letter in letters if call.principal.sees(tenant_of(letter.headers, letter.topic))]
    return reply(LettersView([_view(letter) for letter in visible], following))


async def show_letter(services: Services, call: Call) -> Reply:
    """Show a dead letter."""
    return reply(_view(await _find(services, call)))


async def requeue_letter(services: Services, call: Call) -> Reply:
    """Make it a record again, with a fresh budget of attempts."""
    letter = await _find(services, call)
    if not await services.log.requeue(letter.dead_letter_id):
        raise problem("conflict", f"dead letter {letter.dead_letter_id} is no longer open")
    return _done(letter, "requeued", call.principal)


async def drop_letter(services: Services, call: Call) -> Reply:
    """Close it for good; its record never comes back."""
    letter = await _find(services, call)
    if not await services.log.drop(letter.dead_letter_id):
        raise problem("conflict", f"dead letter {letter.dead_letter_id} is no longer open")
    return _done(letter, "dropped", call.principal)


async def list_quarantine(services: Services, call: Call) -> Reply:
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
    number = call.number("dead_letter_id")
    letters = await services.log.dead_letters(after=number - 1, limit=1)
    if not letters or letters[0].dead_letter_id != number:
        raise problem("not-found", f"dead letter {number}")
    if not call.principal.sees(tenant_of(letters[0].headers, letters[0].topic)):
        raise problem("not-found", f"dead letter {number}")
    return letters[0]


def _done(letter: DeadLetter, status: str, actor: Principal) -> Reply:
    _log.info("dead letter", dead_letter_id=letter.dead_letter_id, status=status, actor=actor.name)
    return reply(DoneView(str(letter.dead_letter_id), status))


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
        handle=list_letters,
        query=LetterQuery,
        answer=LettersView,
    ),
    Operation(
        operation_id="getDeadLetter",
        method="GET",
        path="/v1/dead-letters/{dead_letter_id}",
        summary="Show a record that was given up",
        access="viewer",
        handle=show_letter,
        answer=LetterView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="requeueDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/requeue",
        summary="Give a record another chance",
        access="operator",
        handle=requeue_letter,
        answer=DoneView,
        problems=("not-found", "conflict"),
    ),
    Operation(
        operation_id="dropDeadLetter",
        method="POST",
        path="/v1/dead-letters/{dead_letter_id}/drop",
        summary="Close a dead letter for good",
        access="operator",
        handle=drop_letter,
        answer=DoneView,
        problems=("not-found", "conflict"),
    ),
    Operation(
        operation_id="listQuarantine",
        method="GET",
        path="/v1/quarantine",
        summary="List records that never became an item",
        access="viewer",
        handle=list_quarantine,
        query=QuarantineQuery,
        answer=QuarantinePageView,
    ),
)
