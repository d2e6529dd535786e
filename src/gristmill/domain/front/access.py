"""Who may do what: roles, tenants and tokens."""

from __future__ import annotations

from typing import Literal

import msgspec

from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = ["EVERY_TENANT", "ROLES", "Principal", "Role", "StoredToken"]

Role = Literal["viewer", "reviewer", "operator", "admin"]
"""Each may do what those before it may: look; judge content; publish and steer; hand out tokens."""

ROLES: tuple[Role, ...] = ("viewer", "reviewer", "operator", "admin")

EVERY_TENANT = "*"
"""Tenant of a token that is not confined to one."""


class Principal(msgspec.Struct, frozen=True):
    """Whoever calls, as the token says."""

    token_id: str
    name: str
    role: Role
    tenant: str

    def has(self, role: Role) -> bool:
        """Whether this caller may do what `role` may."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, tenant: str) -> bool:
        """Whether content of a tenant exists for this caller."""
        return self.tenant in (EVERY_TENANT, tenant)

    @property
    def sees_every_tenant(self) -> bool:
        """Whether this caller is confined to no tenant."""
        return self.tenant == EVERY_TENANT

    @property
    def own_tenant(self) -> str:
        """Whose content this caller means without saying so: the default one's where no tenant is its own."""
        return TENANT_DEFAULT if self.sees_every_tenant else self.tenant

    @property
    def sees_whole(self) -> bool:
        """Whether this caller may know numbers of the whole installation: what has no tenant is the default one's."""
        return self.sees(TENANT_DEFAULT)


class StoredToken(msgspec.Struct, frozen=True):
    """A token without its secret.

    Attributes:
        secret_hash: SHA-256 of the secret; that has 256 random bits, so a slow hash would protect nothing.
        revoked_at_ms: None while it is good.
    """

    token_id: str
    secret_hash: bytes
    name: str
    role: Role
    tenant: str
    created_at_ms: int
    revoked_at_ms: int | None = None
