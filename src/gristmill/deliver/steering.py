"""What people do to a subscription: pause, resume, replay, rotate its secret, try its receiver."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import msgspec

from gristmill.deliver.core.document import compute_document
from gristmill.deliver.core.messages import make_test_message
from gristmill.deliver.core.selecting import compile_selector
from gristmill.deliver.core.signing import SECRET_BYTES, write_secret
from gristmill.deliver.definitions import KIND, read_subscription
from gristmill.deliver.definitions.catalogue import find_position
from gristmill.deliver.sending import Sending
from gristmill.domain.delivery import Attempt, Progress, Subscription
from gristmill.domain.errors import StaleRead, Unavailable, UsageError
from gristmill.domain.ids import ItemId
from gristmill.plans.names import advise_known
from gristmill.ports.clock import Clock
from gristmill.ports.definitions import Definitions
from gristmill.ports.delivery import CHANGES_PER_READ_MAX, Changes, Deliveries

__all__ = [
    "ReplayPreview",
    "find_subscription",
    "pause",
    "preview_replay",
    "replay",
    "resume",
    "rotate_secret",
    "try_receiver",
]

PREVIEWED_MAX = 5_000
"""Changes that a preview looks at; some hundred milliseconds."""

TRIES_MAX = 20
"""A courier that writes at the same moment is read again; it writes a few times a second at most."""

OLD_SECRET_MS = 24 * 3_600_000
"""How long requests are signed with both secrets after a rotation."""


async def find_subscription(definitions: Definitions, name: str, *, tenant: str) -> tuple[Subscription, int]:
    """Return the latest revision of a subscription, with its number.

    Raises:
        UsageError: there is none of this name.
    """
    latest = [one for one in await definitions.latest(KIND) if one.tenant == tenant]
    found = next((one for one in latest if one.name == name), None)
    if found is None:
        raise UsageError("subscription", value=name, advice=advise_known(name, [one.name for one in latest]))
    return read_subscription(found.body, file=name), found.revision


async def pause(deliveries: Deliveries, name: str, *, tenant: str, actor: str) -> Progress:
    """Send nothing more; what changes meanwhile is sent when it resumes.

    Raises:
        UsageError: there is no such subscription.
    """
    return await _change(
        deliveries,
        name,
        tenant,
        lambda progress: msgspec.structs.replace(progress, status="paused", why=f"by {actor}"),
    )


async def resume(deliveries: Deliveries, name: str, *, tenant: str) -> Progress:
    """Go on where it stopped, at once, whatever pause its failures have led to.

    Raises:
        UsageError: there is no such subscription.
    """
    return await _change(deliveries, name, tenant, _resumed)


async def replay(
    deliveries: Deliveries, changes: Changes, name: str, *, tenant: str, since: str, until: str = "now"
) -> Progress:
    """Tell again what changed in a range, with the items as they stand now.

    Args:
        since, until: `earliest`, `now`, a position, or a time in RFC 3339. What the store no longer has is left out.
    Raises:
        UsageError: there is no such subscription, or the range is empty.
    """
    first, last = await _find_range(changes, since, until)

    def rewind(progress: Progress) -> Progress:
        return msgspec.structs.replace(
            progress,
            position=min(first, progress.position),
            again_upto=last,
            replays=progress.replays + 1,
        )

    return await _change(deliveries, name, tenant, rewind)


class ReplayPreview(msgspec.Struct, frozen=True):
    """What a replay would tell again.

    Attributes:
        first, last: the range behind `first`, up to and with `last`.
        change_count, item_count: of all tenants, as far as they were looked at.
        wanted_count: items of these that fulfil the condition as they stand now.
        is_whole: the whole range was looked at, not only its first PREVIEWED_MAX changes.
    """

    first: int
    last: int
    change_count: int
    item_count: int
    wanted_count: int
    is_whole: bool


async def preview_replay(changes: Changes, subscription: Subscription, *, since: str, until: str) -> ReplayPreview:
    """Return what a replay would tell; it changes nothing.

    Raises:
        UsageError: the range is empty, or means no place.
    """
    first, last = await _find_range(changes, since, until)
    selector, place, change_count, is_whole = compile_selector(subscription), first, 0, True
    seen: set[ItemId] = set()
    wanted_count = 0
    while place < last:
        if change_count >= PREVIEWED_MAX:
            is_whole = False
            break
        page = await changes.read(after=place, limit=CHANGES_PER_READ_MAX)
        inside = [change for change in page if change.position <= last]
        fresh = list({change.item_id for change in inside} - seen)
        known = await changes.look_up(fresh) if fresh else {}
        wanted_count += sum(selector.wants(compute_document(one)) for one in known.values())
        seen.update(fresh)
        change_count += len(inside)
        if len(inside) < CHANGES_PER_READ_MAX:
            break
        place = inside[-1].position
    return ReplayPreview(first, last, change_count, len(seen), wanted_count, is_whole)


async def _find_range(changes: Changes, since: str, until: str) -> tuple[int, int]:
    first, last = await find_position(changes, since), await find_position(changes, until)
    if first >= last:
        raise UsageError("range to replay", value=f"{since} .. {until}", advice="nothing changed in it")
    return first, last


async def rotate_secret(deliveries: Deliveries, name: str, *, tenant: str, clock: Clock) -> str:
    """Return a new secret; requests are signed with the old one too for a day.

    Raises:
        UsageError: there is no such subscription.
    """
    secret = write_secret(secrets.token_bytes(SECRET_BYTES))
    until_ms = clock.now_ms() + OLD_SECRET_MS

    def rotate(progress: Progress) -> Progress:
        return msgspec.structs.replace(
            progress, secret=secret, old_secret=progress.secret, old_secret_until_ms=until_ms
        )

    await _change(deliveries, name, tenant, rotate)
    return secret


async def try_receiver(
    deliveries: Deliveries, definitions: Definitions, sending: Sending, name: str, *, tenant: str, clock: Clock
) -> Attempt:
    """Send a message that tells of nothing, signed like any other, and return what came of it.

    Raises:
        UsageError: there is no such subscription.
    """
    subscription, _ = await find_subscription(definitions, name, tenant=tenant)
    progress = await deliveries.find(name, tenant=tenant)
    if progress is None:
        raise UsageError("subscription", value=name, advice="publish it again: it has not begun")
    message = make_test_message(subscription, at_ms=clock.now_ms())
    tried = await sending.send(subscription, progress, [message], is_test=True)
    await _change(deliveries, name, tenant, lambda unchanged: unchanged, attempts=[tried.attempt])
    return tried.attempt


def _resumed(progress: Progress) -> Progress:
    return msgspec.structs.replace(
        progress, status="active", why="", failures=0, failing_since_ms=0, next_at_ms=0, last_error=""
    )


async def _change(
    deliveries: Deliveries,
    name: str,
    tenant: str,
    edit: Callable[[Progress], Progress],
    *,
    attempts: Sequence[Attempt] = (),
) -> Progress:
    for _ in range(TRIES_MAX):
        progress = await deliveries.find(name, tenant=tenant)
        if progress is None:
            known = [one.name for one in await deliveries.all() if one.tenant == tenant]
            raise UsageError("subscription", value=name, advice=advise_known(name, known))
        try:
            return await deliveries.save(edit(progress), attempts=attempts)
        except StaleRead:
            continue
    raise Unavailable(f"subscription {name!r}", advice="it is written all the time: try again")
