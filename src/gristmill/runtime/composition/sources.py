"""Publishes the Sources that settings name, before a group starts."""

from __future__ import annotations

from gristmill.adapters.local_host import new_owner
from gristmill.intake.sources.catalogue import publish_source, read_folder
from gristmill.ports.clock import Clock
from gristmill.runtime.composition.stores import open_sqlite
from gristmill.runtime.spec import GroupSpec

__all__ = ["publish_folder"]

ACTOR = "start of the group"


async def publish_folder(spec: GroupSpec, clock: Clock) -> None:
    """Publish what is new in the files of `sources.paths`.

    Raises:
        ConfigError: a file is wrong; nothing of any file is published.
    """
    mappers = read_folder(spec.settings.sources.paths)
    if not mappers:
        return
    store = open_sqlite(spec, clock, new_owner())
    try:
        for mapper in mappers:
            await publish_source(store.definitions, mapper, actor=ACTOR, clock=clock, is_only_if_new=True)
    finally:
        await store.close()
