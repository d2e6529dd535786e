"""The items explorer: a question in the address, what fits it, and what that has in common."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import msgspec
from markupsafe import Markup
from msgspec import Meta

from gristmill.api.calls import Call, decode_cursor, encode_cursor
from gristmill.api.console.graph.bars import draw_bars, draw_share
from gristmill.api.console.page import Console, Nav, Page, Redirect, View
from gristmill.api.problems import Fault, problem
from gristmill.api.reading import Exploration, explore_items
from gristmill.api.reading.summary_core import Bar
from gristmill.api.shapes.lists import ItemQuery
from gristmill.api.views.rows import COLUMNS, read_columns
from gristmill.api.views.times import read_time
from gristmill.domain.front.access import Principal
from gristmill.domain.front.standing import WORST_FIRST
from gristmill.domain.front.times import is_calendar_time, write_time
from gristmill.domain.ids import ItemId, day_of

__all__ = ["ITEM_PAGES", "ExplorerQuery", "LookupQuery"]

ITEMS = "/console/items"
LOOKUP = "/console/lookup"
NAME = "consoleItems"
COLUMNS_DEFAULT = ("item_id", "time", "text", "labels", "status")
FILTERS = ("text", "label", "status", "plan", "kind", "source", "author", "tenant", "since", "until")
FACETS = ("label", "negated", "status", "kind", "source", "plan", "author", "tenant")
TITLES = {
    "label": "Labels that hold",
    "negated": "Negated by people",
    "status": "Status",
    "kind": "Kind",
    "source": "Source",
    "plan": "Plan",
    "author": "Top authors",
    "tenant": "Tenant",
}
STATUSES = ("pending", *WORST_FIRST)
BARE_TIME_CHARS = len("2026-11-30T08:00:00")
SOURCES_TRIED_MAX = 100
"""Topics whose names are tried as a source where somebody knows only the input id."""

Columns = Annotated[str, Meta(max_length=512)]


class ExplorerQuery(ItemQuery, frozen=True, kw_only=True):
    """A question and which columns answer it."""

    columns: Columns = ""


class LookupQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What the outside calls an item."""

    input_id: Annotated[str, Meta(max_length=8_192)] = ""
    source: Annotated[str, Meta(max_length=256)] = ""
    tenant: Annotated[str, Meta(max_length=256)] = ""


async def _explore(console: Console, call: Call) -> View:
    asked = _read(call)
    # A field for local times gives no offset; the page says that they are read as UTC.
    query = msgspec.structs.replace(asked, since=_to_utc("since", asked.since), until=_to_utc("until", asked.until))
    shown = read_columns(query.columns) if query.columns else COLUMNS_DEFAULT
    cursor = decode_cursor(query.cursor)
    services = console.services
    explored = await explore_items(
        services.state,
        services.front,
        query.filter(),
        sees=call.principal.sees,
        before=None if cursor is None else ItemId(cursor),
        limit=query.limit,
        turns=services.scans,
    )
    given = {name: value for name in FILTERS if (value := getattr(query, name))}
    kept = {name: value for name, value in (("columns", query.columns), ("limit", call.query.get("limit"))) if value}
    following = explored.page.next_before
    return View(
        "items/list.html",
        query=query,
        given=given,
        kept=kept,
        asked={**given, **kept},
        explored=explored,
        rows=explored.page.items,
        shown=shown,
        toggles={name: _toggle(shown, name) for name in COLUMNS},
        cursor=query.cursor,
        following=None if following is None else encode_cursor(following),
        facets=_list_facets(explored, given, call.principal),
        bars=_draw(explored.summary.bars),
        bar_rows=[_tell_bar(bar) for bar in explored.summary.bars if bar.count],
        reach=_tell_reach(explored),
        statuses=STATUSES,
        plans=sorted(services.registry.plans),
        sees_all=call.principal.sees_every_tenant,
    )


async def _look_up(console: Console, call: Call) -> Redirect:
    """Find an item by what its source calls it."""
    query = dataclasses.replace(call, query=_without_blanks(call)).read_query(LookupQuery)
    caller = call.principal
    tenant = query.tenant or caller.own_tenant
    wanted = query.input_id.strip()
    if wanted and caller.sees(tenant):
        for source in [query.source] if query.source else await _known_sources(console):
            found = await console.services.state.resolve(source, [wanted], tenant=tenant)
            if wanted in found:
                return Redirect(f"{ITEMS}/{found[wanted]}")
    where = f" at source {query.source[:128]!r}" if query.source else ""
    raise problem("not-found", f"no item of tenant {tenant[:128]!r} is called {wanted[:128]!r}{where}")


