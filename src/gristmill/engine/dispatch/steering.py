"""What people do to a generator: hold it up, let it go on, weigh it, move its group. Each is kept with who did it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec
import structlog

from gristmill.domain.errors import StaleRead, Unavailable, UsageError
from gristmill.domain.front.access import EVERY_TENANT
from gristmill.domain.steering import Orders, SeekTo, Sought
from gristmill.engine.dispatch.orders import KIND, give_orders, read_history, read_orders
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definition, Definitions
from gristmill.ports.log import Log

__all__ = [
    "REASON_CHARS_MAX",
    "SEEK_KIND",
    "Steered",
    "pause",
    "read_steering",
    "resume",
    "seek",
    "tell_steered",
    "weigh",
]

SEEK_KIND = "seek"
REASON_CHARS_MAX = 500
TRIES_MAX = 10
"""Two people who steer one generator at once take turns."""

_log = structlog.get_logger()


class Steered(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was done to a generator.

    Attributes:
        sought: what a seek did, None for orders; `to` and `topic` say where it went.
        orders: what held from then on, None for a seek.
    """

    at_ms: int
    actor: str
    orders: Orders | None = None
    topic: str = ""
    to: str = ""
    sought: Sought | None = None


class _Seek(msgspec.Struct, frozen=True, kw_only=True):
    at_ms: int
    topic: str
    to: str
    again: int
    skipped: int
    in_flight: int


async def pause(definitions: Definitions, generator: str, *, reason: str, actor: str, clock: Clock) -> Orders:
    """Claim nothing more for a generator, over restarts too, until it is resumed.

    Raises:
        UsageError: no reason is given.
    """
    told = reason.strip()[:REASON_CHARS_MAX]
    if not told:
        raise UsageError("reason", value=reason, advice="say why: whoever finds it paused will want to know")

    def hold(orders: Orders) -> Orders:
        return msgspec.structs.replace(orders, is_paused=True, reason=told)

    return await _change(definitions, generator, hold, actor=actor, clock=clock)


async def resume(definitions: Definitions, generator: str, *, actor: str, clock: Clock) -> Orders:
    """Claim for a generator again."""

    def free(orders: Orders) -> Orders:
        return msgspec.structs.replace(orders, is_paused=False, reason="")

    return await _change(definitions, generator, free, actor=actor, clock=clock)


async def weigh(definitions: Definitions, generator: str, *, weight: float | None, actor: str, clock: Clock) -> Orders:
    """Give a generator another share of draws, or with None the one that it was declared with.

    Raises:
        UsageError: the weight is not above 0.
    """
    if weight is not None and not 0 < weight < float("inf"):
        raise UsageError("weight", value=weight, advice="use a number above 0; pause the generator to claim nothing")

    def put(orders: Orders) -> Orders:
        return msgspec.structs.replace(orders, weight=weight)

    return await _change(definitions, generator, put, actor=actor, clock=clock)


async def seek(
    log: Log,
    definitions: Definitions,
    generator: str,
    *,
    topic: str,
    to: SeekTo,
    told: str,
    actor: str,
    clock: Clock,
) -> Sought:
    """Move the group of a generator on a topic, and keep that it was done.

    Args:
        told: the place as it was written.
    Raises:
        UsageError: the log cannot do that now.
    """
    sought = await log.seek(topic, generator, to)
    done = _Seek(
        at_ms=clock.now_ms(),
        topic=topic,
        to=told,
        again=sought.again,
        skipped=sought.skipped,
        in_flight=sought.in_flight,
    )
    body = msgspec.json.encode(done).decode()
    await definitions.publish(
        Definition(
            kind=SEEK_KIND,
            tenant=EVERY_TENANT,
            name=generator,
            revision=0,
            hash=hashlib.sha256(body.encode()).hexdigest(),
            at_ms=done.at_ms,
            actor=actor,
            body=body,
        )
    )
    _log.info("group moved", generator=generator, actor=actor, **msgspec.structs.asdict(done))
    return sought


async def read_steering(definitions: Definitions, generator: str) -> Sequence[Steered]:
    """Return all that was done to a generator, the newest first."""
    ordered = [
        Steered(at_ms=one.at_ms, actor=one.actor, orders=read_orders(one))
        for one in await read_history(definitions, generator)
    ]
    moved = [_read_seek(one) for one in await definitions.history(SEEK_KIND, generator, tenant=EVERY_TENANT)]
    # Of what was done in one millisecond, the later revision first.
    return sorted([*reversed(ordered), *reversed(moved)], key=lambda one: -one.at_ms)


def tell_steered(one: Steered) -> str:
    """Return in a few words what was done."""
    if one.sought is not None:
        return f"moved to {one.to} of {one.topic}: {one.sought.again} again, {one.sought.skipped} skipped"
    orders = one.orders or Orders()
    word = f"paused: {orders.reason}" if orders.is_paused else "open"
    return f"{word}, weight {orders.weight:g}" if orders.weight else word


def _read_seek(stored: Definition) -> Steered:
    done = msgspec.json.decode(stored.body, type=_Seek)
    sought = Sought(done.again, done.skipped, done.in_flight)
    return Steered(at_ms=done.at_ms, actor=stored.actor, topic=done.topic, to=done.to, sought=sought)


async def _change(
    definitions: Definitions, generator: str, edit: Callable[[Orders], Orders], *, actor: str, clock: Clock
) -> Orders:
    for _ in range(TRIES_MAX):
        latest = next((one for one in await definitions.latest(KIND) if one.name == generator), None)
        orders = edit(Orders() if latest is None else read_orders(latest))
        try:
            revision = 0 if latest is None else latest.revision
            await give_orders(definitions, generator, orders, actor=actor, clock=clock, expected=revision)
            return orders
        except StaleRead:
            continue
    raise Unavailable(f"orders about generator {generator!r}", advice="somebody steers it all the time: try again")
