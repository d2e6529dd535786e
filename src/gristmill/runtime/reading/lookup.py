"""Finds an item by what a person knows of it, and gathers what is stored about it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from gristmill.adapters.clock import SystemClock
from gristmill.adapters.local_host import new_owner
from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import Resolved, decide_labels
from gristmill.domain.errors import UsageError
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.domain.run import Event
from gristmill.ports.state import State
from gristmill.runtime.batch.manifest import read_manifests
from gristmill.runtime.composition.stores import Store, open_sqlite
from gristmill.runtime.folder import StateFolder
from gristmill.runtime.settings import Settings
from gristmill.runtime.spec import GroupSpec

__all__ = ["Dossier", "find_items", "latest_runs", "open_for_reading", "read_dossier"]

INT64_MAX = 2**63 - 1


class Dossier(msgspec.Struct, frozen=True):
    """All that is stored about one item.

    Attributes:
        shared: what it has in common with other items, as it stands now.
        shared_labels: labels that follow from that.
    """

    item: Item
    runs: list[StoredRun]
    events: list[Event]
    shared: list[Resolved]
    shared_labels: list[AppliedLabel]


@asynccontextmanager
async def open_for_reading(folder: StateFolder, settings: Settings) -> AsyncIterator[Store]:
    """Open the store of a folder that holds one; a group may be working on it.

    Raises:
        UsageError: nothing was ever stored there.
    """
    folder.require()
    spec = GroupSpec(state_dir=str(folder.path), settings=settings)
    store = open_sqlite(spec, SystemClock(), new_owner())
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


async def read_dossier(state: State, item_id: ItemId) -> Dossier:
    """Return what is stored about an item.

    Raises:
        UsageError: there is no such item.
    """
    item = await state.item(item_id)
    if item is None:
        raise UsageError("item", value=str(item_id), advice="it is not in this state folder")
    runs = await state.runs(item_id)
    shared = (await state.contributions([item_id])).get(item_id, [])
    latest = latest_runs(runs)
    given = frozenset(label.val for run in latest for label in run.labels)
    return Dossier(item, runs, await state.events(item_id), shared, decide_labels(item_id, shared, given=given))


def latest_runs(runs: list[StoredRun]) -> list[StoredRun]:
    """Return the newest run of each plan."""
    return list({run.plan: run for run in runs}.values())
