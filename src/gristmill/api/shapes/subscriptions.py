"""Subscriptions as the API shows and takes them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.domain.delivery import ProgressStatus
from gristmill.ports.definitions import DEFINITION_BYTES_MAX

__all__ = [
    "AttemptView",
    "PublishSubscriptionRequest",
    "PublishedSubscriptionView",
    "SecretView",
    "SubscriptionDetailView",
    "SubscriptionView",
    "SubscriptionsView",
    "TenantQuery",
]


class TenantQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Whose subscription is meant, for callers that see several tenants."""

    tenant: Annotated[str, Meta(max_length=120, description="whose; the caller's own where it is left out")] = ""


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """One request, or one append to a topic. `status` is 0 where there was no answer or none is given.

    `request` and `response` are how the bodies begin, up to 1,000 characters.
    """

    at: str
    request_id: str
    messages: int
    position: int
    status: int
    took_ms: int
    error: str
    test: bool
    request: str
    response: str


class SubscriptionView(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription, and how it goes. `behind` is how many positions it is from the newest change, at most."""

    name: str
    tenant: str
    revision: int
    to: str
    status: ProgressStatus
    why: str
    position: int
    behind: int
    messages: int
    failures: int
    failing_since: str | None
    next_attempt_at: str | None
    last_success_at: str | None
    last_error: str


class SubscriptionsView(msgspec.Struct, frozen=True):
    """All subscriptions by tenant and name."""

    subscriptions: list[SubscriptionView]


class SubscriptionDetailView(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription as it was written, with its newest attempts, the newest first."""

    subscription: SubscriptionView
    definition: str
    attempts: list[AttemptView]


class PublishSubscriptionRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A subscription file, and which revision it follows (0: there must be none yet)."""

    definition: Annotated[str, Meta(min_length=1, max_length=DEFINITION_BYTES_MAX, description="the file, as YAML")]
    expected_revision: Annotated[int, Meta(ge=0)] | None = None


class PublishedSubscriptionView(msgspec.Struct, frozen=True, kw_only=True):
    """Published; running groups deliver by it within seconds.

    `secret` signs its requests. It is told once, when it is made.
    """

    name: str
    tenant: str
    revision: int
    hash: str
    position: int
    secret: str | None


class SecretView(msgspec.Struct, frozen=True):
    """A new secret; requests are signed with the old one too for a day."""

    secret: str
