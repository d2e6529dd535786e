"""Subscriptions paused, resumed, replayed and tried."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import Fault, problem
from gristmill.api.routes.subscriptions.viewing import find_visible, view_attempt, view_subscription
from gristmill.api.services import Services
from gristmill.api.shapes.replays import ReplayPreviewView, ReplayQuery, ReplayRequest
from gristmill.api.shapes.subscriptions import AttemptView, SecretView, SubscriptionView, TenantQuery
from gristmill.deliver.steering import pause, preview_replay, replay, resume, rotate_secret, try_receiver
from gristmill.domain.delivery import Progress, Subscription
from gristmill.domain.errors import UsageError

__all__ = ["STEERING_OPERATIONS"]

_decoder = msgspec.json.Decoder(ReplayRequest)


async def _pause(services: Services, call: Call) -> Reply:
    """Send nothing more; what changes meanwhile is sent when it resumes."""
    found, revision, _ = await find_visible(services, call)
    progress = await pause(services.deliveries, found.name, tenant=found.tenant, actor=call.principal.name)
    return await _answer(services, found, revision, progress)


async def _resume(services: Services, call: Call) -> Reply:
    """Go on where it stopped, at once, whatever pause its failures have led to."""
    found, revision, _ = await find_visible(services, call)
    progress = await resume(services.deliveries, found.name, tenant=found.tenant)
    return await _answer(services, found, revision, progress)


async def _replay(services: Services, call: Call) -> Reply:
    """Tell again what changed in a range, as it stands now. What the store no longer has is left out."""
    found, revision, _ = await find_visible(services, call)
    request = await read_json(call, _decoder)
    try:
        progress = await replay(
            services.deliveries,
            services.changes,
            found.name,
            tenant=found.tenant,
            since=request.since,
            until=request.until,
        )
    except UsageError as error:
        raise problem("validation", "range", errors=[Fault("/since", str(error))]) from error
    return await _answer(services, found, revision, progress)


async def _preview(services: Services, call: Call) -> Reply:
    """Count what a replay would tell again, and change nothing."""
    query = call.read_query(ReplayQuery)
    found, _, _ = await find_visible(services, call, tenant=query.tenant)
    try:
        preview = await preview_replay(services.changes, found, since=query.since, until=query.until)
    except UsageError as error:
        raise problem("validation", "range", errors=[Fault("since", str(error))]) from error
    view = ReplayPreviewView(
        first=preview.first,
        last=preview.last,
        changes=preview.change_count,
        items=preview.item_count,
        wanted=preview.wanted_count,
        complete=preview.is_whole,
    )
    return reply(view)


async def _rotate(services: Services, call: Call) -> Reply:
    """Make a new secret; requests are signed with both for a day."""
    found, _, _ = await find_visible(services, call)
    if not found.webhook:
        raise problem("conflict", "nothing is signed on the way to a topic")
    secret = await rotate_secret(services.deliveries, found.name, tenant=found.tenant, clock=services.clock)
    return reply(SecretView(secret))


async def _test(services: Services, call: Call) -> Reply:
    """Send a message that tells of nothing now, and return what came of it."""
    found, _, _ = await find_visible(services, call)
    attempt = await try_receiver(
        services.deliveries,
        services.definitions,
        services.sending,
        found.name,
        tenant=found.tenant,
        clock=services.clock,
    )
    return reply(view_attempt(attempt))


async def _answer(services: Services, subscription: Subscription, revision: int, progress: Progress) -> Reply:
    return reply(view_subscription(subscription, revision, progress, end=await services.changes.end()))


STEERING_OPERATIONS = (
    Operation(
        operation_id="pauseSubscription",
        method="POST",
        path="/v1/subscriptions/{subscription}/pause",
        summary="Pause a subscription",
        access="operator",
        handle=_pause,
        query=TenantQuery,
        answer=SubscriptionView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="resumeSubscription",
        method="POST",
        path="/v1/subscriptions/{subscription}/resume",
        summary="Resume a subscription",
        access="operator",
        handle=_resume,
        query=TenantQuery,
        answer=SubscriptionView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="replaySubscription",
        method="POST",
        path="/v1/subscriptions/{subscription}/replay",
        summary="Tell a receiver again what changed",
        access="operator",
        handle=_replay,
        query=TenantQuery,
        body=ReplayRequest,
        answer=SubscriptionView,
        problems=("not-found",),
        example={"since": "earliest"},
    ),
    Operation(
        operation_id="previewSubscriptionReplay",
        method="GET",
        path="/v1/subscriptions/{subscription}/replay",
        summary="Count what a replay would tell again",
        access="operator",
        handle=_preview,
        query=ReplayQuery,
        answer=ReplayPreviewView,
        problems=("not-found",),
    ),
    Operation(
        operation_id="rotateSubscriptionSecret",
        method="POST",
        path="/v1/subscriptions/{subscription}/rotate",
        summary="Make a new secret for a subscription",
        access="operator",
        handle=_rotate,
        query=TenantQuery,
        answer=SecretView,
        problems=("not-found", "conflict"),
    ),
    Operation(
        operation_id="testSubscription",
        method="POST",
        path="/v1/subscriptions/{subscription}/test",
        summary="Try the receiver of a subscription",
        access="operator",
        handle=_test,
        query=TenantQuery,
        answer=AttemptView,
        problems=("not-found",),
    ),
)
