"""How far a subscription has come, and the log of what was sent."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["EXCERPT_CHARS_MAX", "Attempt", "Progress", "ProgressStatus"]

EXCERPT_CHARS_MAX = 1_000
"""Two hundred requests of each subscription are kept."""

ProgressStatus = Literal["active", "paused", "disabled"]
"""`paused`: by a person, or after the last retry; `disabled`: its receiver said that it is gone. Both can resume."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """One subscription at work. It holds secrets: never log it.

    Attributes:
        subscription_id: given by the store.
        version: raised by every write; whoever writes must have seen the last one.
        why: of a status that is not active, for a person.
        has_begun: something was ever sent, or is about to be.
        position: every change up to it is with the receiver.
        again_upto: changes up to it are sent even where the receiver has them already.
        replays: how often somebody has asked for that; what is told again has new ids, or receivers would drop it.
        secret: signs requests; empty where nothing is signed.
        old_secret: signs too, until `old_secret_until_ms`.
        failures: rounds in a row that brought nothing to the receiver.
        failing_since_ms: 0 while it goes well.
        next_at_ms: nothing is sent before.
        message_count: delivered so far.
    """

    tenant: str
    name: str
    subscription_id: int = 0
    version: int = 0
    status: ProgressStatus = "active"
    why: str = ""
    has_begun: bool = False
    position: int = 0
    again_upto: int = 0
    replays: int = 0
    secret: str = ""
    old_secret: str = ""
    old_secret_until_ms: int = 0
    failures: int = 0
    failing_since_ms: int = 0
    next_at_ms: int = 0
    message_count: int = 0
    last_success_at_ms: int = 0
    last_error: str = ""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One request, or one append to a topic.

    Attributes:
        request_id: `webhook-id` of the request; the same in every retry of the same content.
        position: the highest of its messages.
        status: of HTTP, 0 where there was no answer or none is given.
        request: how its body begins, EXCERPT_CHARS_MAX at most; the messages hold it whole.
        response: how the answer's body begins, alike.
    """

    at_ms: int
    request_id: str
    message_count: int
    position: int
    status: int
    took_ms: int
    error: str = ""
    is_test: bool = False
    request: str = ""
    response: str = ""
