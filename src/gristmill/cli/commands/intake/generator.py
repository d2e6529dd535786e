"""`gristmill generator`: how far each generator is, and what can be done to it. A running group obeys at once."""

from __future__ import annotations

import getpass
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from rich.table import Table

from gristmill.adapters.clock import SystemClock
from gristmill.api.reading.waits import read_lag
from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console, write_out_steering
from gristmill.cli.options import ConfigFile, FlowFiles, StateDir, as_texts, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.front.times import write_second
from gristmill.domain.log import Lag
from gristmill.domain.steering import PLACE_ADVICE, Orders, PartitionLag, Sought, read_place
from gristmill.engine.dispatch.orders import LiveOrders
from gristmill.engine.dispatch.steering import Steered, pause, read_steering, resume, seek, tell_steered, weigh
from gristmill.engine.settings import topics_of
from gristmill.intake.publish import native_generator
from gristmill.plans.names import advise_known
from gristmill.plans.plan import Generator
from gristmill.runtime.composition.flows import load_flows
from gristmill.runtime.composition.stores import Store
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings import Settings
from gristmill.runtime.telemetry import configure_logging

__all__ = ["app"]

app = App(name="generator")

Name = Annotated[str, Parameter(help="As `generator list` shows it.")]


class _Standing(msgspec.Struct, frozen=True):
    """One generator with all that is told of it."""

    generator: Generator
    lag: Lag
    orders: Orders
    partitions: Mapping[str, list[PartitionLag]] = {}
    steered: tuple[Steered, ...] = ()


@app.command(name="list")
def _list_generators(*, flow: FlowFiles = (), state: StateDir = None, config: ConfigFile = None) -> int:
    """List generators with how far each is behind."""
    settings = load(state=state, config=config).settings
    known = _known(settings, flow)

    async def read() -> list[_Standing]:
        async with _open(settings) as (store, orders):
            return [_Standing(one, await read_lag(store.log, one), orders.of(one.type)) for one in known.values()]

    table = Table("generator", "topic", "state", "waits", "in flight", "set aside", "dead", "lost", box=None)
    for one in run_async(read()):
        lag, counts = one.lag, (one.lag.in_flight, one.lag.waiting, one.lag.dead, one.lag.lost)
        word = "paused" if one.orders.is_paused else "open"
        table.add_row(one.generator.type, one.generator.topic, word, str(lag.undelivered), *map(str, counts))
    plain_console().print(table)
    return EXIT_OK


@app.command(name="show")
def _show_generator(name: Name, /, *, flow: FlowFiles = (), state: StateDir = None, config: ConfigFile = None) -> int:
    """Show one of them: partitions, lag, and what was done to it."""
    settings = load(state=state, config=config).settings
    generator = _find(settings, flow, name)

    async def read() -> _Standing:
        async with _open(settings) as (store, orders):
            topics = topics_of(generator)
            return _Standing(
                generator,
                await read_lag(store.log, generator),
                orders.of(name),
                {topic: await store.log.partitions(topic, name) for topic in topics},
                tuple(await read_steering(store.definitions, name)),
            )

    one = run_async(read())
    _tell(f"generator {name}: {_word_of(one.orders)}")
    _tell(f"weight {one.generator.weight:g}{f', ordered {one.orders.weight:g}' if one.orders.weight else ''}")
    lag = one.lag
    print(
        f"not handed out {lag.undelivered}, in flight {lag.in_flight}, set aside {lag.waiting}, oldest "
        f"{lag.oldest_age_ms / 1000:.1f} s, dead {lag.dead}, lost {lag.lost}"
    )
    for topic, partitions in one.partitions.items():
        for part in partitions:
            at = f"at {part.position} of {part.end}, not handed out {part.undelivered}"
            print(f"topic {topic} partition {part.partition}: {at}")
    for done in one.steered:
        _tell(f"{write_second(done.at_ms)} {done.actor}: {tell_steered(done)}")
    return EXIT_OK


