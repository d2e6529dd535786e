"""Published definitions in memory."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gristmill.adapters.definition_checks import check_definition, check_expected
from gristmill.ports.definitions import Definition

__all__ = ["MemoryDefinitions"]


class MemoryDefinitions:
    """See `ports.definitions.Definitions`. Use it from one event loop."""

    def __init__(self) -> None:
        self._published: list[Definition] = []

    async def publish(self, new: Definition, *, expected: int | None = None) -> Definition:
        """Add a revision and return it as stored."""
        check_definition(new)
        revisions = await self.history(new.kind, new.name, tenant=new.tenant)
        latest = revisions[-1] if revisions else None
        check_expected(new, latest, expected)
        if latest is not None and latest.hash == new.hash:
            return latest
        stored = msgspec.structs.replace(new, revision=latest.revision + 1 if latest else 1)
        self._published.append(stored)
        return stored

    async def latest(self, kind: str) -> Sequence[Definition]:
        """Return the latest revision of each definition of a kind, by tenant and name."""
        found = {(one.tenant, one.name): one for one in self._published if one.kind == kind}
        return [found[key] for key in sorted(found)]

    async def history(self, kind: str, name: str, *, tenant: str) -> Sequence[Definition]:
        """Return all revisions of one definition, the oldest first."""
        return [one for one in self._published if (one.kind, one.tenant, one.name) == (kind, tenant, name)]

    async def version(self) -> int:
        """Return a number that grows with each revision published."""
        return len(self._published)
