"""All that is stored about one item, and how the item stands."""

from __future__ import annotations

import msgspec

from gristmill.domain.commit import StoredRun
from gristmill.domain.contribution import Resolved, decide_labels
from gristmill.domain.errors import UsageError
from gristmill.domain.front.label_fact import LabelFact, StandingLabel
from gristmill.domain.front.standing import given_labels, stand
from gristmill.domain.ids import ItemId
from gristmill.domain.item import AppliedLabel, Item
from gristmill.domain.run import Event
from gristmill.ports.front import Front
from gristmill.ports.state import State

__all__ = ["Dossier", "read_dossier"]


class Dossier(msgspec.Struct, frozen=True):
    """All that is stored about one item.

    Attributes:
        shared: what it has in common with other items, as it stands now.
        shared_labels: labels that follow from that.
        facts: what people said about its labels, oldest first.
    """

    item: Item
    runs: list[StoredRun]
    events: list[Event]
    shared: list[Resolved]
    shared_labels: list[AppliedLabel]
    facts: list[LabelFact]

    @property
    def labels(self) -> list[StandingLabel]:
        """Every label that was ever given by the newest runs or by people, with whether it holds."""
        return stand(self.runs, self.shared_labels, self.facts)


async def read_dossier(state: State, front: Front, item_id: ItemId) -> Dossier:
    """Return what is stored about an item.

    Raises:
        UsageError: there is no such item.
    """
    item = await state.item(item_id)
    if item is None:
        raise UsageError("item", value=str(item_id), advice="it is not in this state folder")
    runs = await state.runs(item_id)
    shared = (await state.contributions([item_id])).get(item_id, [])
    facts = (await front.facts.of([item_id])).get(item_id, [])
    labels = decide_labels(item_id, shared, given=frozenset(label.val for label in given_labels(runs)))
    return Dossier(item, runs, await state.events(item_id), shared, labels, facts)