@app.command(name="pause")
def _pause_generator(
    name: Name,
    /,
    *,
    reason: Annotated[str, Parameter(help="Why; shown wherever its records wait.")],
    flow: FlowFiles = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Hand out nothing more of it, over restarts too. What is under way ends."""
    settings = load(state=state, config=config).settings
    _find(settings, flow, name)

    async def do() -> Orders:
        async with _open(settings) as (store, _):
            return await pause(store.definitions, name, reason=reason, actor=_actor(), clock=SystemClock())

    return _tell_orders(name, run_async(do()))


@app.command(name="resume")
def _resume_generator(name: Name, /, *, flow: FlowFiles = (), state: StateDir = None, config: ConfigFile = None) -> int:
    """Hand its records out again."""
    settings = load(state=state, config=config).settings
    _find(settings, flow, name)

    async def do() -> Orders:
        async with _open(settings) as (store, _):
            return await resume(store.definitions, name, actor=_actor(), clock=SystemClock())

    return _tell_orders(name, run_async(do()))


@app.command(name="weigh")
def _weigh_generator(
    name: Name,
    weight: Annotated[float | None, Parameter(help="Share of draws; left out: the declared one.")] = None,
    /,
    *,
    flow: FlowFiles = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Give it another share of draws among those that have records."""
    settings = load(state=state, config=config).settings
    _find(settings, flow, name)

    async def do() -> Orders:
        async with _open(settings) as (store, _):
            return await weigh(store.definitions, name, weight=weight, actor=_actor(), clock=SystemClock())

    return _tell_orders(name, run_async(do()))


@app.command(name="seek")
def _seek_generator(
    name: Name,
    /,
    *,
    to: Annotated[str, Parameter(help="earliest, now, an offset, or a time such as 2026-11-30T12:00:00Z.")],
    topic: Annotated[str, Parameter(help="Its recovery topic instead of its own.", show_default=False)] = "",
    yes: Annotated[bool, Parameter(negative="", help="Do it; without, only count.")] = False,
    flow: FlowFiles = (),
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Have its group go on from another place. Runs that ended are not run again. On Kafka: while no group runs."""
    place = read_place(to)
    if place is None:
        raise UsageError("--to", value=to, advice=PLACE_ADVICE)
    settings = load(state=state, config=config).settings
    generator = _find(settings, flow, name)
    topics = topics_of(generator)
    chosen = topic or generator.topic
    if chosen not in topics:
        raise UsageError("--topic", value=topic, advice=f"{name} reads {' and '.join(topics)}")

    async def do() -> Sought:
        async with _open(settings) as (store, _):
            if not yes:
                return await store.log.seek(chosen, name, place, is_preview=True)
            return await seek(
                store.log,
                store.definitions,
                name,
                topic=chosen,
                to=place,
                told=to,
                actor=_actor(),
                clock=SystemClock(),
            )

    sought = run_async(do())
    print(f"come again: {sought.again}, skipped: {sought.skipped}, under way: {sought.in_flight}")
    print(f"moved: {name}" if yes else "nothing was changed; add --yes to do it")
    return EXIT_OK


def _known(settings: Settings, flow: tuple[Path, ...]) -> dict[str, Generator]:
    """Return the generators of enabled flows, and the one of published items."""
    registry = load_flows(settings, flow_files=as_texts(flow)).registry
    known = dict(registry.generators)
    if settings.api.enabled:
        native = native_generator(settings.api.plans)
        known[native.type] = native
    return known


def _find(settings: Settings, flow: tuple[Path, ...], name: str) -> Generator:
    known = _known(settings, flow)
    if name not in known:
        raise UsageError("generator", value=name, advice=f"{advise_known(name, known)}; --flow names further flows")
    return known[name]


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[tuple[Store, LiveOrders]]:
    folder = folder_of(settings)
    async with open_for_reading(folder, settings) as store:
        configure_logging("main", level="info", file=Path(settings.main.log_file or folder.log_file))
        orders = LiveOrders(store.definitions, SystemClock())
        await orders.refresh()
        yield store, orders


def _word_of(orders: Orders) -> str:
    return f"paused: {orders.reason}" if orders.is_paused else "open"


def _tell_orders(name: str, orders: Orders) -> int:
    _tell(f"generator {name}: {_word_of(orders)}" + (f", weight {orders.weight:g}" if orders.weight else ""))
    return EXIT_OK


def _actor() -> str:
    return f"{getpass.getuser()} at the command line"


def _tell(text: str) -> None:
    print(write_out_steering(text))
