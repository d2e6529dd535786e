"""Finds subscriptions and shows them: without secrets, and without what stands behind the path of an address."""

from __future__ import annotations

from urllib.parse import urlsplit

from gristmill.api.calls import Call
from gristmill.api.problems import problem
from gristmill.api.services import Services
from gristmill.api.shapes.subscriptions import AttemptView, SubscriptionView, TenantQuery
from gristmill.deliver.steering import find_subscription
from gristmill.domain.delivery import Attempt, Progress, Subscription
from gristmill.domain.errors import UsageError
from gristmill.domain.front.access import EVERY_TENANT, Principal
from gristmill.domain.front.times import write_time
from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["find_of", "find_visible", "view_attempt", "view_subscription", "without_query"]


async def find_visible(
    services: Services, call: Call, *, tenant: str | None = None
) -> tuple[Subscription, int, Progress]:
    """Return the subscription that a call names, its revision and how it goes.

    Args:
        tenant: whose it is, where the query does not say so.
    Raises:
        ProblemRaised: `not-found`: there is none that the caller sees.
    """
    asked = call.read_query(TenantQuery).tenant if tenant is None else tenant
    whose = asked or (TENANT_DEFAULT if call.principal.tenant == EVERY_TENANT else call.principal.tenant)
    return await find_of(services, call.principal, call.path_values["subscription"], tenant=whose)


async def find_of(
    services: Services, principal: Principal, name: str, *, tenant: str
) -> tuple[Subscription, int, Progress]:
    """Return a subscription of a tenant, its revision and how it goes.

    Raises:
        ProblemRaised: `not-found`: there is none that the caller sees.
    """
    missing = problem("not-found", "subscription")
    if not principal.sees(tenant):
        raise missing
    try:
        subscription, revision = await find_subscription(services.definitions, name, tenant=tenant)
    except UsageError as error:
        raise missing from error
    progress = await services.deliveries.find(name, tenant=tenant)
    if progress is None:
        raise missing
    return subscription, revision, progress


def view_subscription(subscription: Subscription, revision: int, progress: Progress, *, end: int) -> SubscriptionView:
    """Return a subscription and how it goes."""
    return SubscriptionView(
        name=subscription.name,
        tenant=subscription.tenant,
        revision=revision,
        to=f"topic {subscription.topic}" if subscription.topic else without_query(subscription.webhook),
        status=progress.status,
        why=progress.why,
        position=progress.position,
        behind=max(0, end - progress.position),
        messages=progress.message_count,
        failures=progress.failures,
        failing_since=_moment(progress.failing_since_ms),
        next_attempt_at=_moment(progress.next_at_ms if progress.status == "active" else 0),
        last_success_at=_moment(progress.last_success_at_ms),
        last_error=progress.last_error,
    )


def view_attempt(attempt: Attempt) -> AttemptView:
    """Return an attempt."""
    return AttemptView(
        at=write_time(attempt.at_ms),
        request_id=attempt.request_id,
        messages=attempt.message_count,
        position=attempt.position,
        status=attempt.status,
        took_ms=attempt.took_ms,
        error=attempt.error,
        test=attempt.is_test,
        request=attempt.request,
        response=attempt.response,
    )


def without_query(url: str) -> str:
    """Return an address for people: some receivers take their key in the query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _moment(at_ms: int) -> str | None:
    return write_time(at_ms) if at_ms else None
