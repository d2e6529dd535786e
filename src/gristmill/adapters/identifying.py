"""Ids for publications whose records go into a log apart from the state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gristmill.domain.front.publication import Publication
from gristmill.domain.ids import ItemId
from gristmill.ports.state import State

__all__ = ["identify"]


async def identify(state: State, publications: Sequence[Publication]) -> tuple[ItemId, ...]:
    """Return the item id of each publication, in input order; an input id that has none gets the proposed one."""
    proposed: defaultdict[tuple[str, str], dict[str, ItemId]] = defaultdict(dict)
    for one in publications:
        proposed[one.tenant, one.source].setdefault(one.input_id, one.proposed)
    mapped = {
        (tenant, source): await state.map_ids(source, wanted, tenant=tenant)
        for (tenant, source), wanted in proposed.items()
    }
    return tuple([mapped[one.tenant, one.source][one.input_id] for one in publications])
