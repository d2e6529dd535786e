"""Subscriptions listed, shown and published without a restart."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import Fault, problem
from gristmill.api.routes.subscriptions.viewing import find_visible, view_attempt, view_subscription
from gristmill.api.services import Services
from gristmill.api.shapes.subscriptions import (
    PublishedSubscriptionView,
    PublishSubscriptionRequest,
    SubscriptionDetailView,
    SubscriptionsView,
    TenantQuery,
)
from gristmill.deliver.definitions import KIND, publish_subscription, read_subscription
from gristmill.domain.delivery import Subscription
from gristmill.domain.errors import GristmillError

__all__ = ["PUBLISHING_OPERATIONS"]

FILE_NAME = "definition"

_decoder = msgspec.json.Decoder(PublishSubscriptionRequest)


async def _list_subscriptions(services: Services, call: Call) -> Reply:
    """List subscriptions, with how far each is and what its receiver said last."""
    end = await services.changes.end()
    progress = {(one.tenant, one.name): one for one in await services.deliveries.all()}
    views = [
        view_subscription(
            read_subscription(one.body, file=one.name), one.revision, progress[one.tenant, one.name], end=end
        )
        for one in await services.definitions.latest(KIND)
        if call.principal.sees(one.tenant) and (one.tenant, one.name) in progress
    ]
    return reply(SubscriptionsView(views))


async def _show(services: Services, call: Call) -> Reply:
    """Show a subscription as it was written, with its newest attempts."""
    subscription, revision, progress = await find_visible(services, call)
    view = view_subscription(subscription, revision, progress, end=await services.changes.end())
    attempts = await services.deliveries.attempts(progress.subscription_id)
    shown = SubscriptionDetailView(
        subscription=view, definition=subscription.text, attempts=[view_attempt(one) for one in attempts]
    )
    return reply(shown)


async def _publish(services: Services, call: Call) -> Reply:
    """Publish a subscription, or say what is wrong with it. The secret is in the answer only when it is made."""
    request = await read_json(call, _decoder)
    subscription = _read(request.definition)
    if not call.principal.sees(subscription.tenant):
        raise problem("forbidden", f"tenant {subscription.tenant!r}")
    published = await publish_subscription(
        services.definitions,
        services.deliveries,
        services.changes,
        subscription,
        actor=call.principal.name,
        clock=services.clock,
        expected=request.expected_revision,
    )
    view = PublishedSubscriptionView(
        name=subscription.name,
        tenant=subscription.tenant,
        revision=published.revision,
        hash=subscription.hash,
        position=published.position,
        secret=published.secret or None,
    )
    return reply(view)


def _read(text: str) -> Subscription:
    try:
        return read_subscription(text, file=FILE_NAME, is_new=True)
    except GristmillError as error:
        raise problem("validation", "definition", errors=[Fault("/definition", str(error))]) from error


EXAMPLE = """\
subscription: spam-desk
rows: '"spam" in item.labels'
columns: [text, author, "labels.*"]
to: {webhook: "https://example.org/hook"}
"""

PUBLISHING_OPERATIONS = (
    Operation(
        operation_id="listSubscriptions",
        method="GET",
        path="/v1/subscriptions",
        summary="List subscriptions, and how they go",
        access="viewer",
        handle=_list_subscriptions,
        answer=SubscriptionsView,
    ),
    Operation(
        operation_id="publishSubscription",
        method="POST",
        path="/v1/subscriptions",
        summary="Publish a subscription",
        access="operator",
        handle=_publish,
        body=PublishSubscriptionRequest,
        answer=PublishedSubscriptionView,
        problems=("conflict",),
        example={"definition": EXAMPLE},
    ),
    Operation(
        operation_id="getSubscription",
        method="GET",
        path="/v1/subscriptions/{subscription}",
        summary="Show a subscription and its newest attempts",
        access="operator",
        handle=_show,
        query=TenantQuery,
        answer=SubscriptionDetailView,
        problems=("not-found",),
    ),
)