def _read(call: Call) -> ExplorerQuery:
    return dataclasses.replace(call, query=_without_blanks(call)).read_query(ExplorerQuery)


def _without_blanks(call: Call) -> dict[str, str]:
    """Leave out the fields of a form that nobody filled in."""
    return {name: value for name, value in call.query.items() if value.strip()}


def _to_utc(name: str, text: str) -> str:
    """Return a time in UTC in the form that fields of pages take, with a `Z`; one without an offset is read as UTC.

    Raises:
        ProblemRaised: `validation`: it is none.
    """
    if not text:
        return ""
    is_bare = len(text) <= BARE_TIME_CHARS and not text.endswith(("Z", "z"))
    at_ms = read_time(name, f"{text}Z" if is_bare and "T" in text else text)
    try:
        return write_time(at_ms or 0).replace(".000Z", "Z")
    except (ValueError, OverflowError) as error:
        raise problem("validation", "query", errors=[Fault(name, "is no time of our calendar in UTC")]) from error


async def _known_sources(console: Console) -> list[str]:
    generators = console.services.generators.values()
    topics = await console.services.log.topics()
    named = [name for generator in generators for name in (generator.source, generator.topic, generator.type)]
    return list(dict.fromkeys(name for name in (*named, *topics) if name))[:SOURCES_TRIED_MAX]


def _toggle(shown: tuple[str, ...], name: str) -> str:
    """Return the columns with one more or one less, in the order of all."""
    changed = set(shown) ^ {name} | {COLUMNS_DEFAULT[0]}
    return ",".join(column for column in COLUMNS if column in changed)


def _list_facets(explored: Exploration, given: dict[str, str], caller: Principal) -> list[dict[str, Any]]:
    """Return each field with its values, how often they are found, and what choosing one would ask."""
    facets: list[dict[str, Any]] = []
    summary = explored.summary
    for field in FACETS:
        values = summary.counts.get(field, [])
        if not values or (field == "tenant" and not caller.sees_every_tenant):
            continue
        parameter = "label" if field == "negated" else field
        sign = "-" if field == "negated" else ""
        facets.append(
            {
                "title": TITLES[field],
                "name": field,
                "others": summary.others.get(field, 0),
                "values": [
                    {
                        "value": value,
                        "count": count,
                        "share": Markup(draw_share(count, summary.count)),
                        "is_chosen": given.get(parameter) == sign + value,
                        "asked": {parameter: sign + value},
                        "parameter": parameter,
                    }
                    for value, count in values
                ],
            }
        )
    return facets


def _draw(bars: list[Bar]) -> Markup:
    found = sum(bar.count for bar in bars)
    drawn = draw_bars(
        [(f"{_show(bar.start_ms)} to {_show(bar.end_ms)}", bar.count) for bar in bars],
        name="over-time",
        title=f"{found} items over time; the table below says the same",
    )
    return Markup(drawn)


def _tell_bar(bar: Bar) -> dict[str, Any]:
    asked = {"since": _stamp(bar.start_ms), "until": _stamp(bar.end_ms)}
    return {"start_ms": bar.start_ms, "count": bar.count, "asked": asked}


def _tell_reach(explored: Exploration) -> dict[str, str]:
    """Return the days between which the items that were looked through came in; ids carry their day."""
    lowest, highest = explored.surveyed.lowest, explored.surveyed.highest
    if lowest is None or highest is None:
        return {}
    return {"first": _show_day(lowest), "last": _show_day(highest), "lowest": str(lowest), "highest": str(highest)}


def _show_day(item_id: ItemId) -> str:
    digits = f"{day_of(item_id):08}"
    return f"{digits[:-4]}-{digits[-4:-2]}-{digits[-2:]}"


def _show(at_ms: int) -> str:
    return _stamp(at_ms)[:16].replace("T", " ") or "no time"


def _stamp(at_ms: int) -> str:
    return write_time(at_ms) if is_calendar_time(at_ms) else ""


ITEM_PAGES = (
    Page(
        name=NAME,
        path=ITEMS,
        title="Items",
        access="viewer",
        handle=_explore,
        nav=Nav("Items", key="i", order=20),
    ),
    Page(name="consoleLookup", path=LOOKUP, title="Find an item", access="viewer", handle=_look_up, section=NAME),
)
