"""Where an id leads: of an item, a run, an item at its source, or a dead letter."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.calls.call import INT64_MAX
from gristmill.api.console.page import Console, Page, Redirect, View
from gristmill.domain.front.access import Principal
from gristmill.domain.ids import ItemId, RunId
from gristmill.intake.publish import NATIVE
from gristmill.intake.sources.catalogue import KIND

__all__ = ["JUMP_PAGES"]

RUN_ID = re.compile(r"[0-9a-f]{32}")
LETTER = re.compile(r"#([0-9]{1,18})")
ITEMS = "/console/items"


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    q: Annotated[str, Meta(max_length=512)] = ""


async def _jump(console: Console, call: Call) -> View | Redirect:
    text = call.read_query(_Query).q.strip()
    letter = LETTER.fullmatch(text)
    if letter:
        return Redirect(f"/console/dead-letters/{int(letter[1])}")
    item_id = await _find_item(console, call.principal, text)
    if item_id is not None:
        return Redirect(f"{ITEMS}/{item_id}")
    return View("jump.html", status=404 if text else 200, q=text)


async def _find_item(console: Console, principal: Principal, text: str) -> ItemId | None:
    services = console.services
    found: list[ItemId] = []
    if text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) <= INT64_MAX:
        found.append(ItemId(int(text)))
    if RUN_ID.fullmatch(text.lower()):
        of_run = await services.front.listing.item_of_run(RunId(text.lower()))
        found += [] if of_run is None else [of_run]
    if text and text.isprintable():
        found += await _resolve(console, principal, text)
    for item_id in found:
        item = await services.state.item(item_id)
        if item is not None and principal.sees(item.tenant):
            return item_id
    return None


async def _resolve(console: Console, principal: Principal, text: str) -> list[ItemId]:
    state = console.services.state
    found: list[ItemId] = []
    for tenant, source in await _addresses(console, principal):
        mapped = await state.resolve(source, [text], tenant=tenant)
        found += mapped.values()
    return found


async def _addresses(console: Console, principal: Principal) -> list[tuple[str, str]]:
    """Return every (tenant, source) that an input id may belong to."""
    services = console.services
    published = [(one.tenant, one.name) for one in await services.definitions.latest(KIND)]
    sources = dict.fromkeys([NATIVE, *(one.source or one.topic for one in services.generators.values())])
    tenants = dict.fromkeys([principal.own_tenant, *(owner for owner, _ in published)])
    known = [*((owner, source) for owner in tenants for source in sources), *published]
    return [address for address in known if principal.sees(address[0])]


JUMP_PAGES = (Page(name="consoleJump", path="/console/jump", title="Go to", access="viewer", handle=_jump),)
