"""`gristmill subscription`: publish who is told what, look how it goes, and steer it."""

from __future__ import annotations

import getpass
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.cli.app import EXIT_OK, EXIT_TROUBLE
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, load
from gristmill.deliver.definitions import KIND, Published, load_subscription, publish_subscription, read_subscription
from gristmill.deliver.steering import (
    ReplayPreview,
    find_subscription,
    pause,
    preview_replay,
    replay,
    resume,
    rotate_secret,
    try_receiver,
)
from gristmill.domain.delivery import Attempt, Progress, Subscription
from gristmill.domain.errors import UsageError
from gristmill.domain.front.times import write_second
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.runtime.composition.stores import Store, open_store
from gristmill.runtime.delivery import build_sending
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["app"]

app = App(name="subscription")

Name = Annotated[str, Parameter(help="Name of the subscription.")]
Tenant = Annotated[str, Parameter(help="Whose it is.")]


@app.command(name="publish")
def _publish_file(
    file: Annotated[Path, Parameter(help="Subscription file (YAML).")],
    /,
    *,
    expect: Annotated[
        int | None, Parameter(help="Revision that must be the latest; 0: none may exist.", show_default=False)
    ] = None,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Publish a subscription: running groups deliver by it within seconds, without a restart.

    The secret that signs its requests is printed when it is made, and never again.
    """
    subscription = load_subscription(file)
    published = run_async(_publish(subscription, load(state=state, config=config).settings, expect))
    print(f"subscription {subscription.address}: revision {published.revision}, from position {published.position}")
    if published.secret:
        print(f"secret {published.secret}")
    return EXIT_OK


@app.command(name="ls")
def _list_subscriptions(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """List subscriptions and how they go."""
    listed, end = run_async(_read_all(load(state=state, config=config).settings))
    table = Table(
        "subscription", "revision", "status", "behind", "messages", "failures", "last", box=None, padding=(0, 2)
    )
    for subscription, revision, progress in listed:
        counts = (str(max(0, end - progress.position)), str(progress.message_count), str(progress.failures))
        last = progress.why or progress.last_error or _moment(progress.last_success_at_ms)
        table.add_row(subscription.address, str(revision), progress.status, *counts, last)
    plain_console().print(table if listed else "no subscriptions")
    return EXIT_OK


@app.command(name="show")
def _show_subscription(
    name: Name, /, *, tenant: Tenant = TENANT_DEFAULT, state: StateDir = None, config: ConfigFile = None
) -> int:
    """Show a subscription as it was written, how it goes, and its newest attempts."""
    subscription, revision, progress, attempts = run_async(
        _read_one(load(state=state, config=config).settings, name, tenant)
    )
    print(f"# revision {revision}, hash {subscription.hash}")
    print(f"# {progress.status} at position {progress.position}, {progress.message_count} messages delivered")
    if progress.why or progress.last_error:
        print(f"# {progress.why or progress.last_error}")
    if progress.status == "active" and progress.next_at_ms:
        print(f"# tried again at {_moment(progress.next_at_ms)}, after {progress.failures} failures")
    print(subscription.text, end="" if subscription.text.endswith("\n") else "\n")
    if attempts:
        table = Table("at", "request", "messages", "status", "ms", "error", box=None, padding=(0, 2))
        for one in attempts:
            status = str(one.status) if one.status else "-"
            table.add_row(
                _moment(one.at_ms), one.request_id, str(one.message_count), status, str(one.took_ms), one.error
            )
        plain_console().print(table)
    return EXIT_OK


@app.command(name="pause")
def _pause_subscription(
    name: Name, /, *, tenant: Tenant = TENANT_DEFAULT, state: StateDir = None, config: ConfigFile = None
) -> int:
    """Send nothing more; what changes meanwhile is sent when it resumes."""

    async def do() -> Progress:
        async with _open(load(state=state, config=config).settings) as store:
            return await pause(store.deliveries, name, tenant=tenant, actor=getpass.getuser())

    return _tell(run_async(do()))


@app.command(name="resume")
def _resume_subscription(
    name: Name, /, *, tenant: Tenant = TENANT_DEFAULT, state: StateDir = None, config: ConfigFile = None
) -> int:
    """Go on where it stopped, at once, whatever pause its failures have led to."""

    async def do() -> Progress:
        async with _open(load(state=state, config=config).settings) as store:
            return await resume(store.deliveries, name, tenant=tenant)

    return _tell(run_async(do()))


@app.command(name="replay")
def _replay_subscription(
    name: Name,
    /,
    *,
    since: Annotated[str, Parameter(help="earliest, a position, or a time such as 2026-11-30T12:00:00Z.")],
    until: Annotated[str, Parameter(help="now, a position, or a time.")] = "now",
    dry_run: Annotated[bool, Parameter(negative="", help="Only count what would be told.")] = False,
    tenant: Tenant = TENANT_DEFAULT,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Tell again what changed in a range, as it stands now. What the store no longer has is left out."""

    async def preview() -> ReplayPreview:
        async with _open(load(state=state, config=config).settings) as store:
            subscription, _ = await find_subscription(store.definitions, name, tenant=tenant)
            return await preview_replay(store.changes, subscription, since=since, until=until)

    if dry_run:
        found = run_async(preview())
        more = "" if found.is_whole else " at least"
        print(f"would tell{more} {found.wanted_count} of {found.item_count} items, {found.change_count} changes")
        return EXIT_OK

    async def do() -> Progress:
        async with _open(load(state=state, config=config).settings) as store:
            return await replay(store.deliveries, store.changes, name, tenant=tenant, since=since, until=until)

    return _tell(run_async(do()))


@app.command(name="rotate")
def _rotate_secret(
    name: Name, /, *, tenant: Tenant = TENANT_DEFAULT, state: StateDir = None, config: ConfigFile = None
) -> int:
    """Make a new secret; requests are signed with the old one too for a day."""

    async def do() -> str:
        async with _open(load(state=state, config=config).settings) as store:
            subscription, _ = await find_subscription(store.definitions, name, tenant=tenant)
            if not subscription.webhook:
                raise UsageError("subscription", value=name, advice="nothing is signed on the way to a topic")
            return await rotate_secret(store.deliveries, name, tenant=tenant, clock=SystemClock())

    print(f"secret {run_async(do())}")
    return EXIT_OK


@app.command(name="test")
def _test_receiver(
    name: Name, /, *, tenant: Tenant = TENANT_DEFAULT, state: StateDir = None, config: ConfigFile = None
) -> int:
    """Send a message that tells of nothing, signed like any other. Exit code 1: the receiver did not take it."""
    settings = load(state=state, config=config).settings

    async def do() -> Attempt:
        clock = SystemClock()
        async with _open(settings) as store:
            sending = build_sending(settings.delivery, store.log, clock)
            return await try_receiver(store.deliveries, store.definitions, sending, name, tenant=tenant, clock=clock)

    attempt = run_async(do())
    print(f"{'failed: ' + attempt.error if attempt.error else 'taken'}, after {attempt.took_ms} ms")
    if attempt.error.startswith(("blocked_address", "blocked_port")):
        print("name the receiver in delivery.allow as HOST:PORT, where it may be told")
    return EXIT_TROUBLE if attempt.error else EXIT_OK


def _tell(progress: Progress) -> int:
    print(f"subscription {progress.name}: {progress.status} at position {progress.position}")
    return EXIT_OK


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[Store]:
    async with open_for_reading(StateFolder(Path(settings.main.state_dir)), settings) as store:
        yield store


async def _publish(subscription: Subscription, settings: Settings, expect: int | None) -> Published:
    folder = StateFolder(Path(settings.main.state_dir))
    folder.prepare()
    clock = SystemClock()
    store = open_store(GroupSpec(state_dir=str(folder.path), settings=settings), clock, new_owner())
    try:
        return await publish_subscription(
            store.definitions,
            store.deliveries,
            store.changes,
            subscription,
            actor=getpass.getuser(),
            clock=clock,
            expected=expect,
        )
    finally:
        await store.close()


async def _read_all(settings: Settings) -> tuple[list[tuple[Subscription, int, Progress]], int]:
    async with _open(settings) as store:
        progress = {(one.tenant, one.name): one for one in await store.deliveries.all()}
        return [
            (read_subscription(one.body, file=one.name), one.revision, progress[one.tenant, one.name])
            for one in await store.definitions.latest(KIND)
            if (one.tenant, one.name) in progress
        ], await store.changes.end()


async def _read_one(settings: Settings, name: str, tenant: str) -> tuple[Subscription, int, Progress, list[Attempt]]:
    async with _open(settings) as store:
        subscription, revision = await find_subscription(store.definitions, name, tenant=tenant)
        progress = await store.deliveries.find(name, tenant=tenant)
        if progress is None:
            raise UsageError("subscription", value=name, advice="publish it again: it has not begun")
        attempts = await store.deliveries.attempts(progress.subscription_id, limit=20)
        return subscription, revision, progress, attempts


def _moment(at_ms: int) -> str:
    return write_second(at_ms) if at_ms else "-"
