"""Publishes Subscriptions: a new one begins where its file says, a new revision of one goes on where that one was."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from gristmill.deliver.core.signing import SECRET_BYTES, write_secret
from gristmill.deliver.definitions.reader import read_start, read_subscription
from gristmill.domain.delivery import Progress, Subscription
from gristmill.domain.errors import ConfigError, UsageError
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definition, Definitions
from gristmill.ports.delivery import Changes, Deliveries

__all__ = ["KIND", "Published", "find_position", "load_subscription", "publish_subscription"]

KIND = "subscription"

SUBSCRIPTIONS_MAX = 200
"""Each may hold a few connections; more of them want processes of their own."""


class Published(msgspec.Struct, frozen=True):
    """A Subscription that is published.

    Attributes:
        secret: signs its requests; told only when it was made, empty afterwards and for topics.
        position: where it begins, or is.
    """

    subscription: Subscription
    revision: int
    position: int
    secret: str


def load_subscription(path: Path) -> Subscription:
    """Read a Subscription file.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        advice = f"{getattr(error, 'strerror', None) or error}; check the file"
        raise ConfigError("subscription file cannot be read", value=str(path), advice=advice) from error
    return read_subscription(text, file=str(path), is_new=True)


async def publish_subscription(
    definitions: Definitions,
    deliveries: Deliveries,
    changes: Changes,
    subscription: Subscription,
    *,
    actor: str,
    clock: Clock,
    expected: int | None = None,
) -> Published:
    """Publish a Subscription; running groups deliver by it within seconds.

    Raises:
        StaleRead: the latest revision is not `expected`.
        UsageError: there are as many as an installation takes.
    """
    known = await deliveries.find(subscription.name, tenant=subscription.tenant)
    if known is None and len(await deliveries.all()) >= SUBSCRIPTIONS_MAX:
        raise UsageError("subscriptions", value=SUBSCRIPTIONS_MAX, advice="no installation takes more")
    new = Definition(
        kind=KIND,
        tenant=subscription.tenant,
        name=subscription.name,
        revision=0,
        hash=subscription.hash,
        at_ms=clock.now_ms(),
        actor=actor,
        body=subscription.text,
    )
    stored = await definitions.publish(new, expected=expected)
    secret = write_secret(secrets.token_bytes(SECRET_BYTES))
    begun = Progress(
        tenant=subscription.tenant,
        name=subscription.name,
        position=await find_position(changes, subscription.start),
        secret=secret,
    )
    progress = await deliveries.add(begun)
    is_told = bool(subscription.webhook) and progress.secret == secret
    return Published(subscription, stored.revision, progress.position, secret if is_told else "")


async def find_position(changes: Changes, text: str) -> int:
    """Return the position that `now`, `earliest`, a number or a time means; none is above the newest change.

    Raises:
        UsageError: it means none.
    """
    end, beginning = await changes.end(), await changes.beginning()
    if text == "now":
        return end
    if text == "earliest":
        return beginning
    at_ms = read_start(text) if not text.isdecimal() else None
    if at_ms is None and not text.isdecimal():
        advice = "write now, earliest, a position, or a time such as 2026-11-30T12:00:00Z"
        raise UsageError("position", value=text, advice=advice)
    position = int(text) if at_ms is None else await changes.position_at(at_ms)
    return min(end, max(beginning, position))
