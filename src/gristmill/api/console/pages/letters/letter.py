"""One dead letter: shown, tried, mended, and closed."""

from __future__ import annotations

from collections.abc import Sequence

from gristmill.api.calls import Call
from gristmill.api.console.page import Console, Page, Redirect, View, go_back, read_form
from gristmill.api.console.pages.letters.forms import HOME, kind_of, letter_page, read_reason
from gristmill.api.console.payload import show_payload, try_make_editable
from gristmill.api.desk import Trial, close_letters, edit_letter, try_letter
from gristmill.api.desk.causes import compute_fingerprint
from gristmill.api.problems import Fault, ProblemRaised, problem
from gristmill.api.reading.letters import find_letter
from gristmill.api.views.scores import view_score
from gristmill.domain.log import DeadLetter

__all__ = ["LETTER_PAGES"]

FORM_BYTES_MAX = 256 * 1024
"""A payload that is shown whole, with three characters for each of its own."""

TIMEOUT_MS = 10_000


async def _show_letter(console: Console, call: Call) -> View:
    return _view(console, await _find(console, call))


async def _close_letter(console: Console, call: Call) -> Redirect:
    kind = kind_of(call.path_values["act"])
    reason = read_reason(await read_form(call), is_needed=kind == "dropped")
    letter = await _find(console, call)
    if not await close_letters(console.services.desk, call.principal, [letter], kind, reason=reason):
        raise problem("conflict", f"dead letter {letter.dead_letter_id} is no longer open")
    return go_back(HOME, f"Dead letter {letter.dead_letter_id} {kind}")


async def _try_letter(console: Console, call: Call) -> View:
    form = await read_form(call, bytes_max=FORM_BYTES_MAX)
    letter = await _find(console, call)
    typed = _take_payload(letter, form)
    trial = await try_letter(console.services.desk, letter, typed.encode(), timeout_ms=TIMEOUT_MS)
    return _view(console, letter, typed=typed, trial=trial, reason=form.get("reason", ""))


async def _edit_letter(console: Console, call: Call) -> View | Redirect:
    form = await read_form(call, bytes_max=FORM_BYTES_MAX)
    reason = read_reason(form)
    letter = await _find(console, call)
    typed = _take_payload(letter, form)
    is_unchanged = typed == try_make_editable(show_payload(letter.value))
    value = letter.value if is_unchanged else typed.encode()
    try:
        await edit_letter(console.services.desk, call.principal, letter, value, reason=reason)
    except ProblemRaised as raised:
        if raised.kind.name != "validation":
            raise
        return _view(console, letter, typed=typed, faults=raised.document.errors, reason=reason)
    return go_back(HOME, f"Dead letter {letter.dead_letter_id} edited and sent back")


async def _find(console: Console, call: Call) -> DeadLetter:
    return await find_letter(console.services.log, call.principal, call.number("dead_letter_id"))


def _take_payload(letter: DeadLetter, form: dict[str, str]) -> str:
    """Return what was typed, with the ends of lines that the original has: browsers send their own."""
    if "payload" not in form:
        raise problem("validation", errors=[Fault("payload", "is missing")])
    return form["payload"] if b"\r\n" in letter.value else form["payload"].replace("\r\n", "\n")


def _view(
    console: Console,
    letter: DeadLetter,
    *,
    typed: str | None = None,
    trial: Trial | None = None,
    faults: Sequence[Fault] = (),
    reason: str = "",
) -> View:
    payload = show_payload(letter.value)
    return View(
        "dead_letters/letter.html",
        title=f"Dead letter {letter.dead_letter_id}",
        status=400 if faults else 200,
        letter=letter,
        fingerprint=compute_fingerprint(letter),
        payload=payload,
        is_known=letter.group in console.services.desk.generators,
        typed=try_make_editable(payload) if typed is None else typed,
        trial=trial,
        runs=[
            view_score(one.plan, one.plan_version, one.ended, duration_us=one.duration_us)
            for one in (trial.runs if trial is not None else [])
        ],
        faults=faults,
        reason=reason,
    )


LETTER = HOME + "/{dead_letter_id}"

LETTER_PAGES: tuple[Page, ...] = (
    letter_page(name="consoleDeadLetter", path=LETTER, access="viewer", handle=_show_letter),
    letter_page(
        name="consoleTryDeadLetter", path=LETTER + "/try", access="operator", handle=_try_letter, method="POST"
    ),
    letter_page(
        name="consoleEditDeadLetter", path=LETTER + "/edit", access="operator", handle=_edit_letter, method="POST"
    ),
    letter_page(
        name="consoleCloseDeadLetter", path=LETTER + "/{act}", access="operator", handle=_close_letter, method="POST"
    ),
)
