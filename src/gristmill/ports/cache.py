"""Small shared marks with an end of life."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Cache"]


class Cache(Protocol):
    """Key-value marks that every process of the group sees. Losing one costs work, never correctness."""

    async def put_if_absent(self, key: str, value: str, *, ttl_ms: int) -> str | None:
        """Store the value unless a live one exists; return the live one, or None when ours was stored. Atomic."""
        ...

    async def put(self, key: str, value: str, *, ttl_ms: int) -> None:
        """Store the value, replacing any other."""
        ...

    async def get(self, key: str) -> str | None:
        """Return the live value or None."""
        ...

    async def renew(self, key: str, *, value: str, ttl_ms: int) -> bool:
        """Let a live key end `ttl_ms` from now, while `value` is what it holds; return whether it is. Atomic."""
        ...

    async def delete(self, key: str, *, value: str | None = None) -> bool:
        """Remove the key, with `value` only while that is what it holds; return whether it was removed."""
        ...
