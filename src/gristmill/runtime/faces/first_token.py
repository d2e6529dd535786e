"""The first start hands out one token for an administrator, since there is no default password."""

from __future__ import annotations

from gristmill.api.security import make_token
from gristmill.domain.front.access import EVERY_TENANT
from gristmill.ports.clock import Clock
from gristmill.ports.front import Tokens

__all__ = ["is_locked_out", "make_first_token"]


async def make_first_token(tokens: Tokens, clock: Clock) -> str | None:
    """Return a token for an administrator of every tenant, None where there was ever a token before."""
    made = make_token("first start", role="admin", tenant=EVERY_TENANT, now_ms=clock.now_ms())
    return made.text if await tokens.add(made.stored, only_first=True) else None


async def is_locked_out(tokens: Tokens) -> bool:
    """Whether every token was revoked, so that nobody can call; a start makes no second first token."""
    return all(token.revoked_at_ms is not None for token in await tokens.all())
