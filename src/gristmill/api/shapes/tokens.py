"""Tokens as the API shows and hands them out."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.domain.front.access import Role

__all__ = ["NewTokenRequest", "NewTokenView", "TokenView", "TokensView"]


class TokenView(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret; that is stored nowhere."""

    token_id: str
    name: str
    role: Role
    tenant: str
    created_at: str
    revoked_at: str | None


class TokensView(msgspec.Struct, frozen=True):
    """All tokens, oldest first."""

    tokens: list[TokenView]


class NewTokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who will use it, as what, and for whose content; the tenant of the caller's token by default."""

    name: Annotated[str, Meta(min_length=1, max_length=128)]
    role: Role
    tenant: Annotated[str, Meta(max_length=128, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*|\*)?$")] = ""


class NewTokenView(msgspec.Struct, frozen=True):
    """The token itself, shown this once."""

    token: str
    token_id: str
