"""Guarded outgoing HTTP: the only way to an address that somebody outside has chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

__all__ = ["SENT_BODY_BYTES_MAX", "Answer", "Egress", "Refusal", "Refused", "Sender", "Sent"]

SENT_BODY_BYTES_MAX = 1_024
"""What a person needs to understand a failure."""

Refusal = Literal["bad_url", "blocked_address", "blocked_port", "too_many_redirects", "too_large"]


class Answer(msgspec.Struct, frozen=True):
    """What a server said.

    Attributes:
        url: of the last hop, after redirects.
        status: any HTTP status that is no redirect.
        body: whole, at most the bytes that were asked for; empty for a status of 300 and above.
    """

    url: str
    status: int
    body: bytes


class Refused(msgspec.Struct, frozen=True):
    """Nothing was fetched, and a repeat would be refused again. `detail` is for a person."""

    reason: Refusal
    detail: str


class Egress(Protocol):
    """Fetches what untrusted input points to."""

    async def get(self, url: str, *, bytes_max: int) -> Answer | Refused:
        """Fetch with GET, following a few redirects.

        Raises:
            Unavailable: the host or its answer did not come in time, or broke off; a repeat may help.
        Guarantees: connects only to addresses that were checked for this very hop, and resolves no name a second time;
        keeps at most `bytes_max` bytes of the body; sends no credentials.
        """
        ...


class Sent(msgspec.Struct, frozen=True):
    """What a server said to what it was sent.

    Attributes:
        status: any HTTP status, redirects too: they are not followed.
        retry_after_s: what it asked for, 0 where it did not.
        body: how its answer begins, SENT_BODY_BYTES_MAX at most; empty where it did not come at once.
    """

    status: int
    retry_after_s: float = 0
    body: bytes = b""


class Sender(Protocol):
    """Sends to addresses that somebody outside has chosen."""

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str]) -> Sent | Refused:
        """Send with POST, once.

        Raises:
            Unavailable: no answer came in time; the server may have taken the body all the same.
        Guarantees: as `Egress.get`; reads no more of the answer's body than is returned, and does not wait for it.
        """
        ...
