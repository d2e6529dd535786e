"""Finds an item by what a person knows of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.ids import ItemId
from gristmill.runtime.batch.manifest import read_manifests
from gristmill.runtime.composition.stores import Store, open_store
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["find_items", "open_for_reading"]

INT64_MAX = 2**63 - 1


@asynccontextmanager
async def open_for_reading(folder: StateFolder, settings: Settings) -> AsyncIterator[Store]:
    """Open the store of a folder that holds one; a group may be working on it.

    Raises:
        UsageError: nothing was ever stored there.
    """
    folder.require()
    spec = GroupSpec(state_dir=str(folder.path), settings=settings)
    store = open_store(spec, SystemClock(), new_owner())
    try:
        yield store
    finally:
        await store.close()


async def find_items(store: Store, folder: StateFolder, text: str) -> list[ItemId]:
    """Return the items that a text may mean: an item id, or an input id of any source, the latest input first."""
    found: list[ItemId] = []
    if text.isdecimal() and int(text) <= INT64_MAX and await store.state.item(ItemId(int(text))) is not None:
        found.append(ItemId(int(text)))
    for source in await _known_sources(store, folder):
        item_id = (await store.state.resolve(source, [text])).get(text)
        if item_id is not None:
            found.append(item_id)
    return list(dict.fromkeys(found))


async def _known_sources(store: Store, folder: StateFolder) -> list[str]:
    """Return every source that this folder has seen: files that were run, the latest first, then topics."""
    sources = [manifest.source for manifest in read_manifests(folder.inputs_dir)]
    return list(dict.fromkeys([*sources, *(await store.log.topics())]))
