"""Reads some records of a topic, as a broadcast does: no group moves, nothing is taken."""

from __future__ import annotations

from contextlib import aclosing

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.errors import UsageError
from gristmill.domain.log import StoredRecord
from gristmill.runtime.composition.stores import open_store
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["read_topic"]


async def read_topic(settings: Settings, topic: str, *, limit: int) -> list[StoredRecord]:
    """Return the oldest records of a topic, at most `limit`.

    Raises:
        UsageError: there is nothing in it.
        ConfigError: the log cannot be used.
        Unavailable: it cannot be reached.
    """
    spec = GroupSpec(state_dir=settings.main.state_dir, settings=settings)
    if settings.log.backend == "sqlite":
        spec.folder.require()
    spec.folder.prepare()
    store = open_store(spec, SystemClock(), new_owner())
    found: list[StoredRecord] = []
    try:
        async with aclosing(store.log.read_all(topic)) as batches:  # type: ignore[type-var]
            async for batch in batches:
                found += batch
                if len(found) >= limit:
                    break
    finally:
        await store.close()
    if not found:
        known = "a topic of others has to stand in log.foreign"
        raise UsageError("topic holds no records", value=topic, advice=known)
    return found[:limit]
