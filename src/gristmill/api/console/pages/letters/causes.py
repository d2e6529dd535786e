"""Dead letters by cause, and all of a cause closed together, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.console.page import Console, Nav, Page, Redirect, View, go_back, read_form
from gristmill.api.console.pages.letters.forms import HOME, SECTION, Kind, kind_of, letter_page, read_reason
from gristmill.api.desk import close_letters
from gristmill.api.desk.causes import LETTERS_MAX, choose_letters, find_cause, list_causes, read_outlines
from gristmill.api.problems import Fault, problem
from gristmill.domain.log import DeadLetter

__all__ = ["CAUSE_PAGES"]

SHOWN_MAX = 200
TYPED_FROM = 1_000
"""More than these are closed at once only when their number is typed in."""

STEP = 500
"""Closed between two looks at the progress; about a second."""


class _LetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters; `done` tells what was done with some of them just now."""

    topic: Annotated[str, Meta(max_length=256)] = ""
    group: Annotated[str, Meta(max_length=256)] = ""
    q: Annotated[str, Meta(max_length=256)] = ""
    done: Annotated[str, Meta(max_length=128)] = ""


class _Form(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has asked to be done, and with how many; `done` and `total` tell how far it is."""

    count: Annotated[int, Meta(ge=1)]
    upto: int
    total: int = 0
    done: Annotated[int, Meta(ge=0)] = 0
    typed: str = ""


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
    found, cause = await find_cause(console.services.log, call.principal, call.path_values["cause"])
    return View(
        "dead_letters/cause.html",
        title=f"Dead letters: {cause.sample.diagnosis.error_class}",
        cause=cause,
        shown=list(reversed(cause.letters))[:SHOWN_MAX],
        is_whole=found.is_whole,
    )


async def _preview_closing(console: Console, call: Call) -> View:
    act = call.query.get("act", "")
    if act not in ("requeue", "drop"):
        raise problem("validation", "query", errors=[Fault("act", "is neither requeue nor drop")])
    _, cause = await find_cause(console.services.log, call.principal, call.path_values["cause"])
    return View(
        "dead_letters/confirm.html",
        title=f"{act.capitalize()} {len(cause.letters)} dead letters",
        act=act,
        cause=cause,
        first=cause.letters[:5],
        is_typed=len(cause.letters) > TYPED_FROM,
        topics=_tally([letter.topic for letter in cause.letters]),
        plans=_tally([", ".join(letter.diagnosis.plans) or "–" for letter in cause.letters]),
    )


async def _close_cause(console: Console, call: Call) -> View | Redirect:
    """Close a step's worth, and show how far it is until none is left. Whoever leaves the page stops it there."""
    kind = kind_of(call.path_values["act"])
    fields = await read_form(call)
    reason = read_reason(fields, is_needed=kind == "dropped")
    form = _read(fields)
    total = form.total or form.count
    if total > TYPED_FROM and form.typed.strip() != str(total):
        raise problem("validation", errors=[Fault("typed", f"is not {total}, the number of letters")])
    _, cause = await find_cause(console.services.log, call.principal, call.path_values["cause"])
    chosen = choose_letters(cause, upto=form.upto, count=form.count)
    part = chosen[:STEP]
    done = form.done + await close_letters(console.services.desk, call.principal, part, kind, reason=reason)
    left = len(chosen) - len(part)
    if not left:
        return go_back(HOME, f"{done} of {total} {kind}")
    further: dict[str, int | str] = {
        "count": left,
        "upto": form.upto,
        "total": total,
        "done": done,
        "typed": form.typed,
        "reason": reason,
    }
    return _show_progress(call, kind, further)


def _show_progress(call: Call, kind: Kind, further: dict[str, int | str]) -> View:
    act = call.path_values["act"]
    title = f"{further['done']} of {further['total']} {kind}"
    return View("dead_letters/progress.html", title=title, act=act, cause=call.path_values["cause"], further=further)


def _read(fields: dict[str, str]) -> _Form:
    try:
        return msgspec.convert({name: text for name, text in fields.items() if name != "reason"}, _Form, strict=False)
    except msgspec.ValidationError as error:
        raise problem("validation", errors=[Fault("", str(error))]) from error


def _holds(letter: DeadLetter, text: str) -> bool:
    diagnosis = letter.diagnosis
    told = (letter.topic, letter.group, diagnosis.task, diagnosis.error_class, diagnosis.error_text, *diagnosis.plans)
    return not text or text.casefold() in "\n".join(told).casefold()


def _tally(names: Sequence[str]) -> list[tuple[str, int]]:
    return sorted(((name, names.count(name)) for name in dict.fromkeys(names)), key=lambda one: -one[1])


CAUSE = HOME + "/cause/{cause}"

CAUSE_PAGES: tuple[Page, ...] = (
    letter_page(
        name=SECTION,
        path=HOME,
        access="viewer",
        handle=_list_causes,
        nav=Nav("Dead letters", key="d", order=40),
    ),
    letter_page(name="consoleDeadLetterCause", path=CAUSE, access="viewer", handle=_show_cause),
    letter_page(name="consoleConfirmDeadLetters", path=CAUSE + "/confirm", access="operator", handle=_preview_closing),
    letter_page(
        name="consoleCloseDeadLetters",
        path=CAUSE + "/{act}",
        access="operator",
        handle=_close_cause,
        method="POST",
    ),
)
