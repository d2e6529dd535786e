"""What feeds plans: how far each generator is, partition by partition, and pausing, weighing and moving it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.console.pace import Pace
from gristmill.api.console.page import Console, Nav, Page, Redirect, View, go_back, read_form
from gristmill.api.problems import Fault, problem
from gristmill.api.reading.waits import explain_waits
from gristmill.api.routes.generators import find_generator
from gristmill.domain.errors import UsageError
from gristmill.domain.front.waiting import WAIT_TEXTS, WaitReason
from gristmill.domain.steering import PLACE_ADVICE, Orders, SeekTo, read_place
from gristmill.engine.dispatch.steering import pause, read_steering, resume, seek, tell_steered, weigh
from gristmill.engine.settings import topics_of
from gristmill.plans.plan import Generator

__all__ = ["SOURCE_PAGES"]

HOME = "/console/sources"
SECTION = "consoleSources"
STEERED_MAX = 20
TYPED_FROM = 1_000
"""More records than these are moved only when their number is typed in."""


class _Row(msgspec.Struct, frozen=True):
    """One generator as the list shows it.

    Attributes:
        share: of what all generators have done of late, between 0 and 1; None while nothing was.
        due: the share that its weight stands for.
    """

    generator: Generator
    pace: Pace
    waits: tuple[WaitReason, ...]
    orders: Orders
    share: float | None
    due: float

    @property
    def weight(self) -> float:
        """What it claims by."""
        return self.orders.weight or self.generator.weight


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What was done just now."""

    done: Annotated[str, Meta(max_length=256)] = ""


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a group is to go."""

    to: Annotated[str, Meta(max_length=64)] = ""
    topic: Annotated[str, Meta(max_length=256)] = ""


async def _list(console: Console, call: Call) -> View:
    sees_whole = call.principal.sees_whole
    return View("sources/list.html", rows=await _rows(console) if sees_whole else [], sees_whole=sees_whole)


async def _show(console: Console, call: Call) -> View:
    services, generator = console.services, find_generator(console.services, call)
    row = next(one for one in await _rows(console) if one.generator == generator)
    topics = topics_of(generator)
    return View(
        "sources/generator.html",
        title=f"Source {generator.type}",
        row=row,
        topics={topic: await services.log.partitions(topic, generator.type) for topic in topics},
        steered=(await read_steering(services.definitions, generator.type))[:STEERED_MAX],
        told=call.read_query(_Told),
        wait_texts=WAIT_TEXTS,
        place_advice=PLACE_ADVICE,
        tell_steered=tell_steered,
    )


async def _order(console: Console, call: Call) -> Redirect:
    services, generator = console.services, find_generator(console.services, call)
    definitions, actor, clock = services.definitions, call.principal.name, services.clock
    try:
        match call.path_values["act"]:
            case "pause":
                reason = (await read_form(call)).get("reason", "")
                await pause(definitions, generator.type, reason=reason, actor=actor, clock=clock)
                done = "Paused. What is under way ends, nothing more is handed out"
            case "resume":
                await resume(definitions, generator.type, actor=actor, clock=clock)
                done = "Resumed"
            case "weigh":
                weight = _read_weight((await read_form(call)).get("weight", ""))
                await weigh(definitions, generator.type, weight=weight, actor=actor, clock=clock)
                done = "Weight ordered" if weight else "Back at the declared weight"
            case _:
                raise problem("not-found", "neither pause, resume nor weigh")
    except UsageError as error:
        raise problem("validation", errors=[Fault("", str(error))]) from error
    await services.orders.refresh()
    return _back(generator, done)


async def _preview(console: Console, call: Call) -> View:
    generator, wanted = find_generator(console.services, call), call.read_query(_Place)
    topic, to = _read_place(generator, wanted)
    sought = await console.services.log.seek(topic, generator.type, to, is_preview=True)
    count = sought.again + sought.skipped
    return View(
        "sources/seek.html",
        title=f"Move {generator.type}",
        generator=generator,
        wanted=wanted,
        topic=topic,
        sought=sought,
        count=count,
        is_typed=count > TYPED_FROM,
    )


async def _move(console: Console, call: Call) -> Redirect:
    services, generator, form = console.services, find_generator(console.services, call), await read_form(call)
    wanted = _Place(to=form.get("to", "")[:64], topic=form.get("topic", "")[:256])
    topic, to = _read_place(generator, wanted)
    preview = await services.log.seek(topic, generator.type, to, is_preview=True)
    count = preview.again + preview.skipped
    if form.get("count") != str(count):
        raise problem("conflict", f"{count} records would be moved now: look at the preview again")
    if count > TYPED_FROM and form.get("typed", "").strip() != str(count):
        raise problem("validation", errors=[Fault("typed", f"is not {count}, the number of records")])
    try:
        sought = await seek(
            services.log,
            services.definitions,
            generator.type,
            topic=topic,
            to=to,
            told=wanted.to,
            actor=call.principal.name,
            clock=services.clock,
        )
    except UsageError as error:
        raise problem("conflict", str(error)) from error
    return _back(generator, f"Moved: {sought.again} come again, {sought.skipped} skipped")


async def _rows(console: Console) -> list[_Row]:
    services, paces = console.services, await console.pace.look()
    generators = list(services.generators.values())
    orders = {one.type: services.orders.of(one.type) for one in generators}
    weights = {one.type: orders[one.type].weight or one.weight for one in generators}
    shares = _compute_shares(paces)
    return [
        _Row(
            one,
            paces[one.type],
            explain_waits(services, one, paces[one.type].lag),
            orders[one.type],
            shares.get(one.type),
            weights[one.type] / sum(weights.values()),
        )
        for one in generators
    ]


def _compute_shares(paces: Mapping[str, Pace]) -> dict[str, float]:
    rates = {name: pace.out_per_s or 0.0 for name, pace in paces.items()}
    total = sum(rates.values())
    return {name: rate / total for name, rate in rates.items()} if total else {}


def _read_place(generator: Generator, wanted: _Place) -> tuple[str, SeekTo]:
    topic, to = wanted.topic or generator.topic, read_place(wanted.to.strip())
    if to is None:
        raise problem("validation", errors=[Fault("to", PLACE_ADVICE)])
    if topic not in topics_of(generator):
        raise problem("validation", errors=[Fault("topic", f"is none that {generator.type} reads")])
    return topic, to


def _read_weight(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError as error:
        raise problem("validation", errors=[Fault("weight", "is no number")]) from error


def _back(generator: Generator, done: str) -> Redirect:
    return go_back(f"{HOME}/{generator.type}", done)


ONE = HOME + "/{generator}"

SOURCE_PAGES = (
    Page(
        name=SECTION,
        path=HOME,
        title="Sources",
        access="viewer",
        handle=_list,
        nav=Nav("Sources", key="s", order=15),
    ),
    Page(name="consoleSource", path=ONE, title="Source", access="viewer", handle=_show, section=SECTION),
    Page(
        name="consoleConfirmSeek",
        path=ONE + "/seek",
        title="Move a source",
        access="operator",
        handle=_preview,
        section=SECTION,
    ),
    Page(
        name="consoleSeek",
        path=ONE + "/seek",
        title="Move a source",
        access="operator",
        handle=_move,
        method="POST",
        section=SECTION,
    ),
    Page(
        name="consoleOrder",
        path=ONE + "/{act}",
        title="Source",
        access="operator",
        handle=_order,
        method="POST",
        section=SECTION,
    ),
)
