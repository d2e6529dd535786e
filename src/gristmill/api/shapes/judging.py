"""What people say about labels."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["ApplyRequest", "NegateRequest"]

Val = Annotated[str, Meta(pattern="^[a-z](?:[a-z-]{0,126}[a-z])?$")]

Reason = Annotated[str, Meta(min_length=1, max_length=2_000, description="why, for whoever looks at it later")]

Actor = Annotated[str, Meta(max_length=128, description="who decided, where the token serves several people")]


class NegateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label that does not hold, and why."""

    val: Val
    reason: Reason
    actor: Actor = ""


class ApplyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label that holds, and why."""

    val: Val
    reason: Reason
    actor: Actor = ""
    score: Annotated[float, Meta(ge=0.0, le=1.0)] = 1.0
