"""Finds out who calls, from the token that a request carries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from gristmill.api.problems import problem
from gristmill.api.security.secrets import is_secret, split_token
from gristmill.domain.front.access import Principal, StoredToken
from gristmill.ports.clock import Clock
from gristmill.ports.front import Tokens

__all__ = ["SESSION_COOKIE", "TokenGate", "is_same_origin"]

SESSION_COOKIE = "gristmill_token"
"""Holds the token of a browser that has logged in; set it HttpOnly and SameSite=Strict."""

REMEMBERED_US = 1_000_000
"""A revoked token stops working within this time, wherever the wall clock goes; a busy one is looked up once in it."""

REMEMBERED_MAX = 1_000
SAFE_METHODS = ("GET", "HEAD")
UNAUTHORISED = {"WWW-Authenticate": 'Bearer realm="gristmill"'}


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Whether the browser says that a page of our own has sent a request.

    Browsers leave `Sec-Fetch-Site` out where a page came without TLS from another machine; then `Origin` counts.
    """
    said = headers.get("sec-fetch-site")
    if said is not None:
        return said == "same-origin"
    _, _, place = headers.get("origin", "").partition("://")
    return place != "" and place == headers.get("host")


class TokenGate:
    """Lets callers with a good token in."""

    def __init__(self, tokens: Tokens, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock
        self._known: OrderedDict[str, tuple[int, StoredToken | None]] = OrderedDict()

    async def identify(self, *, method: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Principal:
        """Return the caller.

        A cookie counts for what changes nothing, or where the browser says that our own page has sent the request.

        Raises:
            ProblemRaised: `unauthorised`; whether the id or the secret is wrong is not told.
        """
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            text = ""
            if method in SAFE_METHODS or is_same_origin(headers):
                text = cookies.get(SESSION_COOKIE, "")
        principal = await self.find(text.strip())
        if principal is None:
            raise problem("unauthorised", headers=UNAUTHORISED)
        return principal

    async def find(self, text: str) -> Principal | None:
        """Return whoever a token stands for, None where it is not good."""
        parts = split_token(text)
        if parts is None:
            return None
        token_id, secret = parts
        stored = await self._look_up(token_id)
        if stored is None or not is_secret(secret, stored) or stored.revoked_at_ms is not None:
            return None
        return Principal(stored.token_id, stored.name, stored.role, stored.tenant)

    async def _look_up(self, token_id: str) -> StoredToken | None:
        now_us = self._clock.monotonic_us()
        until_us, stored = self._known.get(token_id, (0, None))
        if now_us < until_us:
            return stored
        stored = await self._tokens.find(token_id)
        self._known[token_id] = (now_us + REMEMBERED_US, stored)
        self._known.move_to_end(token_id)
        while len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        return stored
