"""How the installation is, at a glance: what comes and goes, what waits and why, what has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.api.calls import Call
from gristmill.api.console.pace import Pace
from gristmill.api.console.page import Console, Nav, Page, View
from gristmill.api.desk.causes import LETTERS_MAX
from gristmill.api.reading.changes import Change, read_changes
from gristmill.api.reading.letters import visible_letters
from gristmill.api.reading.waits import explain_waits
from gristmill.domain.front.access import Principal
from gristmill.domain.front.waiting import WAIT_TEXTS, WaitReason
from gristmill.plans.plan import Generator
from gristmill.ports.log import Log

__all__ = ["OVERVIEW_PAGES"]

DAY_MS = 24 * 3_600_000
CHANGES_MAX = 12
FOR_ALL: tuple[WaitReason, ...] = ("not-serving", "backlog-full")
"""Reasons that every publisher notices alone; the others tell what somebody else has published."""

DEAD_MAX = 1_000
"""More need no exact number at a glance; reading so many without their values takes some milliseconds."""


class _Row(msgspec.Struct, frozen=True):
    """One generator with how it does."""

    generator: Generator
    pace: Pace
    waits: tuple[WaitReason, ...]
    is_full: bool


class _Totals(msgspec.Struct, frozen=True):
    """All generators together."""

    in_per_s: float | None
    out_per_s: float | None
    undelivered: int
    in_flight: int
    oldest_age_ms: int
    dead: int
    """What the caller may see of all dead letters, those of files too; DEAD_MAX stands for as many or more."""


async def _show_overview(console: Console, call: Call) -> View:
    services, sees_whole = console.services, call.principal.sees_whole
    paces = await console.pace.look()
    rows = [_row(console, generator, paces, sees_whole=sees_whole) for generator in services.generators.values()]
    dead = await _count_letters(services.log, call.principal, most=DEAD_MAX)
    since_ms = services.clock.now_ms() - DAY_MS
    changes = await read_changes(services, call.principal, since_ms=since_ms, limit=CHANGES_MAX)
    if console.started_at_ms >= since_ms:
        changes = sorted([*changes, _start(console)], key=lambda change: -change.at_ms)[:CHANGES_MAX]
    return View(
        "overview/page.html",
        sees_whole=sees_whole,
        rows=rows,
        totals=_sum_up([row.pace for row in rows], dead=dead),
        dead_max=DEAD_MAX,
        health=services.health(),
        counts=await services.state.counts(),
        traffic=await console.traffic.read(),
        changes=changes,
        wait_texts=WAIT_TEXTS,
    )


def _row(console: Console, generator: Generator, paces: Mapping[str, Pace], *, sees_whole: bool) -> _Row:
    pace = paces[generator.type]
    is_full = console.services.is_full(generator.type)
    waits = explain_waits(console.services, generator, pace.lag)
    return _Row(generator, pace, waits if sees_whole else tuple([one for one in waits if one in FOR_ALL]), is_full)


def _sum_up(paces: Sequence[Pace], *, dead: int) -> _Totals:
    def total(rates: Sequence[float | None]) -> float | None:
        known = [rate for rate in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None

    return _Totals(
        in_per_s=total([pace.in_per_s for pace in paces]),
        out_per_s=total([pace.out_per_s for pace in paces]),
        undelivered=sum(pace.lag.undelivered for pace in paces),
        in_flight=sum(pace.lag.in_flight for pace in paces),
        oldest_age_ms=max((pace.lag.oldest_age_ms for pace in paces), default=0),
        dead=dead,
    )


async def _count_letters(log: Log, principal: Principal, *, most: int) -> int:
    """Return how many open letters somebody may see, `most` for as many or more."""
    count = after = 0
    for _ in range(max(1, LETTERS_MAX // DEAD_MAX)):
        page = await log.dead_letters(after=after, limit=most, has_values=False)
        count += len(visible_letters(page, principal))
        if len(page) < most or count >= most:
            break
        after = page[-1].dead_letter_id
    return min(count, most)


def _start(console: Console) -> Change:
    return Change(kind="started", at_ms=console.started_at_ms)


OVERVIEW_PAGES = (
    Page(
        name="consoleOverview",
        path="/console",
        title="Overview",
        access="viewer",
        handle=_show_overview,
        nav=Nav("Overview", key="o", order=10),
    ),
)
