"""Records that were given up: by cause, one by one, and what can be done with them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.console.page import Console, Nav, Page, Redirect, View, read_form
from gristmill.api.console.payload import show_payload
from gristmill.api.problems import Fault, problem
from gristmill.api.reading.letters import (
    LETTERS_MAX,
    Cause,
    Closing,
    OpenLetters,
    close_letter,
    compute_fingerprint,
    find_letter,
    list_causes,
    read_outlines,
)
from gristmill.domain.log import DeadLetter

__all__ = ["DEAD_LETTER_PAGES"]

HOME = "/console/dead-letters"
SHOWN_MAX = 200
TYPED_FROM = 1_000
"""More than these are closed at once only when their number is typed in."""

AT_ONCE = 100
REASON_CHARS_MAX = 500
CLOSINGS: dict[str, Closing] = {"requeue": "requeued", "drop": "dropped"}


class _LetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters; `done` tells what was done with some of them just now."""

    topic: Annotated[str, Meta(max_length=256)] = ""
    group: Annotated[str, Meta(max_length=256)] = ""
    q: Annotated[str, Meta(max_length=256)] = ""
    done: Annotated[str, Meta(max_length=128)] = ""


class _Form(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has asked to be done, and with how many."""

    count: int
    upto: int
    typed: str = ""
    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX)] = ""


async def _list_causes(console: Console, call: Call) -> View:
    wanted = call.read_query(_LetterFilter)
    found = await read_outlines(console.services.log, call.principal, topic=wanted.topic, group=wanted.group)
    letters = [letter for letter in found.letters if _holds(letter, wanted.q)]
    return View(
        "dead_letters/causes.html",
        wanted=wanted,
        causes=await list_causes(letters),
        count=len(letters),
        is_whole=found.is_whole,
        letters_max=LETTERS_MAX,
    )


async def _show_cause(console: Console, call: Call) -> View:
    wanted = call.read_query(_LetterFilter)
    found, cause = await _find_cause(console, call)
    return View(
        "dead_letters/cause.html",
        title=f"Dead letters: {cause.sample.diagnosis.error_class}",
        wanted=wanted,
        cause=cause,
        shown=list(reversed(cause.letters))[:SHOWN_MAX],
        is_whole=found.is_whole,
        typed_from=TYPED_FROM,
    )


async def _preview_closing(console: Console, call: Call) -> View:
    closing = call.query.get("act", "")
    if closing not in CLOSINGS:
        raise problem("validation", "query", errors=[Fault("act", "is neither requeue nor drop")])
    _, cause = await _find_cause(console, call)
    return View(
        "dead_letters/confirm.html",
        title=f"{closing.capitalize()} {len(cause.letters)} dead letters",
        act=closing,
        cause=cause,
        first=cause.letters[:5],
        is_typed=len(cause.letters) > TYPED_FROM,
        topics=_tally([letter.topic for letter in cause.letters]),
        plans=_tally([", ".join(letter.diagnosis.plans) or "–" for letter in cause.letters]),
    )


async def _close_cause(console: Console, call: Call) -> Redirect:
    closing, form = _closing_of(call), await _read(call)
    _, cause = await _find_cause(console, call)
    chosen = [letter for letter in cause.letters if letter.dead_letter_id <= form.upto]
    if len(chosen) > TYPED_FROM and form.typed.strip() != str(len(chosen)):
        raise problem("validation", errors=[Fault("typed", f"is not {len(chosen)}, the number of letters")])
    if len(chosen) != form.count:
        raise problem("conflict", f"{len(chosen)} letters instead of {form.count} are open now")
    closed = 0
    for start in range(0, len(chosen), AT_ONCE):
        # Many together share a turn of the writer.
        part = chosen[start : start + AT_ONCE]
        log = console.services.log
        closed += sum(
            await asyncio.gather(
                *(close_letter(log, call.principal, letter, closing, reason=form.reason) for letter in part)
            )
        )
    return Redirect(f"{HOME}?done={closed}+of+{len(chosen)}+{closing}")


async def _show_letter(console: Console, call: Call) -> View:
    number = call.number("dead_letter_id")
    letter = await find_letter(console.services.log, call.principal, number)
    return View(
        "dead_letters/letter.html",
        title=f"Dead letter {number}",
        letter=letter,
        fingerprint=compute_fingerprint(letter),
        payload=show_payload(letter.value),
    )


async def _close_letter(console: Console, call: Call) -> Redirect:
    closing, form = _closing_of(call), await read_form(call)
    reason = form.get("reason", "").strip()[:REASON_CHARS_MAX]
    if closing == "dropped" and not reason:
        raise problem("validation", errors=[Fault("reason", "is needed to drop a record for good")])
    letter = await find_letter(console.services.log, call.principal, call.number("dead_letter_id"))
    if not await close_letter(console.services.log, call.principal, letter, closing, reason=reason):
        raise problem("conflict", f"dead letter {letter.dead_letter_id} is no longer open")
    return Redirect(f"{HOME}?done=Dead+letter+{letter.dead_letter_id}+{closing}")


async def _find_cause(console: Console, call: Call) -> tuple[OpenLetters, Cause]:
    fingerprint = call.path_values["fingerprint"]
    found = await read_outlines(console.services.log, call.principal)
    for cause in await list_causes(found.letters):
        if cause.fingerprint == fingerprint:
            return found, cause
    raise problem("not-found", "no open dead letter of this cause; they may have been requeued")


async def _read(call: Call) -> _Form:
    try:
        form = msgspec.convert(await read_form(call), _Form, strict=False)
    except msgspec.ValidationError as error:
        raise problem("validation", errors=[Fault("", str(error))]) from error
    if call.path_values["act"] == "drop" and not form.reason.strip():
        raise problem("validation", errors=[Fault("reason", "is needed to drop records for good")])
    return form


def _closing_of(call: Call) -> Closing:
    closing = CLOSINGS.get(call.path_values["act"])
    if closing is None:
        raise problem("not-found", "neither requeue nor drop")
    return closing


def _holds(letter: DeadLetter, text: str) -> bool:
    diagnosis = letter.diagnosis
    told = (letter.topic, letter.group, diagnosis.task, diagnosis.error_class, diagnosis.error_text, *diagnosis.plans)
    return not text or text.casefold() in "\n".join(told).casefold()


def _tally(names: Sequence[str]) -> list[tuple[str, int]]:
    return sorted(((name, names.count(name)) for name in dict.fromkeys(names)), key=lambda one: -one[1])


LETTER = HOME + "/{dead_letter_id}"
CAUSE = HOME + "/group/{fingerprint}"
SECTION = "consoleDeadLetters"

DEAD_LETTER_PAGES = (
    Page(
        name=SECTION,
        path=HOME,
        title="Dead letters",
        access="viewer",
        handle=_list_causes,
        nav=Nav("Dead letters", key="d", order=40),
    ),
    Page(
        name="consoleDeadLetterGroup",
        path=CAUSE,
        title="Dead letters",
        access="viewer",
        handle=_show_cause,
        section=SECTION,
    ),
    Page(
        name="consoleConfirmDeadLetters",
        path=CAUSE + "/confirm",
        title="Dead letters",
        access="operator",
        handle=_preview_closing,
        section=SECTION,
    ),
    Page(
        name="consoleCloseDeadLetters",
        path=CAUSE + "/{act}",
        title="Dead letters",
        access="operator",
        handle=_close_cause,
        method="POST",
        section=SECTION,
    ),
    Page(
        name="consoleDeadLetter",
        path=LETTER,
        title="Dead letter",
        access="viewer",
        handle=_show_letter,
        section=SECTION,
    ),
    Page(
        name="consoleCloseDeadLetter",
        path=LETTER + "/{act}",
        title="Dead letter",
        access="operator",
        handle=_close_letter,
        method="POST",
        section=SECTION,
    ),
)
