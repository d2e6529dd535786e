"""Dead letters that were closed: what was done, by whom and why."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.console.page import Console, Page, View
from gristmill.api.console.pages.letters.forms import HOME, letter_page
from gristmill.api.console.payload import show_payload
from gristmill.api.problems import problem

__all__ = ["CLOSED_PAGES"]

SHOWN = 100


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    """Where the list goes on."""

    before: Annotated[int, Meta(ge=1)] | None = None


async def _list_closed(console: Console, call: Call) -> View:
    before = call.read_query(_Query).before
    found = await console.services.desk.closings.before(before, limit=SHOWN)
    return View(
        "dead_letters/closed.html",
        title="Closed dead letters",
        closings=[one for one in found if call.principal.sees(one.tenant)],
        following=found[-1].closing_id if len(found) == SHOWN else None,
        is_first=before is None,
    )


async def _show_closed(console: Console, call: Call) -> View:
    number = call.number("closing_id")
    closing = await console.services.desk.closings.find(number)
    if closing is None or not call.principal.sees(closing.tenant):
        raise problem("not-found", f"closed dead letter {number}")
    return View(
        "dead_letters/closing.html",
        title=f"Dead letter {closing.dead_letter_id}, {closing.kind}",
        closing=closing,
        original=show_payload(closing.original),
        edited=show_payload(closing.edited),
    )


CLOSED = HOME + "/closed"

CLOSED_PAGES: tuple[Page, ...] = (
    letter_page(name="consoleClosedDeadLetters", path=CLOSED, access="viewer", handle=_list_closed),
    letter_page(name="consoleClosedDeadLetter", path=CLOSED + "/{closing_id}", access="viewer", handle=_show_closed),
)
