"""Deliveries for tests of what a Runner decides."""

from __future__ import annotations

from gristmill.domain.log import Delivery, Lease

__all__ = ["deliver", "lease_of"]


def lease_of(offset: int, *, epoch: int = 1) -> Lease:
    """Return a lease on a record of topic `t` for group `g`."""
    return Lease("t", "g", offset, "me", epoch)


def deliver(offset: int, *, key: str = "", attempt: int = 1, headers: dict[str, str] | None = None) -> Delivery:
    """Return a delivery of a record."""
    return Delivery(lease_of(offset), b"%d" % offset, key, headers or {}, attempt, 0)
