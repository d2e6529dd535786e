"""Who is told what: subscriptions, how far each is, what was sent and answered, and how they are steered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call
from gristmill.api.console.page import Console, Nav, Page, Redirect, View, go_back, read_form
from gristmill.api.problems import Fault, problem
from gristmill.api.routes.subscriptions.viewing import find_of, without_query
from gristmill.deliver.definitions import KIND, read_subscription
from gristmill.deliver.steering import pause, preview_replay, replay, resume, rotate_secret, try_receiver
from gristmill.domain.delivery import Progress, Subscription
from gristmill.domain.errors import UsageError

__all__ = ["SUBSCRIPTION_PAGES"]

HOME = "/console/subscriptions"
SECTION = "consoleSubscriptions"
ATTEMPTS_SHOWN = 50
DONE_CHARS_MAX = 128


class _Row(msgspec.Struct, frozen=True):
    """A subscription and how it goes.

    Attributes:
        behind: positions from the newest change, at most.
        age_ms: of the oldest change that its receiver was not told of, 0 where there is none.
    """

    subscription: Subscription
    revision: int
    progress: Progress
    to: str
    behind: int
    age_ms: int


class _Done(msgspec.Struct, frozen=True, kw_only=True):
    """What was done just now."""

    done: Annotated[str, Meta(max_length=DONE_CHARS_MAX)] = ""


class _Range(msgspec.Struct, frozen=True, kw_only=True):
    """What to tell again; a form may leave fields empty."""

    since: Annotated[str, Meta(max_length=64)] = ""
    until: Annotated[str, Meta(max_length=64)] = ""


async def _list(console: Console, call: Call) -> View:
    services = console.services
    progress = {(one.tenant, one.name): one for one in await services.deliveries.all()}
    rows = [
        await _row(console, read_subscription(one.body, file=one.name), one.revision, progress[one.tenant, one.name])
        for one in await services.definitions.latest(KIND)
        if call.principal.sees(one.tenant) and (one.tenant, one.name) in progress
    ]
    return View("subscriptions/list.html", rows=rows, sees_all=call.principal.sees_every_tenant)


async def _show(console: Console, call: Call) -> View:
    done = call.read_query(_Done).done
    row = await _find(console, call)
    return View(
        "subscriptions/show.html",
        title=f"Subscription {row.subscription.address}",
        row=row,
        done=done,
        attempts=await console.services.deliveries.attempts(row.progress.subscription_id, limit=ATTEMPTS_SHOWN),
        retries_ms=[pause_s * 1_000 for pause_s in console.services.retries_s],
    )


async def _pause(console: Console, call: Call) -> Redirect:
    found = (await _find(console, call)).subscription
    await pause(console.services.deliveries, found.name, tenant=found.tenant, actor=call.principal.name)
    return _back(found, "Paused: what changes meanwhile is sent when it resumes")


async def _resume(console: Console, call: Call) -> Redirect:
    found = (await _find(console, call)).subscription
    await resume(console.services.deliveries, found.name, tenant=found.tenant)
    return _back(found, "Resumed: it goes on within a second")


async def _test(console: Console, call: Call) -> Redirect:
    services, found = console.services, (await _find(console, call)).subscription
    attempt = await try_receiver(
        services.deliveries,
        services.definitions,
        services.sending,
        found.name,
        tenant=found.tenant,
        clock=services.clock,
    )
    if attempt.error:
        return _back(found, f"The receiver did not take the test: {attempt.error}"[:DONE_CHARS_MAX])
    return _back(found, "The receiver took the test")


async def _rotate(console: Console, call: Call) -> View:
    services, row = console.services, await _find(console, call)
    found = row.subscription
    if not found.webhook:
        raise problem("conflict", "nothing is signed on the way to a topic")
    secret = await rotate_secret(services.deliveries, found.name, tenant=found.tenant, clock=services.clock)
    return View("subscriptions/secret.html", title=f"New secret of {found.address}", row=row, secret=secret)


async def _preview(console: Console, call: Call) -> View:
    wanted = call.read_query(_Range)
    row = await _find(console, call)
    since, until = wanted.since.strip() or "earliest", wanted.until.strip() or "now"
    try:
        found = await preview_replay(console.services.changes, row.subscription, since=since, until=until)
    except UsageError as error:
        raise problem("validation", "range", errors=[Fault("since", str(error))]) from error
    return View(
        "subscriptions/replay.html",
        title=f"Replay to {row.subscription.address}",
        row=row,
        since=since,
        preview=found,
    )


async def _replay(console: Console, call: Call) -> Redirect:
    """Replay the positions that were shown, whatever has changed since."""
    services, form = console.services, await read_form(call)
    found = (await _find(console, call)).subscription
    first, last = form.get("first", ""), form.get("last", "")
    if not (first.isdecimal() and last.isdecimal()):
        raise problem("validation", errors=[Fault("first", "is no position; look at the preview again")])
    try:
        await replay(services.deliveries, services.changes, found.name, tenant=found.tenant, since=first, until=last)
    except UsageError as error:
        raise problem("validation", "range", errors=[Fault("first", str(error))]) from error
    return _back(found, f"Positions {first} to {last} are told again")


async def _find(console: Console, call: Call) -> _Row:
    values = call.path_values
    found = await find_of(console.services, call.principal, values["subscription"], tenant=values["tenant"])
    return await _row(console, *found)


async def _row(console: Console, subscription: Subscription, revision: int, progress: Progress) -> _Row:
    changes, now_ms = console.services.changes, console.services.clock.now_ms()
    following = await changes.read(after=progress.position, limit=1)
    since_ms = min((event.at_ms for change in following for event in change.events), default=now_ms)
    return _Row(
        subscription,
        revision,
        progress,
        to=f"topic {subscription.topic}" if subscription.topic else without_query(subscription.webhook),
        behind=max(0, await changes.end() - progress.position),
        age_ms=max(0, now_ms - since_ms),
    )


def _back(subscription: Subscription, done: str) -> Redirect:
    return go_back(f"{HOME}/{subscription.tenant}/{subscription.name}", done)


ONE = HOME + "/{tenant}/{subscription}"

_page = partial(Page, title="Subscription", section=SECTION, access="operator")


def _act(name: str, act: str, handle: Callable[[Console, Call], Awaitable[View | Redirect]]) -> Page:
    return _page(name=name, path=f"{ONE}/{act}", handle=handle, method="POST")


SUBSCRIPTION_PAGES: tuple[Page, ...] = (
    Page(
        name=SECTION,
        path=HOME,
        title="Subscriptions",
        access="viewer",
        handle=_list,
        nav=Nav("Subscriptions", key="u", order=60),
    ),
    _page(name="consoleSubscription", path=ONE, handle=_show),
    _page(name="consolePreviewReplay", path=ONE + "/replay", handle=_preview),
    _act("consoleReplaySubscription", "replay", _replay),
    _act("consolePauseSubscription", "pause", _pause),
    _act("consoleResumeSubscription", "resume", _resume),
    _act("consoleRotateSecret", "rotate", _rotate),
    _act("consoleTestSubscription", "test", _test),
)
