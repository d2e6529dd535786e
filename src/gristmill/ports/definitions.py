"""The registry of what was published: sources, and whatever else is written as a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

__all__ = ["DEFINITION_BYTES_MAX", "Definition", "Definitions"]

DEFINITION_BYTES_MAX = 1024 * 1024
"""Largest body; a definition is written by people."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of a published definition.

    Attributes:
        kind: `source` and the like.
        revision: 1, 2, 3 ... for each (kind, tenant, name).
        hash: of `body`; equal hashes mean equal content.
        actor: who published it.
        body: the file as it was.
    """

    kind: str
    tenant: str
    name: str
    revision: int
    hash: str
    at_ms: int
    actor: str
    body: str


class Definitions(Protocol):
    """Published definitions; every process that shares the store sees the same.

    All methods raise `Unavailable` when nothing was done and a retry is safe.
    """

    async def publish(self, new: Definition, *, expected: int | None = None) -> Definition:
        """Add a revision and return it as stored; `new.revision` is not looked at.

        The same content as the latest revision is no new one: that is returned. Durable once returned.

        Args:
            expected: the revision that must be the latest (0: none may exist); None takes whatever is there.
        Raises:
            StaleRead: the latest revision is another one.
            UsageError: the body is above DEFINITION_BYTES_MAX.
        """
        ...

    async def latest(self, kind: str) -> Sequence[Definition]:
        """Return the latest revision of each definition of a kind, by tenant and name."""
        ...

    async def history(self, kind: str, name: str, *, tenant: str) -> Sequence[Definition]:
        """Return all revisions of one definition, the oldest first."""
        ...

    async def version(self) -> int:
        """Return a number that grows with each revision published; cheap enough to ask every second."""
        ...
