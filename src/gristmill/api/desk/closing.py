"""Closes dead letters, many at a time, and keeps who did it and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

import msgspec
import structlog

from gristmill.api.desk.desk import Desk
from gristmill.domain.errors import OutcomeUnknown
from gristmill.domain.front.access import Principal
from gristmill.domain.log import DeadLetter
from gristmill.domain.upkeep.closing import Closing, ClosingKind
from gristmill.intake.publish.native import tenant_of

__all__ = ["close_letters", "make_closing", "tell"]

AT_ONCE = 100
"""Many together share a turn of the writer."""

ERROR_CHARS_KEPT = 300
"""Thousands may be closed at once, each with the same error."""

_log = structlog.get_logger()


async def close_letters(
    desk: Desk,
    principal: Principal,
    letters: Sequence[DeadLetter],
    kind: Literal["requeued", "dropped"],
    *,
    reason: str = "",
) -> int:
    """Give records another chance, or none ever; return how many of them nobody else had closed before.

    What is about to be done is stored first: a crash in between leaves a letter open that is told to be closed, and
    never closes one without a trace.

    Raises:
        Unavailable: the log or the store cannot be reached; some may be closed by then.
    """
    close = desk.log.requeue if kind == "requeued" else desk.log.drop
    closed = 0
    for start in range(0, len(letters), AT_ONCE):
        part = letters[start : start + AT_ONCE]
        closings = [make_closing(desk, principal, letter, kind, reason=reason) for letter in part]
        ids = await desk.closings.add(closings)
        answers = await asyncio.gather(*(close(letter.dead_letter_id) for letter in part), return_exceptions=True)
        # Of a call whose answer got lost nobody knows: its trace stays, as after a crash.
        undone = [
            closing_id
            for closing_id, answer in zip(ids, answers, strict=True)
            if answer is not True and not isinstance(answer, OutcomeUnknown)
        ]
        if undone:
            await desk.closings.remove(undone)
        for closing, answer in zip(closings, answers, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            if answer:
                tell(closing)
        closed += len(part) - len(undone)
    return closed


def make_closing(
    desk: Desk, principal: Principal, letter: DeadLetter, kind: ClosingKind, *, reason: str, edited: bytes = b""
) -> Closing:
    """Return what is kept of a letter that somebody closes."""
    return Closing(
        kind=kind,
        at_ms=desk.clock.now_ms(),
        actor=principal.name,
        reason=reason,
        dead_letter_id=letter.dead_letter_id,
        topic=letter.topic,
        group=letter.group,
        offset=letter.offset,
        tenant=tenant_of(letter.headers, letter.topic),
        diagnosis=msgspec.structs.replace(letter.diagnosis, history=(), error_text=_head(letter.diagnosis.error_text)),
        original=letter.value if edited else b"",
        edited=edited,
    )


def _head(text: str) -> str:
    return text.partition("\n")[0][:ERROR_CHARS_KEPT]


def tell(closing: Closing) -> None:
    """Write a closing to the log of the process."""
    _log.info(
        "dead letter",
        dead_letter_id=closing.dead_letter_id,
        status=closing.kind,
        actor=closing.actor,
        **({"reason": closing.reason} if closing.reason else {}),
    )
